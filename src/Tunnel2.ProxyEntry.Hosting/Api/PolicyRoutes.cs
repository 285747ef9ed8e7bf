using Tunnel2.Policies.Tables;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Api.Documents;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>The operations about policies, the same three for an agent, a token and a name. Stateless.</summary>
internal static class PolicyRoutes
{
    /// <summary>The largest body of a policy, bytes: a file may have spaces and remarks.</summary>
    public const int MaxBody = Policy.MaxFileLength;

    private const string BodyWords =
        "A policy as a file has it: a list of rows, or an object with this list as 'rows'. Remarks and a comma too many are taken.";

    /// <summary>All of them.</summary>
    public static IEnumerable<ApiOperation> Of(PoliciesApi policies) =>
    [
        new()
        {
            Id = "listPolicies",
            Method = HttpMethods.Get,
            Path = ApiRoutes.Root + "/policies",
            Summary = "The policies that the server forces: those that it keeps, and those of the settings.",
            Answer = typeof(PolicyList),
            RunAsync = policies.ListAsync,
        },
        .. Of(policies, PolicyScope.Agent, "agents", "the tunnels of all tokens of an agent"),
        .. Of(policies, PolicyScope.Token, "tokens", "the tunnels of a token that the server keeps"),
        .. Of(policies, PolicyScope.Name, "names", "the session of a name"),
    ];

    private static IEnumerable<ApiOperation> Of(PoliciesApi policies, PolicyScope scope, string segment, string words)
    {
        var path = $"{ApiRoutes.Root}/policies/{segment}/{{name}}";
        return
        [
            new()
            {
                Id = $"get{scope}Policy",
                Method = HttpMethods.Get,
                Path = path,
                Summary = $"The policy for {words}.",
                Answer = typeof(PolicyDocument),
                Problems = [StatusCodes.Status404NotFound],
                RunAsync = call => ValueTask.FromResult(policies.Get(call, scope)),
            },
            new()
            {
                Id = $"set{scope}Policy",
                Method = HttpMethods.Put,
                Path = path,
                Summary = $"Sets the policy for {words}, in place of the one before. It holds at once, for running sessions too.",
                OwnBody = MaxBody,
                OwnBodyWords = BodyWords,
                Answer = typeof(PolicyDocument),
                Problems =
                [
                    StatusCodes.Status400BadRequest, StatusCodes.Status404NotFound, StatusCodes.Status409Conflict,
                    StatusCodes.Status413PayloadTooLarge, StatusCodes.Status415UnsupportedMediaType,
                    StatusCodes.Status503ServiceUnavailable,
                ],
                RunAsync = call => policies.SetAsync(call, scope),
            },
            new()
            {
                Id = $"remove{scope}Policy",
                Method = HttpMethods.Delete,
                Path = path,
                Summary = $"Removes the policy for {words} that the server keeps. That of the settings stays.",
                Status = StatusCodes.Status204NoContent,
                Problems = [StatusCodes.Status404NotFound, StatusCodes.Status503ServiceUnavailable],
                RunAsync = call => policies.RemoveAsync(call, scope),
            },
        ];
    }
}
