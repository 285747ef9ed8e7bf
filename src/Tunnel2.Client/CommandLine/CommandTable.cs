using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.CommandLine;

/// <summary>
/// All commands of <c>tunnel2</c>, in the order of the help text. Parsing, help and completion read this table and nothing else.
/// </summary>
internal static class CommandTable
{
    /// <summary>Prints the help of the program or of the command.</summary>
    public static readonly CommandOption Help = new("--help", "", "print the help of the program or of the command")
    {
        Aliases = ["-h", "-?"],
    };

    /// <summary>Prints the version.</summary>
    public static readonly CommandOption Version = new("--version", "", "print the version") { Aliases = ["-v"] };

    private static readonly CommandOption _json = new("--json", "", "one JSON object instead of text");
    private static readonly CommandOption _tunnelFile = new("--config", "FILE", "the file of tunnels")
    {
        Default = "TUNNEL2_CONFIG, then tunnels.yml",
    };

    private static readonly string[] _ofDoctor =
    [
        "--server", "--server-fingerprint", "--server-ca", "--client-cert", "--client-key", "--uplink", "--public-port", "--proxy",
        "--proxy-ca", "--name", "--token", "--token-file", "--host-header", "--route",
    ];

    private static readonly string[] _ofHttp =
    [
        "--route", "--basic-auth", "--jwt-issuer", "--jwt-audience", "--oidc", ClientCaParser.Flag, "--policy", "--verify-webhook",
        "--webhook-secret-file",
    ];

    private static readonly string[] _ofOneTunnel =
        ["--name", "--url", DomainOptionsParser.Flag, "--remote-port", "--proxy-protocol", "--allow-ip", "--deny-ip", .. _ofHttp];

    /// <summary>The agent's settings, and those of the older form, as options.</summary>
    public static IReadOnlyList<CommandOption> AgentOptions { get; } =
    [
        .. AgentSettingTable.All.Where(static setting => setting.IsAt(AgentSettingPlaces.Flag) && !setting.IsOlderForm)
            .Select(CommandOption.Of),
    ];

    /// <summary>The flags of the older form, which has no command.</summary>
    public static IReadOnlyList<CommandOption> OlderOptions { get; } =
        [.. AgentSettingTable.All.Where(static setting => setting.IsOlderForm).Select(CommandOption.Of)];

    /// <summary>What may be before the command, or without one.</summary>
    public static IReadOnlyList<CommandOption> RootOptions { get; } = [.. AgentOptions, .. OlderOptions, Help, Version];

    /// <summary>All commands.</summary>
    public static IReadOnlyList<CommandSpec> All { get; } =
    [
        new("http", "<port | host:port | url>", "gives one service a public URL")
        {
            RunsTunnels = true,
            Text = Targets,
            ExitCodes = [1, 3, 4],
            Examples = ["tunnel2 http 3000 --name web", "TUNNEL2_TOKEN=… tunnel2 http 3000 --server tunnel.example.com"],
        },
        new("https", "<port | host:port | url>", "the same for a service that speaks TLS")
        {
            RunsTunnels = true,
            ExitCodes = [1, 3, 4],
            Examples = ["tunnel2 https 8443", "tunnel2 https https://localhost:8443/base --host-header rewrite"],
        },
        new("tcp", "<port | host:port>", "gives one service a public port: ssh, a database, anything that speaks TCP")
        {
            RunsTunnels = true,
            ExitCodes = [1, 3, 4],
            Examples =
            [
                "tunnel2 tcp 22", "tunnel2 tcp 5432 --remote-port 20005 --name db", "tunnel2 tcp unix:/run/app.sock --proxy-protocol v2",
            ],
        },
        new("tls", "<port | host:port>", "gives one service that speaks TLS a public name; its certificate reaches the visitor")
        {
            RunsTunnels = true,
            ExitCodes = [1, 3, 4],
            Examples = ["tunnel2 tls 443 --name web", "tunnel2 tls 10.0.0.5:8443 --proxy-protocol v1"],
        },
        new("udp", "<port | host:port>", "gives one service that takes datagrams a public port")
        {
            RunsTunnels = true,
            ExitCodes = [1, 3, 4],
            Examples = ["tunnel2 udp 53", "tunnel2 udp 10.0.0.5:53 --remote-port 20053 --name dns"],
        },
        new("file", "FOLDER", "gives the files of a folder a public URL; no service is needed")
        {
            RunsTunnels = true,
            ArgumentKind = ValueKind.Folder,
            ExitCodes = [1, 3, 4],
            Text =
                """
                index.html is shown for its folder. Names that begin with a dot and links out of the folder are not served.
                Every visitor who knows the URL can read the files.

                """,
            Options = [new("--list", "", "list a folder that has no index.html")],
            Examples = ["tunnel2 file ./dist", "tunnel2 file ./photos --list --name photos"],
        },
        new("start", "", "runs the tunnels of a file; one that fails ends no other")
        {
            RunsTunnels = true,
            MostArguments = 0,
            Text = TunnelFileForm,
            ExitCodes = [1, 3, 4],
            Examples = ["tunnel2 start", "tunnel2 start --config /etc/tunnel2/web.yml --json"],
        },
        new("config check", "[FILE]", "checks a file of tunnels and prints every mistake with its line")
        {
            ArgumentKind = ValueKind.File,
            Options = [_tunnelFile, _json],
            Examples = ["tunnel2 config check", "tunnel2 config check /etc/tunnel2/web.yml --json"],
        },
        new("config show", "[FILE]", "prints what the tunnels of a file come to, with the environment; secrets are masked")
        {
            ArgumentKind = ValueKind.File,
            Options = [_tunnelFile, _json],
            Examples = ["tunnel2 config show", "tunnel2 config show web.yml --json"],
        },
        new("config edit", "[FILE]", "opens a copy of the file in $VISUAL or $EDITOR, and takes it over when it has no mistake")
        {
            ArgumentKind = ValueKind.File,
            Options = [_tunnelFile, _json],
            Examples = ["tunnel2 config edit", "EDITOR=nano tunnel2 config edit web.yml"],
        },
        new("login", "SERVER", "checks a server, its certificate and a token, and stores them for the other commands")
        {
            ExitCodes = [1, 3, 4],
            Text =
                """
                They are stored in $XDG_CONFIG_HOME/tunnel2/login.json (~/.config/tunnel2), which only its owner can read, and are used
                where a command names no other server. A certificate that no authority known here has issued is shown by its fingerprint,
                and trusted after a yes.

                """,
            Options =
            [
                new("--token", "TOKEN", "the secret that lets the agent in; asked for where the server wants one and there is none")
                {
                    Default = "TUNNEL2_TOKEN",
                },
                new("--trust-fingerprint", "F", "trust the server's certificate by its fingerprint, sha256:…, without a question")
                {
                    InPlaceOf = "--server-fingerprint",
                },
                new("--server-ca", "FILE", "trust the authorities in this PEM file"),
                _json,
            ],
            Examples =
            [
                "tunnel2 login tunnel.example.com", "TUNNEL2_TOKEN=… tunnel2 login 192.0.2.7:12001 --trust-fingerprint sha256:…",
            ],
        },
        new("logout", "", "removes what 'login' has stored")
        {
            MostArguments = 0,
            Options = [_json],
            Examples = ["tunnel2 logout", "tunnel2 logout && tunnel2 login tunnel.example.com"],
        },
        new("status", "", "what this user's running agents do, tunnel by tunnel")
        {
            MostArguments = 0,
            ExitCodes = [1, 5],
            Options = [_json],
            Examples = ["tunnel2 status", "tunnel2 status --json"],
        },
        new("ready", "", "whether the tunnels are ready: for health checks and scripts")
        {
            MostArguments = 0,
            ExitCodes = [1, 5],
            Options = [new("--name", "NAME", "only this tunnel, instead of all of this user's agents"), _json],
            Examples = ["tunnel2 ready", "until tunnel2 ready --name web; do sleep 1; done"],
        },
        .. ServiceCommandTable.Of(_tunnelFile, _json),
        .. TokenCommandTable.Of(_json),
        new("doctor", "[port | host:port | url]", "looks for what is wrong between this machine, the server and the service, with remedies")
        {
            ExitCodes = [1, 5],
            Options = [.. AgentOptions.Where(static option => _ofDoctor.Contains(option.Flag)), _json],
            Examples = ["tunnel2 doctor", "tunnel2 doctor 5173 --name web --json"],
        },
        new("tap", "", "follows a server's requests, a line each")
        {
            MostArguments = 0,
            ExitCodes = [1, 3, 4],
            Text =
                """
                One line per request that has ended. It is the server of this machine and user, unless a flag says otherwise.

                """,
            Options =
            [
                new(
                    "--host", "HOST[:PORT]",
                    "the server's relay instead; TLS, unless HOST is this machine; tls://HOST or tcp://HOST decides")
                {
                    Default = "port 12003",
                },
                new("--token", "TOKEN", "for the relay or the cluster: its server's admin token; other users cannot see the variable")
                {
                    Default = "TUNNEL2_ADMIN_TOKEN",
                },
                new("--server-fingerprint", "F", "for the relay: trust this certificate, sha256:… as the server prints it"),
                new(
                    "--server-ca", "FILE",
                    "for the relay: trust certificates of the authority in FILE, instead of the system's authorities"),
                new("--cluster", "HOST[:PORT]", "all nodes of a cluster instead, through the admin listener of one of them; https://HOST")
                {
                    Default = "port 12002",
                },
                new("--ring", "FILE", "the file of its event ring instead"),
                new("--replay", "FILE", "a recording instead"),
                new("--name", "NAME", "only this tunnel; with a last * all that begin so"),
                new("--status", "LIST", "only these: 404, 5xx, 400-499, several with commas; 0 is none at all"),
                new("--min-duration", "TIME", "only those that took so long: 500us, 200ms, 1.5s"),
                new("--from-oldest", "", "begin with the oldest request that is still there"),
                new("--record", "FILE", "also write what is shown to a new file"),
                new("--json", "", "one JSON object per line instead of text"),
            ],
            Examples = ["tunnel2 tap --name web --status 5xx", "tunnel2 tap --host tunnel.example.com --record requests.t2"],
        },
        new("stats", "FILE", "statistics over recorded requests")
        {
            ArgumentKind = ValueKind.File,
            Text =
                """
                FILE is a recording ('tunnel2 tap --record FILE'), or the file of a ring. Ctrl+C ends with the statistics of what was read
                until then, which say so.

                """,
            Options =
            [
                new(
                    "--partitions", "auto|N",
                    "threads that share the work, 1 to 64; auto is one per processor, fewer for less than 8 MB each; the statistics are "
                        + "the same with any number")
                {
                    Default = "auto",
                },
                new("--json", "", "one JSON object instead of a table"),
            ],
            Examples = ["tunnel2 stats requests.t2", "tunnel2 stats requests.t2 --partitions 4 --json"],
        },
        new("top", "", "a table of a server's tunnels that refreshes")
        {
            MostArguments = 0,
            ExitCodes = [1, 3, 4],
            Text =
                """
                Requests a second, errors, durations, bytes. On a terminal (Linux) keys select and sort sessions and show one with its last
                requests: ? lists them, q ends.

                """,
            Options =
            [
                new("--host", "HOST[:PORT]", "the server's admin listener; https://HOST where it is behind TLS")
                {
                    Default = "127.0.0.1:12002",
                },
                new("--token", "TOKEN", "its admin token; other users cannot see the variable") { Default = "TUNNEL2_ADMIN_TOKEN" },
                new("--window", "1s|10s|1m", "over what the figures are taken") { Default = "1s" },
                new("--once", "", "print the table once and end"),
                new("--json", "", "one JSON object a second instead of tables; with --once one"),
            ],
            Examples = ["tunnel2 top", "tunnel2 top --host https://admin.example.com --once --json"],
        },
        new("inspect export", "--har FILE", "the requests that an inspector has kept, as a HAR file, which browsers' developer tools open")
        {
            MostArguments = 0,
            ExitCodes = [1, 3, 4],
            Text =
                """
                TUNNEL2_INSPECT_TOKEN is the token of an inspector on another machine, TUNNEL2_ADMIN_TOKEN that of a server.

                """,
            Options =
            [
                new("--har", "FILE", "the file; - is the standard output"),
                new("--from", "HOST[:PORT]|URL", "the inspector's address, or the URL of a server's admin listener")
                {
                    Default = "127.0.0.1:4040",
                },
                new("--token", "TOKEN", "its token; other users cannot see the variable")
                {
                    Default = "TUNNEL2_INSPECT_TOKEN or TUNNEL2_ADMIN_TOKEN",
                },
                new("--name", "NAME", "the tunnel, where there are several"),
                new("--reveal", "", "secrets too, which are masked otherwise"),
                _json,
            ],
            Examples = ["tunnel2 inspect export --har requests.har", "tunnel2 inspect export --har - --name web --reveal"],
        },
        new("hash-password", "USER", "the hash of a password, for --basic-auth, a file of tunnels and the server's settings")
        {
            // The command itself reports a second word, without repeating it.
            MostArguments = int.MaxValue,
            Text =
                """
                Reads a password from the standard input (on a terminal it is not shown) and prints USER and its hash, for --basic-auth, for
                a file of tunnels, and for Agents:<id>:BasicAuth of a server. Nothing is kept.

                """,
            Options = [_json],
            Examples = ["tunnel2 hash-password alice", "tunnel2 hash-password alice < password.txt"],
        },
        new("policy test", "FILE", "says what a policy does with a request, row by row, and why; it asks no server")
        {
            ArgumentKind = ValueKind.File,
            ExitCodes = [1, 5],
            Text =
                """
                FILE is a policy in JSON, as --policy takes it. Exit code 0: the request reaches the service; 5: a row stops it. Rates count
                from full, so they stop nothing here.

                """,
            Options =
            [
                new("--request", "'METHOD PATH'", "the request, such as 'GET /admin?x=1'; a path alone is a GET"),
                new("--header", "'NAME: VALUE'", "a header of the request; several times for several") { IsRepeatable = true },
                new("--address", "IP", "the visitor's address") { Default = "not known" },
                new("--country", "CC", "the visitor's country, as the server's proxy would say it") { Default = "not known" },
                new("--body", "BYTES", "the length of the request's body") { Default = "0" },
                _json,
            ],
            Examples =
            [
                "tunnel2 policy test policy.json --request /admin --address 203.0.113.7",
                "tunnel2 policy test policy.json --request /hook --body 2000000 --json",
            ],
        },
        new("completion", "bash|zsh|fish|powershell", "prints the completion of commands and flags for a shell")
        {
            ArgumentChoices = ["bash", "zsh", "fish", "powershell"],
            Text =
                """
                bash        source <(tunnel2 completion bash)                         in ~/.bashrc
                zsh         source <(tunnel2 completion zsh)                          in ~/.zshrc, after compinit
                fish        tunnel2 completion fish | source                          in ~/.config/fish/config.fish
                powershell  tunnel2 completion powershell | Out-String | iex          in $PROFILE

                """,
            Options = [_json],
            Examples = ["source <(tunnel2 completion bash)", "tunnel2 completion fish > ~/.config/fish/completions/tunnel2.fish"],
        },
        new("version", "", "prints the version")
        {
            MostArguments = 0,
            Options = [_json],
            Examples = ["tunnel2 version", "tunnel2 version --json"],
        },
        new("help", "[COMMAND]", "prints this text, or that of one command")
        {
            MostArguments = 2,
            Examples = ["tunnel2 help http", "tunnel2 help config check"],
        },
    ];

    /// <summary>Every word that may come first.</summary>
    public static IReadOnlyList<string> Words { get; } = [.. All.Select(static command => command.Group).Distinct()];

    /// <summary>The meaning of the exit codes: a contract with scripts, in one table.</summary>
    public static IReadOnlyList<(int Code, string Words)> ExitCodes { get; } =
    [
        (0, "done, or asked to stop (Ctrl+C, SIGTERM); the requests under way are finished first, a second signal stops at once"),
        (1, "a fault of tunnel2 itself, a file that cannot be read or written, or a command that was stopped before it was done"),
        (2, "the command line, a variable or the file of tunnels is wrong"),
        (3, "the server rejected the agent for good (token, name, version), or another agent took the name over"),
        (4, "the server cannot be reached; a command that runs tunnels ends so only with --exit-on-failure"),
        (
            5,
            "the answer is no: no agent or service runs, a tunnel is not ready, 'doctor' has found what is wrong, or a policy stops a "
            + "request"),
    ];

    private static string Targets =>
        """
        What to forward to:
          3000 or :3000           http://127.0.0.1:3000, and [::1]:3000 where nothing listens there
          host:3000, [::1]:3000   http on another host
          http://host:3000/base   with a path: /base goes before the path of every request (/a becomes /base/a)
          https://host:8443       the service is spoken to over TLS
          unix:/run/app.sock      a Unix socket
          npipe:app               a named pipe (Windows)

        """;

    private static string TunnelFileForm =>
        """
        A file of tunnels has the flags' names as keys, for all tunnels or for one:
          server: tunnel.example.com
          tunnels:
            - name: web
              upstream: 3000
              host-header: rewrite
            - name: api
              upstream: http://127.0.0.1:8080/base
            - name: db
              protocol: tcp
              upstream: 5432
              remote-port: 20005

        """;

    /// <summary>The command of these words; null: there is none.</summary>
    public static CommandSpec? Find(string name) => All.FirstOrDefault(command => command.Name == name);

    /// <summary>The commands that begin with a word and have a second one.</summary>
    public static IEnumerable<CommandSpec> InGroup(string word) =>
        All.Where(command => command.Group == word && command.Word is not null);

    /// <summary>Whether a command understands a flag and refuses it, because it belongs to others.</summary>
    public static bool IsRefused(CommandSpec command, string flag) => command.RunsTunnels && command.Name switch
    {
        "start" => _ofOneTunnel.Contains(flag),
        "tcp" or "udp" => flag is "--config" or DomainOptionsParser.Flag || _ofHttp.Contains(flag)
            || (flag is "--proxy-protocol" && command.Name == "udp"),
        "tls" => flag is "--config" or "--remote-port" || _ofHttp.Contains(flag),
        "file" => flag is "--config" or "--remote-port" or "--proxy-protocol" or "--host-header" or "--backend-protocol",
        _ => flag is "--config" or "--remote-port" or "--proxy-protocol",
    };
}
