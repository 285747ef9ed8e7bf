using System.Reflection;

namespace Tunnel2.Client.CommandLine;

/// <summary>What <c>--help</c>, <c>--version</c> and a mistake print.</summary>
internal static class HelpText
{
    /// <summary>The lines under a mistake.</summary>
    public const string Usage =
        """
        Usage: tunnel2 http <port | host:port | url> [flags]
               tunnel2 --dev-session-id GUID --backend-host H --backend-port P --tunnel-host H --tunnel-port P [flags]
        Run 'tunnel2 --help' for the flags.
        """;

    /// <summary>The whole help text.</summary>
    public const string Help =
        """
        tunnel2 gives a private HTTP service a public URL.

        Usage:
          tunnel2 http <port | host:port | url> [flags]

        Examples:
          tunnel2 http 3000
          tunnel2 http 3000 --name web
          tunnel2 http https://localhost:8443/base --host-header rewrite
          TUNNEL2_TOKEN=… tunnel2 http 3000 --server tunnel.example.com

        What to forward to:
          3000 or :3000           http://127.0.0.1:3000
          host:3000, [::1]:3000   http on another host
          http://host:3000/base   with a path: /base goes before the path of every request (/a becomes /base/a)
          https://host:8443       the service is spoken to over TLS

        Flags:
          --server HOST[:PORT]    the server's uplink address (default: TUNNEL2_SERVER, then 127.0.0.1:12001); encrypted unless it is this
                                  machine; tls://HOST or tcp://HOST (plaintext) decides
          --server-fingerprint F  trust the server by its certificate's fingerprint, sha256:…, as it prints it at its start; several with
                                  commas (default: TUNNEL2_SERVER_FINGERPRINT)
          --server-ca FILE        trust the authorities in this PEM file instead of the system's (default: TUNNEL2_SERVER_CA)
          --client-cert FILE      a certificate (PEM) that lets the agent in instead of a token (default: TUNNEL2_CLIENT_CERT)
          --client-key FILE       its key, where it is not in the same file (default: TUNNEL2_CLIENT_KEY)
          --name NAME             the public name: 3 to 50 characters of a-z, 0-9 and - (default: 10 random characters)
          --subdomain NAME        the same as --name
          --url URL               a public URL or host whose first part is the name, such as https://web.example.com
          --token TOKEN           the secret that lets the agent in (default: TUNNEL2_TOKEN, which other users cannot see)
          --authtoken TOKEN       the same as --token
          --host-header MODE      keep: the service sees the visitor's Host (default); rewrite: its own; or a fixed value
          --uplinks auto|N        connections to the server, 1 to 16 (default: auto)
          --exit-on-failure       end with exit code 4 when the server cannot be reached, instead of trying again
          --verbose               a line for every request and every attempt to connect
          --json                  one JSON object per line instead of text
          --version               print the version
          -h, -?, --help          print this text

        The older form:
          tunnel2 --dev-session-id GUID --backend-host H --backend-port P --tunnel-host H --tunnel-port P [flags]
          --dev-session-id GUID   becomes the name
          --backend-host H        default 127.0.0.1
          --backend-port P        the service's port
          --tunnel-host H         as --server
          --tunnel-port P         default 12001

        Exit codes:
          0  asked to stop (Ctrl+C, SIGTERM); the requests under way are finished first, a second signal stops at once
          1  a fault of tunnel2 itself
          2  the command line is wrong
          3  the server rejected the agent for good (token, name, version), or another agent took the name over
          4  the server cannot be reached, with --exit-on-failure

        """;

    /// <summary>Such as <c>tunnel2 1.2.3</c>.</summary>
    public static string Version
    {
        get
        {
            Assembly assembly = typeof(HelpText).Assembly;
            string version = assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion
                ?? assembly.GetName().Version?.ToString()
                ?? "unknown";
            return $"tunnel2 {version.Split('+')[0]}";
        }
    }
}
