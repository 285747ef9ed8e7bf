using System.Reflection;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>The texts of <c>tunnel2-entry</c>: help for the program and each command, the version, and the lines after a mistake.</summary>
internal static class EntryHelp
{
    /// <summary>The lines after a mistake that belongs to no command.</summary>
    public const string Usage =
        """
        usage: tunnel2-entry [--Tunnel2:Key=value ...]
               tunnel2-entry token create --name NAME [--tier TIER] [--keep ...]
               tunnel2-entry token list | revoke NAME [--admin URL] [--json]
               tunnel2-entry sessions list | drain NAME | kick NAME [--admin URL] [--json]
               tunnel2-entry policies list | show | set FILE | remove --agent ID | --token NAME | --name NAME
               tunnel2-entry agents list [--admin URL] [--json]
               tunnel2-entry requests list NAME [--limit N] [--admin URL] [--json]
               tunnel2-entry certificate create --host NAME[,NAME...] --out FILE
               tunnel2-entry certificate list [--json] | renew NAME | test [--Tunnel2:Key=value ...]
               tunnel2-entry cluster init [--node ID[,ID...]] [--out FOLDER] [--days N] [--new-ca]
               tunnel2-entry cluster status [--json] | nodes [--json] | drain NODE [--undo] [--Tunnel2:Key=value ...]
               tunnel2-entry health [URL] [--json]
               tunnel2-entry help [token | sessions | policies | agents | requests | certificate | cluster | health]
        """;

    /// <summary>The line after a mistake in <c>token</c>.</summary>
    public const string TokenUsage = "usage: tunnel2-entry token create --name NAME [--tier TIER] [--keep [--agent ID] "
        + "[--names NAME,...] [--expires WHEN]] | list | revoke NAME [--admin URL] [--json]";

    /// <summary>The line after a mistake in <c>sessions</c>.</summary>
    public const string SessionsUsage =
        "usage: tunnel2-entry sessions list [--name PATTERN] [--agent ID] | drain NAME | kick NAME [--session ID] [--admin URL] "
        + "[--json]";

    /// <summary>The lines after a mistake in <c>policies</c>.</summary>
    public const string PoliciesUsage = "usage: tunnel2-entry policies list [--admin URL] [--json]\n"
        + "       tunnel2-entry policies show | set FILE | remove --agent ID | --token NAME | --name NAME [--admin URL] [--json]";

    /// <summary>The line after a mistake in <c>agents</c>.</summary>
    public const string AgentsUsage = "usage: tunnel2-entry agents list [--admin URL] [--json]";

    /// <summary>The line after a mistake in <c>requests</c>.</summary>
    public const string RequestsUsage = "usage: tunnel2-entry requests list NAME [--limit N] [--admin URL] [--json]";

    /// <summary>The line after a mistake in <c>certificate</c>.</summary>
    public const string CertificateUsage = "usage: tunnel2-entry certificate create --host NAME[,NAME...] [--host NAME...] --out FILE; a "
        + "NAME may be *.example.com\n       tunnel2-entry certificate list [--json] | renew NAME | test [--Tunnel2:Key=value ...]";

    /// <summary>The line after a mistake in <c>cluster</c>.</summary>
    public const string ClusterUsage =
        "usage: tunnel2-entry cluster init [--node ID[,ID...]] [--out FOLDER] [--days N] [--new-ca] [--Tunnel2:Key=value ...]";

    /// <summary>The line after a mistake in <c>cluster nodes</c> or <c>status</c>.</summary>
    public const string ClusterNodesUsage =
        "usage: tunnel2-entry cluster status [--json] | nodes [--json] | drain NODE [--undo] [--Tunnel2:Key=value ...]";

    /// <summary>The line after a mistake in <c>health</c>.</summary>
    public const string HealthUsage = "usage: tunnel2-entry health [URL] [--json]";

    private const string Main =
        """
        tunnel2-entry is the server of Tunnel2: visitors call it, agents connect to it. Without a command it runs until Ctrl+C or SIGTERM.


        """ + Usage +
        """


        Commands:
          token create            makes a token for an agent, and the settings that accept it; with --keep the running server keeps it
          token list              shows the tokens that the running server keeps
          token revoke            revokes one of them, and ends its sessions
          sessions list           shows the sessions of the running server
          sessions drain          lets a session finish what is under way, without new requests
          sessions kick           ends a session at once
          policies list           shows the policies that the running server forces
          policies show           prints the one of an agent, a token or a name
          policies set            sets it, for running sessions too
          policies remove         removes it
          agents list             shows the agents that may connect to the running server
          requests list           shows the last requests of a session
          certificate create      makes a certificate for the uplink before the first start
          certificate list        shows the certificates of the settings, and when they end
          certificate renew       makes the running server order a certificate again
          certificate test        asks whether the authority of Acme:Directory answers
          cluster init            makes the certificates for the links between the nodes of a cluster, and their secret
          cluster status          how many nodes of the cluster are up, and how many names they serve
          cluster nodes           each node: its lease, its names, the address of its links
          cluster drain           takes a node out of service, or with --undo back into it
          health                  asks a running server whether it is ready
          help                    this text, or that of one command
          version                 the version

        Settings come from section Tunnel2 of appsettings.json (beside the program, then in the working directory), from the environment
        (Tunnel2__Domain=…) and from the command line (--Tunnel2:Domain=…); the last one wins. The ones that most people need:
          Domain                  a name is public as {name}.{Domain} (default: localhost)
          Public:HttpListen       where visitors call by HTTP (default: 127.0.0.1:12000)
          Public:HttpsListen      where they call by HTTPS (default: off)
          Public:Url              by which URL they come, where a reverse proxy is in front: https://{name}.{Domain}
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

        Examples:
          tunnel2-entry
          tunnel2-entry --Tunnel2:Domain=tunnel.example.com --Tunnel2:Public:HttpListen=*:80

        """;

    private const string Server =
        """
        The server is that of the settings, which are read as the server reads them (--Tunnel2:Key=value, environment, appsettings.json).

          --admin URL             another one, such as http://127.0.0.1:12002
          --json                  the API's own JSON, for programs

        The environment variable TUNNEL2_ADMIN_TOKEN has the token of Admin:Token; without it the one of the settings is used, for the
        server of the settings only. To another machine it leaves unencrypted only with TUNNEL2_ALLOW_PLAINTEXT=1. Exit codes: 0 done,
        1 the server refuses or does not answer, 2 the command line is wrong.

        """;

    private const string Token = TokenUsage +
        """


        Makes a new token, prints it once, and prints the settings that accept it. Nothing is kept.

          --name NAME             the agent's id in the settings, and the public name that it may claim
          --tier TIER             what it may get: free, pro, enterprise, or a tier of the settings
          --json                  token and settings as JSON, for programs

        With --keep a running server makes the token and keeps its hash in its state folder; agents may use it at once.

          --name NAME             what the token is called
          --agent ID              the agent that owns the names (default: the token's name)
          --names NAME,...        names that the agent may claim, * for any characters (default: the token's name)
          --tier TIER             as above
          --expires WHEN          90m, 12h, 30d, 2030-01-31 or 2030-01-31T12:00Z (default: never)

        'list' shows the tokens that the server keeps, and 'revoke NAME' ends one, with its sessions.


        """ + Server +
        """

        Examples:
          tunnel2-entry token create --name web --tier pro
          tunnel2-entry token create --keep --name ci --names 'ci-*' --expires 30d
          tunnel2-entry token revoke ci

        """;

    private const string Sessions = SessionsUsage +
        """


        The sessions of a running server.

          list                    the sessions; --name PATTERN (with *) and --agent ID choose some of them
          drain NAME              no new requests; it ends after its last one. Its agent may connect again
          kick NAME               ends it at once, and cuts its requests. Its agent may connect again: revoke its token to keep it away

        Where several agents share a name, --session ID says which one of 'list' is meant.


        """ + Server +
        """

        Examples:
          tunnel2-entry sessions list --name 'web-*' --json
          tunnel2-entry sessions drain web

        """;

    private const string Policies = PoliciesUsage +
        """


        The policies that a running server forces, beside the tunnels' own: a request has to pass all of them.

          list                    those that the server keeps, and those of its settings
          show                    prints a policy that the server keeps, as a file has it
          set FILE                sets it, in place of the one before; all mistakes are said at once, and then nothing changes
          remove                  removes it; that of the settings stays

          --agent ID              for the tunnels of all tokens of an agent
          --token NAME            for the tunnels of a token that the server keeps
          --name NAME             for a name or a domain, of any agent


        """ + Server +
        """

        Examples:
          tunnel2-entry policies set policy.json --token ci
          tunnel2-entry policies show --name web

        """;

    private const string Agents = AgentsUsage +
        """


        The agents that may connect to a running server: those of its settings, and those with a token that it keeps.


        """ + Server +
        """

        Examples:
          tunnel2-entry agents list
          tunnel2-entry agents list --json --admin http://127.0.0.1:12002

        """;

    private const string Requests = RequestsUsage +
        """


        The last requests of a session that the live view of a running server still has, the newest first.

          --limit N               how many at most, 1 to 100 (default: 20)


        """ + Server +
        """

        Examples:
          tunnel2-entry requests list web
          tunnel2-entry requests list web --limit 100 --json

        """;

    private const string Certificate = CertificateUsage +
        """


        Makes a certificate for Uplink:Certificate, and prints the fingerprint that agents trust it by.

          --host NAME[,NAME...]   the names or addresses at which agents reach the server
          --out FILE              where certificate and key go, as PEM; a file that is there is left alone

        The others read the settings as the server does, from the same folder, files, environment and command line, and change only
        what they say. A server that runs as another user has another StateFolder: run them as that user.

          list                    each certificate: its end, what is left, its names, where it is; --json: the same for programs
          renew NAME              a new certificate for a name of Acme:Names, or for one that has one; within a minute
          test                    whether Acme:Directory answers, and what it wants

        Examples:
          tunnel2-entry certificate list
          tunnel2-entry certificate renew www.example.com

        """;

    private const string Cluster = ClusterUsage + "\n" + ClusterNodesUsage +
        """


        'init' makes the authority of a cluster, unless the folder has one, and certificates of nodes for the links between them. Keep the
        folder where you make certificates: a node needs ca.pem, its own ID.pem and secret of it, and never ca.key. The secret, by which
        nodes share automatic certificates, is made once.

          --node ID[,ID...]       the nodes, by their EntryId (default: the EntryId of the settings)
          --out FOLDER            where the files go (default: cluster, in the StateFolder of the settings, where the server looks for them)
          --days N                how long the certificates are valid (default: 730)
          --new-ca                makes another authority, which issues from now on; ca.pem then has both, so that nodes trust both

        The others ask the database of Cluster:Database. The settings are read as the server reads them; no server has to run.

          status                  how many nodes are up, and how many names they serve; exit code 1 where none is up
          nodes                   each node: its lease, its names, the address of its links, its version
          drain NODE              takes a node out of service: it is not ready, takes no agents, and its agents go to other nodes. It stays
                                  up, and serves what comes, until 'drain NODE --undo' or its restart
          --json                  for programs; leaseSeconds below 0: the lease is over for so long

        Exit codes: 0 done, 1 a file cannot be written or the database does not answer, 2 the command line or a setting is wrong.

        Examples:
          tunnel2-entry cluster init --node e1,e2,e3 --out ./cluster
          tunnel2-entry cluster init --new-ca --out ./cluster
          tunnel2-entry cluster nodes --json

        """;

    private const string Health = HealthUsage +
        """


        Asks /health/ready of the server on this machine, or the URL. Exit code 0: it is ready; 1: it is not, or does not answer within 3 s.

          --json                  an object with url, ready, and status or problem

        Examples:
          tunnel2-entry health
          tunnel2-entry health http://10.0.0.5:12002/health/ready

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

        return args is ["version"] || args.Any(static arg => arg is "--version" or "-v") ? Version + "\n" : null;
    }

    private static string? For(string command) => command switch
    {
        "token" => Token,
        "sessions" => Sessions,
        "policies" => Policies,
        "agents" => Agents,
        "requests" => Requests,
        "certificate" => Certificate,
        "cluster" => Cluster,
        "health" => Health,
        _ => null,
    };
}
