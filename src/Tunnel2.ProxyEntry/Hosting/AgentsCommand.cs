using System.Globalization;
using System.Text.Json;
using Tunnel2.ProxyEntry.Api.Documents;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary><c>tunnel2-entry agents list</c>: the agents that may connect to a running server.</summary>
internal static class AgentsCommand
{
    public static bool IsMeant(string[] args) => args is ["agents", ..];

    /// <summary>Runs the command.</summary>
    /// <returns>0; 1 when the server refuses or does not answer; 2 for a wrong command line.</returns>
    public static Task<int> RunAsync(
        string[] args, TextWriter output, TextWriter error, Func<string, string?>? environment = null)
    {
        string? mistake = null;
        var line = args is [_, "list", ..] ? ApiCommandLine.Read(args.AsSpan(2), 0, [], out mistake) : null;
        return ApiCommand.RunAsync(
            line, line is null ? "only 'agents list' is known" : mistake, EntryHelp.AgentsUsage, error, environment,
            client => ListAsync(client, line!.IsJson, output));
    }

    private static async Task ListAsync(EntryApiClient client, bool isJson, TextWriter output)
    {
        var list = await client.SendAsync<AgentList>(HttpMethod.Get, "/agents").ConfigureAwait(false);
        if (isJson)
        {
            await output.WriteLineAsync(JsonSerializer.Serialize(list, ApiJson.Answer<AgentList>())).ConfigureAwait(false);
            return;
        }

        TextTable.Write(
            output,
            ["AGENT", "NAMES", "TIER", "CERTIFICATE", "SESSIONS"],
            list.Agents.Select(static agent => new[]
            {
                agent.Id,
                agent.Names.Count == 0 ? "any" : string.Join(',', agent.Names),
                agent.Tier ?? "–",
                agent.HasCertificate ? "yes" : "no",
                agent.Sessions.ToString(CultureInfo.InvariantCulture),
            }));
    }
}
