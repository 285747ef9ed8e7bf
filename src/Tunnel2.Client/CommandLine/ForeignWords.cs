using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.CommandLine;

/// <summary>
/// Flags and commands of other tunnels whose names are too different to be found by their letters. docs/tutorials/moving.md has more.
/// </summary>
internal static class ForeignWords
{
    private static readonly Dictionary<string, string> _flags = new(StringComparer.OrdinalIgnoreCase)
    {
        ["--cidr-allow"] = "--allow-ip",
        ["--cidr-deny"] = "--deny-ip",
        ["--hostname"] = "--domain",
        ["--http-user"] = "--basic-auth",
        ["--locations"] = "--route",
        ["--log-format"] = "--json",
        ["--mutual-tls-cas"] = "--client-ca",
        ["--oauth"] = "--oidc",
        ["--pooling-enabled"] = "--pool",
        ["--remote-addr"] = "--remote-port",
        ["--request-header-add"] = "--policy",
        ["--request-header-remove"] = "--policy",
        ["--response-header-add"] = "--policy",
        ["--response-header-remove"] = "--policy",
        ["--traffic-policy-file"] = "--policy",
        ["--verify-webhook-secret"] = "--webhook-secret-file",
    };

    /// <summary>The flag that does the same; null: none is known.</summary>
    public static string? Flag(string flag) => _flags.GetValueOrDefault(flag);

    /// <summary>What to write in place of an unknown command; null: nothing is known.</summary>
    public static string? Command(string word) => word.Equals("diagnose", StringComparison.OrdinalIgnoreCase) ? "doctor"
        : (word.All(char.IsAsciiDigit) || word.Contains(':')) && BackendTarget.TryParse(word, out _) is null ? $"http {word}"
        : null;
}
