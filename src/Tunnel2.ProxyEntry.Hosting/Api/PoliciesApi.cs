using System.Text.Json;
using Tunnel2.Policies.Reading;
using Tunnel2.Policies.Tables;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Api.Documents;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Policies;
using Tunnel2.ProxyEntry.Routing;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Sharing;
using Tunnel2.ProxyEntry.Tokens;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Api;

/// <summary>
/// Lists, sets and removes the policies that the server keeps for agents, tokens and names. A policy is judged as a whole before anything
/// changes, and no session ends by one. Thread-safe.
/// </summary>
internal sealed class PoliciesApi(
    KeptPolicies policies,
    IssuedTokens tokens,
    AgentRegistry agents,
    ISessionDirectory directory,
    ProxyEntrySettings settings,
    ApiAudit audit,
    ISessionLocator? locator = null,
    IForeignTunnels? foreign = null)
{
    private const int LongestMistake = 300;

    private static ApiAnswer NoPolicy { get; } = ApiAnswer.Problem(
        StatusCodes.Status404NotFound, "no-policy", "The server keeps no policy for it.");

    /// <summary>The policies.</summary>
    public ValueTask<ApiAnswer> ListAsync(ApiCall call)
    {
        var sessions = directory.Snapshot();
        var kept = policies.Current;
        var targets = kept.All.Select(static one => one.Target)
            .Concat(agents.Current.All.Where(static agent => agent is { Policy: not null, TokenName: null })
                .Select(static agent => TargetOf(PolicyScope.Agent, agent.Id)))
            .Distinct().OrderBy(static target => target.Scope).ThenBy(static target => target.Name, StringComparer.Ordinal);
        return ValueTask.FromResult(ApiAnswer.Of(new PolicyList
        {
            Policies = [.. targets.Select(target => Describe(target, kept.Find(target), sessions))],
        }));
    }

    /// <summary>One policy, with that of the settings.</summary>
    public ApiAnswer Get(ApiCall call, PolicyScope scope)
    {
        var target = TargetOf(scope, call.Name);
        var kept = policies.Current.Find(target);
        return kept is null && OfSettings(target) is null ? NoPolicy : ApiAnswer.Of(Document(target, kept));
    }

    /// <summary>Sets a policy.</summary>
    public async ValueTask<ApiAnswer> SetAsync(ApiCall call, PolicyScope scope)
    {
        var target = TargetOf(scope, call.Name);
        if (await FindObstacleAsync(target).ConfigureAwait(false) is { } obstacle)
        {
            return obstacle;
        }

        var reading = PolicyReader.Read(call.BodyAs<ReadOnlyMemory<byte>>().Span);
        if (reading.Policy is not { } policy)
        {
            return ApiAnswer.Problem(
                StatusCodes.Status400BadRequest,
                "policy",
                reading.Mistakes is [var only]
                    ? $"The policy has a mistake, and nothing has changed: {PlainText.Clean(only.ToString(), LongestMistake)}"
                    : FormattableString.Invariant($"The policy has {reading.Mistakes.Count} mistakes, and nothing has changed."),
                [.. reading.Mistakes.Select(static mistake => PlainText.Clean(mistake.ToString(), LongestMistake))]);
        }

        if (policy.AsksForCountry && settings.CountryHeader is null)
        {
            return ApiAnswer.Problem(
                StatusCodes.Status400BadRequest,
                "policy",
                "The policy asks for visitors' countries, and Tunnel2:Access:CountryHeader names no header that has them.");
        }

        // The other kinds are opaque: a policy would end them, and a change of rows is to disturb no visitor.
        if (await FindOpaqueAsync(target).ConfigureAwait(false) is { } opaque)
        {
            return ApiAnswer.Problem(
                StatusCodes.Status409Conflict,
                "not-http",
                $"{opaque.Name} is a tunnel of {opaque.Kind.ToString().ToUpperInvariant()}, which can have no policy. "
                + "Nothing has changed.");
        }

        try
        {
            switch (await policies.SetAsync(target, policy).ConfigureAwait(false))
            {
                case PolicyChange.TooMany:
                    return ApiAnswer.Problem(
                        StatusCodes.Status409Conflict, "too-many",
                        FormattableString.Invariant($"{PolicyStore.MaxPolicies} policies are kept already; remove one."));
                case PolicyChange.Set:
                    audit.Changed(call, "sets policy", FormattableString.Invariant($"of {target}, rows: {policy.Rows.Length}"));
                    break;
            }
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return NotKept(exception);
        }
        catch (SharedUnavailableException exception)
        {
            return ApiAnswer.NotShared(exception, "policies");
        }

        return ApiAnswer.Of(Document(target, policies.Current.Find(target)));
    }

    /// <summary>Removes a policy.</summary>
    public async ValueTask<ApiAnswer> RemoveAsync(ApiCall call, PolicyScope scope)
    {
        var target = TargetOf(scope, call.Name);
        try
        {
            if (!await policies.RemoveAsync(target).ConfigureAwait(false))
            {
                return NoPolicy;
            }

            audit.Changed(call, "removes policy", $"of {target}");
            return ApiAnswer.Done;
        }
        catch (Exception exception) when (exception is IOException or UnauthorizedAccessException)
        {
            return NotKept(exception);
        }
        catch (SharedUnavailableException exception)
        {
            return ApiAnswer.NotShared(exception, "policies");
        }
    }

    private static PolicyTarget TargetOf(PolicyScope scope, string name) =>
        new(scope, scope == PolicyScope.Token ? name : name.ToLowerInvariant());

    private static ApiAnswer NotKept(Exception exception) => ApiAnswer.Problem(
        StatusCodes.Status503ServiceUnavailable,
        "state-folder",
        $"Nothing has changed: the state folder cannot be written (Tunnel2:StateFolder). {exception.Message}");

    private static bool Holds(PolicyTarget target, EntrySession session) => target.Scope switch
    {
        PolicyScope.Agent => session.Grant?.AgentId.Equals(target.Name, StringComparison.OrdinalIgnoreCase) == true,
        PolicyScope.Token => session.Grant?.TokenName == target.Name,
        _ => Holds(target.Name, session.Name),
    };

    private static bool Holds(string target, string name) => name == target || DomainName.IsCoveredBy(target, name);

    /// <summary>A tunnel that carries no HTTP and would get the policy, at any node.</summary>
    private async ValueTask<(string Name, SessionKind Kind)?> FindOpaqueAsync(PolicyTarget target)
    {
        if (directory.Snapshot().FirstOrDefault(session => session.Kind != SessionKind.Http && Holds(target, session)) is { } own)
        {
            return (own.Name, own.Kind);
        }

        if (foreign is null)
        {
            return null;
        }

        if (target.Scope is PolicyScope.Agent or PolicyScope.Token)
        {
            var token = target.Scope == PolicyScope.Token ? target.Name : null;
            return (token is null ? AgentOf(target.Name)?.Id : TokenOf(token)?.Agent) is { } agent
                && await foreign.FindAsync(AgentIdentity.OfToken(agent), token, CancellationToken.None).ConfigureAwait(false) is { } found
                ? (found.Name, found.Kind) : null;
        }

        foreach (var tunnel in await foreign.ReadAsync(CancellationToken.None).ConfigureAwait(false))
        {
            if (Holds(target.Name, tunnel.Name))
            {
                return (tunnel.Name, tunnel.Kind);
            }
        }

        return null;
    }

    /// <summary>Why a target can have no policy: a mistyped one would protect nothing.</summary>
    private async ValueTask<ApiAnswer?> FindObstacleAsync(PolicyTarget target) => target.Scope switch
    {
        // It names a file.
        PolicyScope.Agent when !StoredToken.IsAgentId(target.Name) =>
            None("no-agent", "An agent with such an id can have a policy in the settings only: its file would have another name."),
        PolicyScope.Agent => AgentOf(target.Name) is not null
            ? null
            : None("no-agent", "There is no agent with this id, neither in the settings nor with a token that the server keeps."),
        PolicyScope.Token => TokenOf(target.Name) is not null
            ? null
            : None("no-token", "There is no token of this name among those that the server keeps."),
        _ => FindMistake(target.Name) is { } mistake ? None("no-name", mistake)
            : agents.Current.IsListed(target.Name) || directory.Snapshot().Any(session => Holds(target, session))
            ? null
            : await FindElsewhereAsync(target.Name).ConfigureAwait(false),
    };

    private async ValueTask<ApiAnswer?> FindElsewhereAsync(string name)
    {
        var located = locator is null ? default : await locator.LocateAsync(name, CancellationToken.None).ConfigureAwait(false);
        return located.Places is not null ? null
            : located.IsUnanswered ? ApiAnswer.Problem(
                StatusCodes.Status503ServiceUnavailable, "cluster-database",
                "The cluster's database cannot be asked now whether another node has a session of this name. Nothing has changed.")
            : None("no-name", "No session has this name, and no agent and no token lists it.");
    }

    private static ApiAnswer None(string code, string detail) => ApiAnswer.Problem(StatusCodes.Status404NotFound, code, detail);

    /// <summary>An agent of the settings, or of a token that the server keeps.</summary>
    private AgentSettings? AgentOf(string id) =>
        agents.Current.All.FirstOrDefault(agent => agent.Id.Equals(id, StringComparison.OrdinalIgnoreCase));

    private StoredToken? TokenOf(string name) => tokens.All.FirstOrDefault(token => token.Name == name);

    private string? FindMistake(string name) =>
        name.Length > PolicyStore.MaxNameLength
            ? FormattableString.Invariant($"The name has more than {PolicyStore.MaxNameLength} characters.")
        : DomainName.IsMeant(name) ? DomainName.FindMistake(name, settings.Domain)
        : PublicName.Check(name, settings.EntryId) is var problem && problem != PublicNameProblem.None
            ? PublicName.Describe(problem, settings.EntryId)
        : null;

    private Policy? OfSettings(PolicyTarget target) =>
        target.Scope == PolicyScope.Agent ? agents.Current.Find(target.Name)?.Policy : null;

    private PolicyInfo Describe(PolicyTarget target, KeptPolicy? kept, IReadOnlyCollection<EntrySession> sessions) => new()
    {
        Scope = target.Scope.ToString().ToLowerInvariant(),
        Name = target.Name,
        Rows = kept?.Policy.Rows.Length ?? 0,
        RowsOfSettings = OfSettings(target)?.Rows.Length ?? 0,
        Changed = kept?.Changed,
        Problem = kept?.Problem,
        Sessions = sessions.Count(session => Holds(target, session)),
    };

    private PolicyDocument Document(PolicyTarget target, KeptPolicy? kept) => new()
    {
        Info = Describe(target, kept, directory.Snapshot()),
        Policy = RowsOf(kept?.Policy),
        OfSettings = RowsOf(OfSettings(target)),
    };

    private static JsonElement? RowsOf(Policy? policy) => policy is null ? null : JsonElement.Parse(policy.Text.Span);
}
