using System.Net;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Session;
using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Client.Tests.Reconnect;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Tests.Session;

public sealed class TunnelAgentTests
{
    private static readonly WelcomeMessage _welcome = new()
    {
        SessionId = new byte[WelcomeMessage.SessionIdLength],
        JoinSecret = new byte[WelcomeMessage.JoinSecretLength],
        Epoch = 1,
        Name = "web",
        PublicUrls = ["http://web.localhost:12000"],
    };

    [Fact]
    public async Task It_ends_only_after_the_uplinks_of_a_server_that_left()
    {
        using IEngine engine = new PortableEngine();
        var mayGoOn = new WaitSignal("the service may continue its answer");
        var mayEnd = new WaitSignal("the service may end its answer");
        await using var service = RawTcpServer.Start(async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n1");
            await mayGoOn.WaitAsync();
            await connection.WriteAsync("2");
            await mayEnd.WaitAsync();
            await connection.WriteAsync("3");
            await connection.WaitForEndAsync();
        });
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen();
        var options = SessionFixture.Options with
        {
            Server = new ServerEndpoint("127.0.0.1", ((IPEndPoint)listener.LocalEndPoint!).Port),
            Upstream = new BackendTarget(false, "127.0.0.1", service.Port),
        };
        using var stop = new CancellationTokenSource();
        var events = new RecordingEvents();
        var running = new TunnelAgent(engine, TimeProvider.System).RunAsync(options, events, stop.Token);
        await using var transport = engine.CreateUplinkTransport(await listener.AcceptAsync(TestContext.Current.CancellationToken));
        Assert.Equal(FrameType.Hello, (await MemoryServer.ReadFirstAsync(transport)).Type);
        await transport.SendAsync(_welcome.ToFrame());
        var uplink = new UplinkConnection(transport, engine.Apply(new UplinkSettings { Role = UplinkRole.Entry }));
        var serving = uplink.RunAsync();
        var stream = uplink.TryOpenStream()!;
        stream.SendRequest("/");
        Assert.Equal("200 OK|Content-Length: 3", await Answer.ReadHeadAsync(stream));

        // The server leaves, no other comes, and the agent is asked to stop.
        listener.Dispose();
        uplink.SendGoAwayNotice(SessionEndReason.Shutdown, "");
        await WaitSignal.UntilAsync(() => events.Names.Contains("reconnecting"), "the agent wants another session");
        await stop.CancelAsync();
        await WaitSignal.UntilAsync(() => events.Names.Contains("stopped"), "the agent tries no more");
        mayGoOn.Set();
        Assert.Equal("12", await Answer.ReadBodyAsync(stream, 2));
        Assert.False(running.IsCompleted);
        mayEnd.Set();
        var answer = await Answer.ReadAsync(stream);
        Assert.Equal(("3", true), (answer.Body, answer.IsWhole));
        uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        await serving;
        Assert.Equal(0, await running);
    }
}
