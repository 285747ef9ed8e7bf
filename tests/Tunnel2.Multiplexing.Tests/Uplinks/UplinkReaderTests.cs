using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;

namespace Tunnel2.Multiplexing.Tests.Uplinks;

public sealed class UplinkReaderTests
{
    [Fact]
    public Task The_buffer_grows_with_what_comes_at_once_and_shrinks_after_many_small_receives() => TestEngine.RunAsync(
        EngineKind.Inline,
        async engine =>
        {
            const int Small = 16 * 1024;
            var peer = new RawPeer(engine, UplinkRole.Entry);
            var stream = peer.Uplink.TryOpenStream()!;
            stream.SendRequest("/");
            await peer.SyncAsync();
            Assert.Equal(Small, peer.UplinkTransport.ReceiveRoom);

            var body = Enumerable.Range(0, 10).Select(_ => Frame.Data(stream.Id, new byte[16_000]));
            await peer.SendAsync([Frame.Response(stream.Id, 200, end: false), .. body]);
            await peer.SyncAsync();
            var large = peer.UplinkTransport.ReceiveRoom;
            Assert.InRange(large, 4 * Small, 64 * Small);
            for (var i = 0; i < 60; i++)
            {
                await peer.SyncAsync();
                Assert.Equal(large, peer.UplinkTransport.ReceiveRoom);
            }

            for (var i = 0; i < 10; i++)
            {
                await peer.SyncAsync();
            }

            Assert.Equal(Small, peer.UplinkTransport.ReceiveRoom);
            stream.Release();
            await peer.CloseAsync();
        });
}
