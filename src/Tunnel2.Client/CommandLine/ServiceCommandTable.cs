namespace Tunnel2.Client.CommandLine;

/// <summary>The commands that begin with <c>service</c>: a part of <see cref="CommandTable"/>.</summary>
internal static class ServiceCommandTable
{
    private static readonly CommandOption _service = new("--name", "NAME", "which service, where this machine has several agents")
    {
        Default = "the one without a name",
    };

    private static readonly CommandOption _ofUser = new("--user", "", "the service of this user alone, not of the machine");

    /// <summary>Makes the rows, with two options that other commands have too.</summary>
    public static IEnumerable<CommandSpec> Of(CommandOption tunnelFile, CommandOption json) =>
    [
        new("service install", "", "runs the tunnels of a file as a service, which starts with the machine and again after a fault")
        {
            MostArguments = 0,
            Text =
                """
                systemd, launchd or Windows runs 'tunnel2 start' with the file. The file is checked first, and read again when it changes.
                Server, trust and token come from the file, else from the environment or the login of this moment; the token is kept in a
                file that only root can read, never in the service's text. Installing again replaces the service of that name.

                """,
            Options =
            [
                tunnelFile,
                _service,
                _ofUser,
                new("--run-as", "USER", "the user that a service of the machine runs as")
                {
                    Default = "one of its own that systemd or Windows makes",
                },
                new("--token-file", "FILE", "a file whose only line is the token; the service gets a copy") { Default = "TUNNEL2_TOKEN" },
                new("--dry-run", "", "print the service's text and change nothing"),
                json,
            ],
            Examples =
            [
                "sudo tunnel2 service install --config /etc/tunnel2/tunnels.yml", "tunnel2 service install --user --name web --dry-run",
            ],
        },
        new("service uninstall", "", "stops and removes a service that 'service install' has made")
        {
            MostArguments = 0,
            Options = [_service, _ofUser, json],
            Examples = ["sudo tunnel2 service uninstall", "tunnel2 service uninstall --user --name web"],
        },
        new("service status", "", "what a service does: its manager's word, and its tunnels")
        {
            MostArguments = 0,
            ExitCodes = [1, 5],
            Options = [_service, _ofUser, json],
            Examples = ["sudo tunnel2 service status", "tunnel2 service status --user --name web --json"],
        },
        new("service logs", "", "prints the last lines of a service's log")
        {
            MostArguments = 0,
            Options =
            [
                _service, _ofUser,
                new("--lines", "N", "how many, 1 to 100000") { Default = "100" },
                new("--follow", "", "and what is added, until Ctrl+C"),
                new("--json", "", "one JSON object per line instead of text"),
            ],
            Examples = ["sudo tunnel2 service logs", "tunnel2 service logs --user --name web --lines 20 --follow"],
        },
    ];
}
