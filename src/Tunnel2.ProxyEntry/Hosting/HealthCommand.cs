using System.Text.Json.Nodes;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.Transport.Outputs;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>
/// <c>tunnel2-entry health [URL]</c>: asks a running ProxyEntry whether it is ready. For the health checks of containers, whose images have
/// no <c>curl</c>.
/// </summary>
internal static class HealthCommand
{
    private const string DefaultAddress = "http://127.0.0.1:12002/health/ready";

    /// <summary>Not ready, or no answer.</summary>
    private const int ExitNotReady = 1;

    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(3);

    public static bool IsMeant(string[] args) => args is ["health", ..];

    /// <summary>Runs the command.</summary>
    /// <returns>0 when ProxyEntry is ready, 1 when it is not or does not answer within 3 s, 2 for a wrong command line.</returns>
    public static async Task<int> RunAsync(string[] args, TextWriter output, TextWriter error)
    {
        var isJson = args.Contains(ApiCommandLine.JsonOption, StringComparer.Ordinal);
        var words = Array.FindAll(args, static word => word != ApiCommandLine.JsonOption);
        var address = words is [_, var given] ? given : DefaultAddress;
        var wrong = Array.Find(words, static word => word.StartsWith('-')) ?? words.ElementAtOrDefault(2);
        if (wrong is not null || !Uri.TryCreate(address, UriKind.Absolute, out var url) || url.Scheme is not ("http" or "https"))
        {
            var mistake = wrong is not null
                ? EntryWords.Unknown(wrong, ApiCommandLine.JsonOption)
                : $"'{PlainText.Clean(address, 100)}' is not a URL such as {DefaultAddress}";
            await error.WriteLineAsync($"tunnel2-entry: {mistake}").ConfigureAwait(false);
            await error.WriteLineAsync(EntryHelp.HealthUsage).ConfigureAwait(false);
            return SettingsErrorFormatter.ExitCode;
        }

        // A proxy of the environment is for the network; a health check stays on this machine.
        using var handler = new SocketsHttpHandler { UseProxy = false, AllowAutoRedirect = false, ConnectTimeout = _limit };
        using var client = new HttpClient(handler) { Timeout = _limit };
        try
        {
            using var response = await client.GetAsync(url).ConfigureAwait(false);
            await output.WriteLineAsync(isJson
                ? Json(url, response.IsSuccessStatusCode, (int)response.StatusCode, null)
                : $"{url} answered {(int)response.StatusCode}").ConfigureAwait(false);
            return response.IsSuccessStatusCode ? 0 : ExitNotReady;
        }
        catch (Exception exception) when (exception is HttpRequestException or TaskCanceledException)
        {
            var problem = exception is HttpRequestException failure ? HttpFailure.Reason(failure) : "no answer within 3 s";
            await output.WriteLineAsync(isJson ? Json(url, isReady: false, null, problem) : $"{url} did not answer: {problem}")
                .ConfigureAwait(false);
            return ExitNotReady;
        }
    }

    private static string Json(Uri url, bool isReady, int? status, string? problem)
    {
        var answer = new JsonObject { ["url"] = url.ToString(), ["ready"] = isReady };
        if (status is { } number)
        {
            answer["status"] = number;
        }

        if (problem is not null)
        {
            answer["problem"] = problem;
        }

        return answer.ToJsonString();
    }
}
