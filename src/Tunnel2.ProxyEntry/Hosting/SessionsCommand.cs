using System.Globalization;
using System.Text;
using System.Text.Json;
using Tunnel2.ProxyEntry.Api.Documents;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary><c>tunnel2-entry sessions list</c>, <c>drain NAME</c> and <c>kick NAME</c>: the sessions of a running server.</summary>
internal static class SessionsCommand
{
    private const string NameOption = "--name";
    private const string AgentOption = "--agent";
    private const string SessionOption = "--session";
    private const int PageSize = 500;

    public static bool IsMeant(string[] args) => args is ["sessions", ..];

    /// <summary>Runs the command.</summary>
    /// <returns>0; 1 when the server refuses or does not answer; 2 for a wrong command line.</returns>
    public static Task<int> RunAsync(
        string[] args, TextWriter output, TextWriter error, Func<string, string?>? environment = null)
    {
        var verb = args is [_, var given, ..] ? given : "";
        string? mistake = null;
        var line = verb switch
        {
            "list" => ApiCommandLine.Read(args.AsSpan(2), 0, [NameOption, AgentOption], out mistake),
            "drain" or "kick" => ApiCommandLine.Read(args.AsSpan(2), 1, [SessionOption], out mistake),
            _ => null,
        };
        return ApiCommand.RunAsync(
            line, line is null ? "only 'sessions list', 'sessions drain' and 'sessions kick' are known" : mistake,
            EntryHelp.SessionsUsage, error, environment, client => RunAsync(client, verb, line!, output));
    }

    private static async Task RunAsync(EntryApiClient client, string verb, ApiCommandLine line, TextWriter output)
    {
        if (verb == "list")
        {
            await ListAsync(client, line, output).ConfigureAwait(false);
            return;
        }

        var path = "/sessions/" + Uri.EscapeDataString(line.Names[0]);
        var query = line[SessionOption] is { } id ? "?session=" + Uri.EscapeDataString(id) : "";
        if (verb == "kick")
        {
            await client.SendAsync(HttpMethod.Delete, path + query).ConfigureAwait(false);
            await output.WriteLineAsync(
                line.IsJson ? "{}" : $"{line.Names[0]} was ended; its agent may connect again").ConfigureAwait(false);
            return;
        }

        var session = await client.SendAsync<SessionInfo>(HttpMethod.Put, path + "/drain" + query).ConfigureAwait(false);
        await output.WriteLineAsync(line.IsJson
            ? JsonSerializer.Serialize(session, ApiJson.Answer<SessionInfo>())
            : FormattableString.Invariant(
                $"{session.Name} gets no new requests; {session.OpenStreams} are under way, and its agent may connect again"))
            .ConfigureAwait(false);
    }

    private static async Task ListAsync(EntryApiClient client, ApiCommandLine line, TextWriter output)
    {
        var query = new StringBuilder("/sessions?limit=").Append(PageSize);
        Append(query, "name", line[NameOption]);
        Append(query, "agent", line[AgentOption]);
        var sessions = new List<SessionInfo>();
        SessionPage page;
        string? after = null;
        do
        {
            var path = after is null ? query.ToString() : $"{query}&after={Uri.EscapeDataString(after)}";
            page = await client.SendAsync<SessionPage>(HttpMethod.Get, path).ConfigureAwait(false);
            sessions.AddRange(page.Sessions);

            // Names rise from page to page: another order would be without end.
            after = string.CompareOrdinal(page.Next, after) > 0 ? page.Next : null;
        }
        while (after is not null);
        if (line.IsJson)
        {
            page = page with { Sessions = sessions, Next = null };
            await output.WriteLineAsync(JsonSerializer.Serialize(page, ApiJson.Answer<SessionPage>())).ConfigureAwait(false);
            return;
        }

        await MissingNodes.WriteAsync(output, page.Nodes).ConfigureAwait(false);
        TextTable.Write(
            output,
            [
                .. page.Nodes is null ? [] : (string[])["NODE"],
                "NAME", "SESSION", "AGENT", "KIND", "STATE", "POOL", "UPLINKS", "OPEN", "SINCE", "URL",
            ],
            sessions.Select(session => (string[])
            [
                .. page.Nodes is null ? [] : (string[])[session.Node ?? ""],
                session.Name,
                session.SessionId,
                session.Agent,
                session.Kind,
                session.State,
                session.Pool is { } pool ? Words(pool) : "",
                session.Uplinks.Count.ToString(CultureInfo.InvariantCulture),
                session.OpenStreams.ToString(CultureInfo.InvariantCulture),
                session.Since.UtcDateTime.ToString("u", CultureInfo.InvariantCulture),
                session.Urls is [var url, ..] ? url : "",
            ]));
    }

    /// <summary>What the pool gives the agent: everything that is not usual about it.</summary>
    private static string Words(PoolMemberInfo pool) =>
        !pool.Healthy ? "unhealthy"
        : pool.Spared ? "spared"
        : pool.Share < 100 ? FormattableString.Invariant($"slow start, {pool.Share} %")
        : "healthy";

    private static void Append(StringBuilder query, string parameter, string? value)
    {
        if (value is not null)
        {
            query.Append('&').Append(parameter).Append('=').Append(Uri.EscapeDataString(value));
        }
    }
}
