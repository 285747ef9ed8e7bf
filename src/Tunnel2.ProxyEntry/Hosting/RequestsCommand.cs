using System.Globalization;
using System.Text.Json;
using Tunnel2.ProxyEntry.Api.Documents;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary><c>tunnel2-entry requests list NAME</c>: the last requests of a session of a running server, the newest first.</summary>
internal static class RequestsCommand
{
    private const string LimitOption = "--limit";
    private const double MicrosecondsPerMillisecond = 1000;

    public static bool IsMeant(string[] args) => args is ["requests", ..];

    /// <summary>Runs the command.</summary>
    /// <returns>0; 1 when the server refuses or does not answer; 2 for a wrong command line.</returns>
    public static Task<int> RunAsync(
        string[] args, TextWriter output, TextWriter error, Func<string, string?>? environment = null)
    {
        string? mistake = null;
        var line = args is [_, "list", ..]
            ? ApiCommandLine.Read(args.AsSpan(2), 1, [LimitOption], out mistake, what: "the name of the session")
            : null;
        return ApiCommand.RunAsync(
            line, line is null ? "only 'requests list' is known" : mistake, EntryHelp.RequestsUsage, error, environment,
            client => ListAsync(client, line!, output));
    }

    private static async Task ListAsync(EntryApiClient client, ApiCommandLine line, TextWriter output)
    {
        var path = $"/sessions/{Uri.EscapeDataString(line.Names[0])}/requests";
        var query = line[LimitOption] is { } limit ? "?limit=" + Uri.EscapeDataString(limit) : "";
        var list = await client.SendAsync<RequestList>(HttpMethod.Get, path + query).ConfigureAwait(false);
        if (line.IsJson)
        {
            await output.WriteLineAsync(JsonSerializer.Serialize(list, ApiJson.Answer<RequestList>())).ConfigureAwait(false);
            return;
        }

        await MissingNodes.WriteAsync(output, list.Nodes).ConfigureAwait(false);
        TextTable.Write(
            output,
            [.. list.Nodes is null ? [] : (string[])["NODE"], "STARTED", "STATUS", "METHOD", "MS", "IN", "OUT", "TARGET", "ERROR"],
            list.Requests.Select(request => (string[])
            [
                .. list.Nodes is null ? [] : (string[])[request.Node ?? ""],
                request.StartedAt.UtcDateTime.ToString("yyyy-MM-dd HH:mm:ss.fff'Z'", CultureInfo.InvariantCulture),
                request.Status.ToString(CultureInfo.InvariantCulture),
                request.Method,
                (request.TotalUs / MicrosecondsPerMillisecond).ToString("0.0", CultureInfo.InvariantCulture),
                request.BytesIn.ToString(CultureInfo.InvariantCulture),
                request.BytesOut.ToString(CultureInfo.InvariantCulture),
                request.TargetTruncated ? request.Target + "…" : request.Target,
                request.Error ?? "",
            ]));
    }
}
