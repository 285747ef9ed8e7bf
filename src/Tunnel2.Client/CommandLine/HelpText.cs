using System.Reflection;
using System.Text;
using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.CommandLine;

/// <summary>The texts of <c>--help</c>, <c>--version</c> and mistakes. Each command has its own.</summary>
internal static class HelpText
{
    /// <summary>Every word that may come first.</summary>
    public static readonly string[] Commands = ["http", "start", "tap", "stats", "top", "help"];

    /// <summary>The lines after a mistake.</summary>
    public const string Usage =
        """
        Usage: tunnel2 http <port | host:port | url> [flags]
               tunnel2 start [--config tunnels.yml] [flags]
               tunnel2 tap [flags] | stats FILE [flags] | top [flags]
               tunnel2 --dev-session-id GUID --backend-host H --backend-port P --tunnel-host H --tunnel-port P [flags]
               tunnel2 help [http | start | tap | stats | top]
        Run 'tunnel2 help' for the flags.
        """;

    /// <summary>The lines after a mistake in <c>tap</c>.</summary>
    public const string TapUsage =
        """
        Usage: tunnel2 tap [--host HOST[:PORT] | --ring FILE | --replay FILE] [--name NAME] [--status 5xx] [--min-duration 200ms]
                           [--from-oldest] [--record FILE] [--json] [--token TOKEN] [--server-fingerprint SHA256 | --server-ca FILE]
        """;

    /// <summary>The line under a mistake of <c>stats</c>.</summary>
    public const string StatsUsage = "Usage: tunnel2 stats FILE [--partitions auto|N] [--json]";

    /// <summary>The line after a mistake in <c>top</c>.</summary>
    public const string TopUsage = "Usage: tunnel2 top [--host HOST[:PORT]] [--token TOKEN] [--window 1s|10s|1m] [--once]";

    /// <summary>The help of the whole program.</summary>
    public static string Help =>
        """
        tunnel2 gives a private HTTP service a public URL.

        Usage:
          tunnel2 http <port | host:port | url> [flags]
          tunnel2 start [--config tunnels.yml] [flags]     several tunnels at once, from a file
          tunnel2 tap [flags]                              follows a server's requests, a line each
          tunnel2 stats FILE [flags]                       statistics over recorded requests
          tunnel2 top [flags]                              a table of a server's tunnels that refreshes
          tunnel2 help [COMMAND]                           this text, or that of one command


        """ + Examples + Flags + Files + Variables + OlderForm + ExitCodes;

    private static string HttpHelp =>
        """
        tunnel2 http <port | host:port | url> [flags]     gives one service a public URL


        """ + Examples + Flags + Variables + ExitCodes;

    private static string StartHelp =>
        """
        tunnel2 start [--config tunnels.yml] [flags]     runs the tunnels of a file; one that fails ends no other


        """ + Flags + Files + Variables + ExitCodes;

    private const string TapHelp = TapUsage +
        """


        Follows the requests of a server, one line per request that has ended. It is the server of this machine and user, unless a flag says
        otherwise.

          --host HOST[:PORT]      the server's relay instead (default port: 12003); TLS, unless HOST is this machine; tls://HOST
                                  or tcp://HOST decides
          --token TOKEN           for the relay: its server's admin token (default: TUNNEL2_ADMIN_TOKEN, which other users cannot see)
          --server-fingerprint F  for the relay: trust this certificate, sha256:… as the server prints it
          --server-ca FILE        for the relay: trust certificates of the authority in FILE, instead of the system's authorities
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


        Statistics over a recording ('tunnel2 tap --record FILE'), or over the file of a ring. Ctrl+C ends with the statistics of
        what was read until then, which say so.

          --partitions auto|N     threads that share the work, 1 to 64 (default auto: one per processor; fewer for less than 8 MB
                                  each). The statistics are the same with any number
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

    private const string ExitCodes =
        """
        Exit codes:
          0  asked to stop (Ctrl+C, SIGTERM); the requests under way are finished first, a second signal stops at once
          1  a fault of tunnel2 itself
          2  the command line is wrong
          3  the server rejected the agent for good (token, name, version), or another agent took the name over
          4  the server cannot be reached, with --exit-on-failure

        """;

    private static string Flags => "Flags:\n" + Rows(isOlderForm: false)
        + Row("-v, --version", "print the version") + Row("-h, -?, --help", "print the help of the program or of the command") + "\n";

    private static string OlderForm =>
        """
        The older form:
          tunnel2 --dev-session-id GUID --backend-host H --backend-port P --tunnel-host H --tunnel-port P [flags]

        """ + Rows(isOlderForm: true) + "\n";

    private static string Variables => "Environment variables, for what neither a flag nor the file says:\n"
        + Row("as the flags", Names(static setting => setting.IsAt(AgentSettingPlaces.Variable) && !setting.IsSwitch))
        + Row("with 'http' alone", Names(static setting => setting.IsAt(AgentSettingPlaces.VariableOfOneTunnel)))
        + Row("1 or 0", Names(static setting => setting.Variable is not null && setting.IsSwitch))
        + string.Concat(AgentSettingTable.All.Where(static setting => setting.IsVariableAlone)
            .Select(static setting => Row(setting.Variable!, setting.Words)))
        + string.Concat(AgentSettingTable.OtherVariables.Select(static variable => Row(variable.Name, variable.Words))) + "\n";

    private static string Names(Func<AgentSetting, bool> isMeant) =>
        string.Join(", ", AgentSettingTable.All.Where(isMeant).Select(static setting => setting.Variable));

    private static string Rows(bool isOlderForm) => string.Concat(AgentSettingTable.All
        .Where(setting => setting.IsAt(AgentSettingPlaces.Flag) && setting.IsOlderForm == isOlderForm)
        .Select(static setting => Row($"{setting.Flag} {setting.Value}", setting.Words + Default(setting))
            + string.Concat(setting.Aliases.Select(alias => Row($"{alias} {setting.Value}", $"the same as {setting.Flag}")))));

    private static string Default(AgentSetting setting)
    {
        var defaults = new[] { setting.Variable ?? "", setting.Default }.Where(static text => text.Length > 0).ToArray();
        return setting.IsSwitch || defaults.Length == 0 ? "" : $" (default: {string.Join(", then ", defaults)})";
    }

    /// <summary>A name, and its meaning from a fixed column on, in lines of at most 140 characters.</summary>
    private static string Row(string name, string words)
    {
        const int Column = 26;
        var text = new StringBuilder("  ").Append(name.TrimEnd());
        int length = text.Length;
        if (length > Column - 1)
        {
            text.Append('\n');
            length = 0;
        }

        text.Append(' ', Column - length);
        length = Column;
        foreach (string word in words.Split(' '))
        {
            if (length + word.Length > 140)
            {
                text.Length--;
                text.Append('\n').Append(' ', Column);
                length = Column;
            }

            text.Append(word).Append(' ');
            length += word.Length + 1;
        }

        text.Length--;
        return text.Append('\n').ToString();
    }

    /// <summary>The help of a command; null if there is no such command.</summary>
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

    /// <summary>The help that a command line asks for: of its command, or of the program.</summary>
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
