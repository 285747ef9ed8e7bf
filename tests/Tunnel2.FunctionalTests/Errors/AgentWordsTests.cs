using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Errors;

/// <summary>What an agent says when it cannot do its work: each of the usual failures, and what to do about it.</summary>
public sealed class AgentWordsTests
{
    [Fact]
    public async Task A_server_that_is_not_there()
    {
        using var port = new RefusedPort();
        await AssertSaysAsync(
            port.Port,
            $"Cannot reach the server at 127.0.0.1:{port.Port}: connection refused. Is tunnel2-entry running there, and is this its "
                + $"uplink port (12001 by default)?");
    }

    [Fact]
    public async Task A_server_whose_name_has_no_address()
    {
        // A label longer than one may be: the resolver says no without a question to a server.
        var host = new string('a', 64) + ".invalid";
        await AssertSaysAsync(
            1, $"the host name '{host}' has no address (DNS)", options => options with { Server = new ServerEndpoint(host, 1) });
    }

    [Fact]
    public async Task The_public_port_in_place_of_the_uplink_port()
    {
        await using var entry = await EntryFixture.StartAsync();
        await AssertSaysAsync(
            entry.Http.Port,
            $"Something else than a Tunnel2 server answers at 127.0.0.1:{entry.Http.Port}. It is the server's public port, which is for "
                + $"visitors: agents "
            + "connect to its uplink port, 12001 by default, as in 127.0.0.1:12001.");
    }

    [Fact]
    public async Task Another_HTTP_server()
    {
        await using var server = StartAnswering(
            "HTTP/1.1 400 Bad Request\r\nServer: nginx/1.22.1\r\nConnection: close\r\n\r\n"u8.ToArray());
        await AssertSaysAsync(
            server.Port,
            $"Something else than a Tunnel2 server answers at 127.0.0.1:{server.Port}: an HTTP server (nginx/1.22.1). Check the port: "
                + $"the uplink port is 12001 "
            + "by default, and an HTTP proxy cannot be in front of it.");
    }

    [Fact]
    public async Task A_proxy_in_between()
    {
        await using var server = StartAnswering(
            "HTTP/1.1 400 Bad Request\r\nVia: 1.1 proxy (squid)\r\nConnection: close\r\n\r\n"u8.ToArray());
        await AssertSaysAsync(server.Port, $"An HTTP proxy answers at 127.0.0.1:{server.Port} in the server's place.");
    }

    [Fact]
    public async Task A_connection_that_is_cut_in_the_handshake()
    {
        await using var server = RawTcpServer.Start(static connection => connection.ReadExactlyAsync(8));
        await AssertSaysAsync(
            server.Port,
            $"The server at 127.0.0.1:{server.Port} closed the connection before it answered. It may be starting or stopping; if it "
                + $"stays so, a proxy or "
            + "firewall on the way cuts what it does not know");
    }

    [Fact]
    public async Task A_server_that_speaks_TLS_to_an_agent_that_does_not()
    {
        await using var server = StartAnswering([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46]);
        await AssertSaysAsync(
            server.Port,
            $"The server at 127.0.0.1:{server.Port} speaks TLS, and this agent did not. Connect with TLS: write the server as "
                + $"tls://127.0.0.1:{server.Port}.");
    }

    [Fact]
    public async Task A_server_of_another_kind()
    {
        await using var server = StartAnswering("SSH-2.0-OpenSSH_9.2\r\n"u8.ToArray());
        await AssertSaysAsync(
            server.Port, $"Something else than a Tunnel2 server answers at 127.0.0.1:{server.Port} (it begins with 'SSH-2.0-').");
    }

    [Fact]
    public async Task A_wrong_token()
    {
        await using var entry = await EntryFixture.StartAsync(
            null, "AllowAnonymousAgents=false", $"Agents:ci:TokenHash={EntryTokens.HashSetting("right")}");
        await AssertSaysAsync(
            entry.Uplink.Port,
            "The server does not accept the token. Check --token or TUNNEL2_TOKEN, or --client-cert, and that the server knows it",
            static options => options with { Token = "wrong" },
            AgentExitCode.Rejected);
    }

    [Fact]
    public async Task A_name_that_is_taken()
    {
        await using var entry = await EntryFixture.StartAsync();
        await using var first = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, 1));
        await AssertSaysAsync(
            entry.Uplink.Port,
            "The name is taken by another agent. Choose another with --name or --domain, or stop that agent",
            exitCode: AgentExitCode.Rejected);
    }

    [Fact]
    public async Task A_version_that_is_too_old()
    {
        await using var server = StartAnswering(
            new RejectMessage(RejectCode.VersionNotSupported, TimeSpan.Zero, "the server speaks versions 7 to 9").ToFrame());
        await AssertSaysAsync(
            server.Port,
            "This tunnel2 and the server have no protocol version in common. Update the older of the two [VersionNotSupported: the "
                + "server speaks versions 7 to 9].",
            exitCode: AgentExitCode.Rejected);
    }

    [Fact]
    public async Task A_backend_that_is_not_there_is_reported_without_failing()
    {
        using var port = new RefusedPort();
        await using var entry = await EntryFixture.StartAsync();
        await using var agent = await AgentFixture.StartReadyAsync(
            AgentFixture.Options(entry.Uplink.Port, port.Port) with { WatchesBackend = true });

        await agent.Events.BackendUnreachableCount.WaitForAsync(1);
        Assert.Equal(
            $"Nothing listens at http://127.0.0.1:{port.Port}: start the service, or check the port. Until then visitors get 502.",
            agent.Events.BackendMessage);
        Assert.False(agent.Completion.IsCompleted);
    }

    private static RawTcpServer StartAnswering(byte[] answer) => RawTcpServer.Start(async connection =>
    {
        await connection.ReadExactlyAsync(8);
        await connection.WriteAsync(answer);
        await connection.ShutdownSendAsync();
        await connection.WaitForEndAsync();
    });

    private static async Task AssertSaysAsync(
        int port, string words, Func<AgentOptions, AgentOptions>? change = null, int exitCode = AgentExitCode.ServerUnreachable)
    {
        var options = AgentFixture.Options(port, 1) with { ExitOnFailure = true };
        await using var agent = AgentFixture.Start(change?.Invoke(options) ?? options);

        Assert.Equal(exitCode, await agent.Completion.WaitAsync(TimeSpan.FromSeconds(20)));
        Assert.Contains(words, Assert.Single(agent.Events.Ends).Message, StringComparison.Ordinal);
    }
}
