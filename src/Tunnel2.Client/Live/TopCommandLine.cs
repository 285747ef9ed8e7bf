using System.Globalization;
using System.Net;
using Tunnel2.Client.CommandLine;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Live;

/// <summary>What the flags of <c>tunnel2 top</c> mean.</summary>
internal sealed class TopCommandLine
{
    /// <summary>The admin listener's usual port.</summary>
    public const int DefaultAdminPort = 12002;

    /// <summary>The variable with the admin token. Other users cannot see it, unlike a command line.</summary>
    public const string TokenVariable = "TUNNEL2_ADMIN_TOKEN";

    /// <summary>Checks a command line whose first word is <c>top</c>.</summary>
    /// <returns>The options, or null when <paramref name="mistakes"/> has entries.</returns>
    public TopOptions? Parse(IReadOnlyList<string> args, Func<string, string?> environment, List<string> mistakes)
    {
        ParsedLine line = CommandLineReader.Read(args);
        mistakes.AddRange(line.Mistakes);
        int seconds = line["--window"] switch { null or "1s" => 1, "10s" => 10, "1m" => 60, _ => 0 };
        if (seconds == 0)
        {
            mistakes.Add("--window: is 1s, 10s or 1m");
        }

        TopOptions? server = ParseServer("--host", line["--host"] ?? "127.0.0.1", line["--token"], environment, mistakes);
        return mistakes.Count > 0 ? null : server! with
        {
            WindowSeconds = seconds,
            Once = line.Has("--once"),
            Json = line.Has("--json"),
            HasColors = string.IsNullOrEmpty(environment("NO_COLOR")),
        };
    }

    /// <summary>Which hub a flag means, and the token for it.</summary>
    /// <returns>Null when <paramref name="mistakes"/> got an entry.</returns>
    internal static TopOptions? ParseServer(
        string flag, string server, string? token, Func<string, string?> environment, List<string> mistakes)
    {
        token ??= environment(TokenVariable) is { Length: > 0 } fromEnvironment ? fromEnvironment : null;
        Uri? hub = ParseHub(flag, server, mistakes);
        if (hub is not null
            && token is not null
            && hub.Scheme == Uri.UriSchemeWs
            && !IsThisMachine(hub)
            && environment("TUNNEL2_ALLOW_PLAINTEXT") is not ("1" or "true"))
        {
            mistakes.Add(
                $"--token: would leave this machine unencrypted; {flag} https://… encrypts it, TUNNEL2_ALLOW_PLAINTEXT=1 permits it on a "
                    + "network that is private by itself");
            return null;
        }

        return hub is null ? null : new TopOptions { Hub = hub, Server = hub.Authority, Token = token };
    }

    private static Uri? ParseHub(string flag, string text, List<string> mistakes)
    {
        bool isEncrypted = text.StartsWith("https://", StringComparison.OrdinalIgnoreCase);
        int schemeLength = isEncrypted ? 8 : text.StartsWith("http://", StringComparison.OrdinalIgnoreCase) ? 7 : 0;
        string authority = text[schemeLength..].TrimEnd('/');
        if (HostPort.TrySplit(authority, out string host, out int? port) is { } problem)
        {
            mistakes.Add($"{flag}: {problem}");
            return null;
        }

        int usualPort = isEncrypted ? 443 : schemeLength > 0 ? 80 : DefaultAdminPort;
        return new Uri(
            string.Create(
                CultureInfo.InvariantCulture, $"{(isEncrypted ? "wss" : "ws")}://{HostPort.Format(host, port ?? usualPort)}/live"));
    }

    private static bool IsThisMachine(Uri hub) =>
        hub.DnsSafeHost.Equals("localhost", StringComparison.OrdinalIgnoreCase)
            || (IPAddress.TryParse(hub.DnsSafeHost, out IPAddress? address) && IPAddress.IsLoopback(address));
}
