using Tunnel2.Client.Administration;
using Tunnel2.Protocol;

namespace Tunnel2.Client.CommandLine;

/// <summary>The commands of <c>tunnel2 token</c>, for the table of all.</summary>
internal static class TokenCommandTable
{
    private const string Text =
        """
        They ask the server itself, at its admin listener, with its admin token (Admin:Token); on the server's machine it may have none.
        TUNNEL2_ADMIN_TOKEN has the token, or a file. 'tunnel2 login' stores an agent's token, which is not enough. To another machine the
        admin token leaves unencrypted only with TUNNEL2_ALLOW_PLAINTEXT=1.

        """;

    private static readonly CommandOption[] _server =
    [
        new(AdminTarget.AddressFlag, "URL", "the server's admin listener; https:// where it is behind TLS")
        {
            Default = $"{AdminTarget.AddressVariable}, then {AdminTarget.DefaultAddress}",
        },
        new(AdminTarget.TokenFileFlag, "FILE", "a file whose only line is the server's admin token")
        {
            Default = AdminTarget.TokenVariable,
        },
    ];

    /// <summary>Makes them.</summary>
    /// <param name="json">The option for output that programs read.</param>
    public static IEnumerable<CommandSpec> Of(CommandOption json) =>
    [
        new("token create", "--name NAME", "makes a token for an agent, which the server keeps; for the operator of the server")
        {
            MostArguments = 0,
            ExitCodes = [1, 3, 4],
            Text = Text,
            Options =
            [
                new("--name", "NAME", "what the token is called"),
                new("--agent", "ID", "the agent that owns the names") { Default = "the token's name" },
                new("--names", "NAME,...", "names that the agent may claim, * for any characters") { Default = "the token's name" },
                new("--tier", "TIER", "what it may get: free, pro, enterprise, or a tier of the server's settings")
                {
                    Default = "unlimited",
                },
                new("--keep", "", "changes nothing: as for tunnel2-entry, where it says that the server keeps the token"),
                new("--expires", "WHEN", $"when it ends: {MomentText.Forms}") { Default = "never" },
                .. _server,
                json,
            ],
            Examples =
            [
                "tunnel2 token create --name ci --names 'ci-*' --expires 30d",
                "TUNNEL2_ADMIN_TOKEN=… tunnel2 token create --name web --admin https://admin.example.com --json",
            ],
        },
        new("token list", "", "the tokens that a server keeps; for the operator of the server")
        {
            MostArguments = 0,
            ExitCodes = [1, 3, 4],
            Text = Text,
            Options = [.. _server, json],
            Examples = ["tunnel2 token list", "tunnel2 token list --admin-token-file /etc/tunnel2/admin-token --json"],
        },
        new("token revoke", "NAME", "revokes a token that a server keeps, and ends its sessions; for the operator of the server")
        {
            ExitCodes = [1, 3, 4],
            Text = Text,
            Options = [.. _server, json],
            Examples = ["tunnel2 token revoke ci", "tunnel2 token revoke ci --admin http://127.0.0.1:12002 --json"],
        },
    ];
}
