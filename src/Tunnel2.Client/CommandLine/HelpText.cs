using System.Reflection;

namespace Tunnel2.Client.CommandLine;

/// <summary>What <c>--help</c>, <c>--version</c> and a mistake print. Each command has a text of its own.</summary>
internal static class HelpText
{
    /// <summary>Every word that may come first.</summary>
    public static readonly string[] Commands = ["http", "start", "tap", "stats", "top", "help"];

    /// <summary>The lines under a mistake.</summary>
    public const string Usage =
        """
        Usage: tunnel2 http <port | host:port | url> [flags]
               tunnel2 start [--config tunnels.yml] [flags]
               tunnel2 tap [flags] | stats FILE [--json] | top [flags]
               tunnel2 --dev-session-id GUID --backend-host H --backend-port P --tunnel-host H --tunnel-port P [flags]
               tunnel2 help [http | start | tap | stats | top]
        Run 'tunnel2 help' for the flags.
        """;

    /// <summary>The lines under a mistake of <c>tap</c>.</summary>
    public const string TapUsage =
        """
        Usage: tunnel2 tap [--host HOST[:PORT] | --ring FILE | --replay FILE] [--name NAME] [--status 5xx] [--min-duration 200ms]
                           [--from-oldest] [--record FILE] [--json]
        """;

    /// <summary>The line under a mistake of <c>stats</c>.</summary>
    public const string StatsUsage = "Usage: tunnel2 stats FILE [--json]";

    /// <summary>The line under a mistake of <c>top</c>.</summary>
    public const string TopUsage = "Usage: tunnel2 top [--host HOST[:PORT]] [--token TOKEN] [--window 1s|10s|1m] [--once]";

    /// <summary>The help of the program as a whole.</summary>
    public const string Help =
        """
        tunnel2 gives a private HTTP service a public URL.

        Usage:
          tunnel2 http <port | host:port | url> [flags]
          tunnel2 start [--config tunnels.yml] [flags]     several tunnels at once, from a file
          tunnel2 tap [flags]                              follows a server's requests, a line each
          tunnel2 stats FILE [--json]                      statistics over recorded requests
          tunnel2 top [flags]                              a table of a server's tunnels that refreshes
          tunnel2 help [COMMAND]                           this text, or that of one command


        """ + Examples + Flags + Files + Variables + OlderForm + ExitCodes;

    private const string HttpHelp =
        """
        tunnel2 http <port | host:port | url> [flags]     gives one service a public URL


        """ + Examples + Flags + Variables + ExitCodes;

    private const string StartHelp =
        """
        tunnel2 start [--config tunnels.yml] [flags]     runs the tunnels of a file; one that fails ends no other


        """ + Flags + Files + Variables + ExitCodes;

    private const string TapHelp = TapUsage +
        """


        Follows the requests of a server, one line per request that has ended: of the server of this machine and user, unless a flag says
        otherwise.

          --host HOST[:PORT]      the server's relay instead (default port: 12003)
          --ring FILE             the file of its event ring instead
          --replay FILE           a recording instead
          --name NAME             only this tunnel; with a last * all that begin so
          --status LIST           only these: 404, 5xx, 400-499, several with commas; 0 is none at all
          --min-duration TIME     only those that took so long: 500us, 200ms, 1.5s
          --from-oldest           begin with the oldest request that is still there
          --record FILE           also write what is shown to a new file
          --json                  one JSON object per line instead of text

        """;

    private const string StatsHelp = StatsUsage +
        """


        Statistics over a recording ('tunnel2 tap --record FILE'), or over the file of a ring.

          --json                  one JSON object instead of a table

        """;

    private const string TopHelp = TopUsage +
        """


        A table of a server's tunnels that refreshes: requests a second, errors, durations, bytes.

          --host HOST[:PORT]      the server's admin listener (default: 127.0.0.1:12002); https://HOST where it is behind TLS
          --token TOKEN           its admin token (default: TUNNEL2_ADMIN_TOKEN, which other users cannot see)
          --window 1s|10s|1m      over what the figures are taken (default: 1s)
          --once                  print the table once and end

        """;

    private const string Examples =
        """
        Examples:
          tunnel2 http 3000
          tunnel2 http 3000 --name web
          tunnel2 http https://localhost:8443/base --host-header rewrite
          TUNNEL2_TOKEN=… tunnel2 http 3000 --server tunnel.example.com

        What to forward to:
          3000 or :3000           http://127.0.0.1:3000, and [::1]:3000 where nothing listens there
          host:3000, [::1]:3000   http on another host
          http://host:3000/base   with a path: /base goes before the path of every request (/a becomes /base/a)
          https://host:8443       the service is spoken to over TLS


        """;

    private const string Flags =
        """
        Flags:
          --server HOST[:PORT]    the server's uplink address (default: TUNNEL2_SERVER, then 127.0.0.1:12001); encrypted unless it is this
                                  machine; tls://HOST or tcp://HOST (plaintext) decides
          --server-fingerprint F  trust the server by its certificate's fingerprint, sha256:…, as it prints it at its start; several with
                                  commas (default: TUNNEL2_SERVER_FINGERPRINT)
          --server-ca FILE        trust the authorities in this PEM file instead of the system's (default: TUNNEL2_SERVER_CA)
          --client-cert FILE      a certificate (PEM) that lets the agent in instead of a token (default: TUNNEL2_CLIENT_CERT)
          --client-key FILE       its key, where it is not in the same file (default: TUNNEL2_CLIENT_KEY)
          --name NAME             the public name: 1 to 50 characters of a-z, 0-9 and - (default: 10 random characters)
          --subdomain NAME        the same as --name
          --url URL               a public URL or host whose first part is the name, such as https://web.example.com
          --token TOKEN           the secret that lets the agent in (default: TUNNEL2_TOKEN, which other users cannot see)
          --authtoken TOKEN       the same as --token
          --host-header MODE      keep: the service sees the visitor's Host (default); rewrite: its own; or a fixed value
          --uplinks auto|N        connections to the server, 1 to 16 (default: auto)
          --streams N             requests that a tunnel takes at once, 1 to 65536 (default: 65536); those beyond get 503
          --backend-connections auto|N
                                  connections to services at once, of all tunnels together; requests beyond wait their turn (default: auto,
                                  what the limit of open files leaves)
          --buffer-megabytes auto|N
                                  MiB held of uploads that services do not take, 16 to 65536; beyond it those that stand still are cut
                                  (default: auto, a quarter of the memory, 16 to 256)
          --loops auto|N          event loops, a thread each, 1 to 32 (default: auto, one, and one more with each further connection to the
                                  server, up to the processors)
          --exit-on-failure       end with exit code 4 when the server cannot be reached, instead of trying again
          --verbose               a line for every request and every attempt to connect
          --json                  one JSON object per line instead of text
          --config FILE           the file of 'start' (default: TUNNEL2_CONFIG, then tunnels.yml)
          -v, --version           print the version
          -h, -?, --help          print the help of the program or of the command


        """;

    private const string Files =
        """
        A file of tunnels has the flags' names as keys, for all tunnels or for one:
          server: tunnel.example.com
          tunnels:
            - name: web
              upstream: 3000
              host-header: rewrite
            - name: api
              upstream: http://127.0.0.1:8080/base


        """;

    private const string Variables =
        """
        Environment variables, for what neither a flag nor the file says:
          TUNNEL2_SERVER, TUNNEL2_TOKEN, TUNNEL2_HOST_HEADER, TUNNEL2_UPLINKS,     as the flags
          TUNNEL2_STREAMS, TUNNEL2_BACKEND_CONNECTIONS, TUNNEL2_BUFFER_MEGABYTES,
          TUNNEL2_LOOPS
          TUNNEL2_NAME, TUNNEL2_UPSTREAM                                           with 'http' alone
          TUNNEL2_EXIT_ON_FAILURE, TUNNEL2_VERBOSE, TUNNEL2_JSON                   1 or true, 0 or false
          TUNNEL2_CONFIG                                                           the file of 'start'
          TUNNEL2_ALLOW_PLAINTEXT   1: the token may leave this machine unencrypted
          TUNNEL2_ENGINE            what serves connections: auto, epoll (Linux) or portable


        """;

    private const string OlderForm =
        """
        The older form:
          tunnel2 --dev-session-id GUID --backend-host H --backend-port P --tunnel-host H --tunnel-port P [flags]
          --dev-session-id GUID   becomes the name
          --backend-host H        default 127.0.0.1
          --backend-port P        the service's port
          --tunnel-host H         as --server
          --tunnel-port P         default 12001


        """;

    private const string ExitCodes =
        """
        Exit codes:
          0  asked to stop (Ctrl+C, SIGTERM); the requests under way are finished first, a second signal stops at once
          1  a fault of tunnel2 itself
          2  the command line is wrong
          3  the server rejected the agent for good (token, name, version), or another agent took the name over
          4  the server cannot be reached, with --exit-on-failure

        """;

    /// <summary>The help of a command; null where there is no such command.</summary>
    public static string? For(string command) => command switch
    {
        "http" => HttpHelp,
        "start" => StartHelp,
        "tap" => TapHelp,
        "stats" => StatsHelp,
        "top" => TopHelp,
        "help" => Help,
        _ => null,
    };

    /// <summary>The help that a command line asks for: of the command in it, or of the program.</summary>
    public static string For(IEnumerable<string> args) => args.Select(For).FirstOrDefault(static text => text is not null) ?? Help;

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
