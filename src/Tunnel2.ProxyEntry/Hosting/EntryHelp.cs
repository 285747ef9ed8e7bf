using System.Reflection;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>The texts of <c>tunnel2-entry</c>: help for the program and each command, the version, and the lines after a mistake.</summary>
internal static class EntryHelp
{
    /// <summary>The lines after a mistake that belongs to no command.</summary>
    public const string Usage =
        """
        usage: tunnel2-entry [--Tunnel2:Key=value ...]
               tunnel2-entry token create --name NAME [--tier TIER]
               tunnel2-entry certificate create --host NAME[,NAME...] --out FILE
               tunnel2-entry health [URL]
               tunnel2-entry help [token | certificate | health]
        """;

    /// <summary>The line after a mistake in <c>token</c>.</summary>
    public const string TokenUsage = "usage: tunnel2-entry token create --name NAME [--tier TIER]";

    /// <summary>The line after a mistake in <c>certificate</c>.</summary>
    public const string CertificateUsage = "usage: tunnel2-entry certificate create --host NAME[,NAME...] [--host NAME...] --out FILE; a "
        + "NAME may be *.example.com";

    /// <summary>The line after a mistake in <c>health</c>.</summary>
    public const string HealthUsage = "usage: tunnel2-entry health [URL]";

    private const string Main =
        """
        tunnel2-entry is the server of Tunnel2: visitors call it, agents connect to it. Without a command it runs until Ctrl+C or SIGTERM.


        """ + Usage +
        """


        Commands:
          token create            makes a token for an agent, and the settings that accept it
          certificate create      makes a certificate for the uplink before the first start
          health                  asks a running server whether it is ready
          help                    this text, or that of one command

        Settings come from section Tunnel2 of appsettings.json (beside the program, then in the working directory), from the environment
        (Tunnel2__Domain=…) and from the command line (--Tunnel2:Domain=…); the last one wins. The ones that most people need:
          Domain                  a name is public as {name}.{Domain} (default: localhost)
          Public:HttpListen       where visitors call by HTTP (default: 127.0.0.1:12000)
          Public:HttpsListen      where they call by HTTPS (default: off)
          Uplink:Listen           where agents connect (default: 127.0.0.1:12001)
          Admin:Listen            health, metrics, the live view (default: 127.0.0.1:12002)
          Agents:<id>:TokenHash   lets an agent in; 'tunnel2-entry token create' prints it
          ListenersFrom           the Unix socket of a running tunnel2-ports, which keeps listening over restarts (default: none)
        All of them are in docs/settings.md. Listening sockets of systemd's socket units (LISTEN_FDS) are used where there are any.

          -h, -?, --help          print the help of the program or of the command
          -v, --version           print the version

        Exit codes:
          0  it was stopped
          1  a listener's address is not available, or the holder of the listening sockets is missing or has ended
          2  a setting, or the command line, is wrong

        """;

    private const string Token = TokenUsage +
        """


        Makes a new token, prints it once, and prints the settings that accept it. Nothing is kept.

          --name NAME             the agent's id in the settings, and the public name that it may claim
          --tier TIER             what it may get: free, pro, enterprise, or a tier of the settings

        """;

    private const string Certificate = CertificateUsage +
        """


        Makes a certificate for Uplink:Certificate, and prints the fingerprint that agents trust it by.

          --host NAME[,NAME...]   the names or addresses at which agents reach the server
          --out FILE              where certificate and key go, as PEM; a file that is there is left alone

        """;

    private const string Health = HealthUsage +
        """


        Asks /health/ready of the server on this machine, or the URL. Exit code 0: it is ready; 1: it is not, or does not answer within 3 s.

        """;

    /// <summary>Such as <c>tunnel2-entry 1.2.3</c>.</summary>
    public static string Version
    {
        get
        {
            var version = typeof(EntryHelp).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion
                ?? "unknown";
            return $"tunnel2-entry {version.Split('+')[0]}";
        }
    }

    /// <summary>The text that a command line asks for (help or version); null if it asks for none.</summary>
    public static string? Asked(string[] args)
    {
        if (args is ["help", .. var topics])
        {
            return topics is [] or ["help"] ? Main : topics is [var topic] ? For(topic) : null;
        }

        if (args.Any(static arg => arg is "--help" or "-h" or "-?"))
        {
            return For(args[0]) ?? Main;
        }

        return args.Any(static arg => arg is "--version" or "-v") ? Version + "\n" : null;
    }

    private static string? For(string command) => command switch
    {
        "token" => Token,
        "certificate" => Certificate,
        "health" => Health,
        _ => null,
    };
}
