using System.CommandLine;
using System.Globalization;
using System.Net;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Live;

/// <summary>The grammar of <c>tunnel2 top</c>. Help and mistakes are this program's own text.</summary>
internal sealed class TopCommandLine
{
    /// <summary>The admin listener's usual port.</summary>
    public const int DefaultAdminPort = 12002;

    /// <summary>The variable with the admin token. Other users cannot see it, unlike a command line.</summary>
    public const string TokenVariable = "TUNNEL2_ADMIN_TOKEN";

    private readonly Option<string?> _host = Value("--host");
    private readonly Option<string?> _token = Value("--token");
    private readonly Option<string?> _window = Value("--window");
    private readonly Option<bool> _once = new("--once") { Arity = ArgumentArity.Zero };
    private readonly Command _top = new("top");
    private readonly RootCommand _root = [];

    public TopCommandLine()
    {
        foreach (Option option in new Option[] { _host, _token, _window, _once })
        {
            _top.Add(option);
        }

        _top.TreatUnmatchedTokensAsErrors = false;
        _top.SetAction(static _ => { });
        _root.Add(_top);
    }

    /// <summary>Checks a command line whose first word is <c>top</c>.</summary>
    /// <returns>The options, or null when <paramref name="mistakes"/> has entries.</returns>
    public TopOptions? Parse(IReadOnlyList<string> args, Func<string, string?> environment, List<string> mistakes)
    {
        ParseResult parsed = _root.Parse(args, new ParserConfiguration { EnablePosixBundling = false, ResponseFileTokenReplacer = null });
        mistakes.AddRange(
            parsed.UnmatchedTokens.Select(
                static word => word.StartsWith('-') ? $"{word.Split('=')[0]}: unknown flag" : $"'{word}': not understood"));
        foreach (Option<string?> option in new[] { _host, _token, _window })
        {
            if (parsed.GetResult(option) is { Implicit: false } result && (result.IdentifierTokenCount > 1 || result.Tokens.Count == 0))
            {
                mistakes.Add(result.Tokens.Count == 0 ? $"{option.Name}: lacks its value" : $"{option.Name}: is given more than once");
            }
        }

        int seconds = parsed.GetValue(_window) switch { null or "1s" => 1, "10s" => 10, "1m" => 60, _ => 0 };
        if (seconds == 0)
        {
            mistakes.Add("--window: is 1s, 10s or 1m");
        }

        string server = parsed.GetValue(_host) ?? "127.0.0.1";
        string? token = parsed.GetValue(_token) ?? (environment(TokenVariable) is { Length: > 0 } fromEnvironment ? fromEnvironment : null);
        Uri? hub = ParseHub(server, mistakes);
        if (hub is not null
            && token is not null
            && hub.Scheme == Uri.UriSchemeWs
            && !IsThisMachine(hub)
            && environment("TUNNEL2_ALLOW_PLAINTEXT") is not ("1" or "true"))
        {
            mistakes.Add(
                "--token: would leave this machine unencrypted; --host https://… encrypts it, TUNNEL2_ALLOW_PLAINTEXT=1 permits it on a "
                    + "network that is private by itself");
        }

        return mistakes.Count > 0 ? null : new TopOptions
        {
            Hub = hub!,
            Server = hub!.Authority,
            Token = token,
            WindowSeconds = seconds,
            Once = parsed.GetValue(_once),
        };
    }

    private static Uri? ParseHub(string text, List<string> mistakes)
    {
        bool isEncrypted = text.StartsWith("https://", StringComparison.OrdinalIgnoreCase);
        int schemeLength = isEncrypted ? 8 : text.StartsWith("http://", StringComparison.OrdinalIgnoreCase) ? 7 : 0;
        string authority = text[schemeLength..].TrimEnd('/');
        if (HostPort.TrySplit(authority, out string host, out int? port) is { } problem)
        {
            mistakes.Add($"--host: {problem}");
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

    // Arity "zero or one" although a value is needed, so that this class reports a missing value in its own words.
    private static Option<string?> Value(string name) => new(name) { Arity = ArgumentArity.ZeroOrOne };
}
