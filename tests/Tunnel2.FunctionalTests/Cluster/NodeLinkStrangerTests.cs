using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Tls;

namespace Tunnel2.FunctionalTests.Cluster;

/// <summary>Those who have no business at the listener for nodes.</summary>
[Trait("Engine", "each")]
public sealed class NodeLinkStrangerTests
{
    private const int LinkRefused = 2186;

    [Fact]
    public Task Strangers_get_no_line_each_in_the_log() => ClusterFixture.RunAsync(
        static _ => Task.CompletedTask,
        static async cluster =>
        {
            for (var i = 0; i < 100; i++)
            {
                await using var stranger = await RawHttpClient.ConnectAsync(cluster.Owner.Part<NodeLinkListener>().EndPoint);
                await stranger.SendRequestAsync("/", ClusterFixture.Host);
                await stranger.WaitForEndAsync();
            }

            // On a slow machine the hundred may take more than one window.
            Assert.InRange(cluster.Owner.Log.All.Count(static line => line.EventId == LinkRefused), 5, 20);
        });

    [Fact]
    public Task A_handshake_of_a_stranger_waits_for_the_turn_of_its_address() => ClusterFixture.RunAsync(
        static _ => Task.CompletedTask,
        static async cluster =>
        {
            var turns = cluster.Owner.Part<HandshakeTurns>();
            using var gate = new ManualResetEventSlim();
            var holders = Enumerable.Range(0, Environment.ProcessorCount).Select(_ => HoldAsync()).ToArray();
            await WaitSignal.UntilAsync(() => turns.Waiting == 0, "all turns are taken");
            using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
            await socket.ConnectAsync(cluster.Owner.Part<NodeLinkListener>().EndPoint);
            await using var stranger = new SslStream(new NetworkStream(socket));
            var shaking = stranger.AuthenticateAsClientAsync(new SslClientAuthenticationOptions
            {
                TargetHost = "node.localhost",
                ApplicationProtocols = [TlsHandshake.NodeProtocol],
            });
            await WaitSignal.UntilAsync(() => turns.Waiting == 1, "the handshake waits for its turn");
            Assert.False(shaking.IsCompleted);
            gate.Set();
            await Assert.ThrowsAnyAsync<Exception>(() => shaking);
            await Task.WhenAll(holders);

            async Task HoldAsync()
            {
                await turns.Next(IPAddress.Parse("127.0.2.1"));
                gate.Wait();
            }
        });

    [Fact]
    public Task A_stranger_that_says_nothing_keeps_no_node_out() => ClusterFixture.RunAsync(
        ClusterFixture.ServeOkAsync,
        static async cluster =>
        {
            var strangers = new List<Socket>();
            try
            {
                for (var i = 0; i < 1024; i++)
                {
                    await ConnectAsync();
                }

                // One more than one address may have: it is closed at once, perhaps before its connecting is seen to have ended.
                await Assert.ThrowsAsync<SocketException>(async () => await (await ConnectAsync()).ReceiveAsync(new byte[1]));
                Assert.Equal(200, (await cluster.ExchangeAsync()).Head.StatusCode);
            }
            finally
            {
                strangers.ForEach(static stranger => stranger.Dispose());
            }

            async Task<Socket> ConnectAsync()
            {
                var stranger = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
                strangers.Add(stranger);
                stranger.Bind(new IPEndPoint(IPAddress.Parse("127.0.0.9"), 0));
                await stranger.ConnectAsync(cluster.Owner.Part<NodeLinkListener>().EndPoint);
                return stranger;
            }
        });
}
