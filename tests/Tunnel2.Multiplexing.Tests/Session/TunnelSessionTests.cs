using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Multiplexing.Tests.Session;

public class TunnelSessionTests
{
    [Fact]
    public Task New_streams_go_to_the_uplink_with_the_fewest_bytes_outstanding() => TestEngine.RunAsync(EngineKind.Pool, async engine =>
    {
        var session = new TunnelSession();
        var peers = Enumerable.Range(0, 3).Select(_ => new RawPeer(engine, UplinkRole.Entry)).ToArray();
        Assert.Null(session.TryOpenStream());
        Assert.All(peers, peer => Assert.True(session.TryAdd(peer.Uplink)));
        var used = new HashSet<UplinkConnection>();
        for (var i = 0; i < 3; i++)
        {
            var stream = session.TryOpenStream();
            Assert.NotNull(stream);
            stream.SendRequest("/", new byte[1000 * (i + 1)], end: false, out _);
            used.Add(stream.Uplink);
        }

        Assert.Equal(3, used.Count);
        Assert.Equal(3, session.OpenStreams);
        var fourth = session.TryOpenStream();
        Assert.Equal(1000, fourth!.Uplink.Writer.OutstandingBytes);
        session.End(SessionEndReason.Superseded, "elsewhere");
        Assert.Null(session.TryOpenStream());
        Assert.False(session.TryAdd(peers[0].Uplink));
        foreach (var peer in peers)
        {
            Assert.False(session.Completion.IsCompleted);
            foreach (var stream in peer.Uplink.Streams.Snapshot())
            {
                stream.Release();
            }

            session.Remove(peer.Uplink, await peer.CloseAsync());
        }

        var end = await session.Completion.WaitAsync(TimeSpan.FromSeconds(10));
        Assert.Equal(new UplinkEnd(SessionEndReason.Superseded, Text: "elsewhere"), end);
    });

    [Fact]
    public Task It_lives_on_while_one_uplink_does_and_ends_with_the_last_ones_reason() => TestEngine.RunAsync(EngineKind.Pool, async engine =>
    {
        var session = new TunnelSession();
        var first = new RawPeer(engine, UplinkRole.Entry);
        var second = new RawPeer(engine, UplinkRole.Entry);
        session.TryAdd(first.Uplink);
        session.TryAdd(second.Uplink);
        session.Remove(first.Uplink, await first.CloseAsync());
        Assert.False(session.Completion.IsCompleted);
        Assert.Same(second.Uplink, Assert.Single(session.Uplinks));
        second.Transport.Abort();
        session.Remove(second.Uplink, await second.Run);
        Assert.Equal(SessionEndReason.TransportFailed, (await session.Completion.WaitAsync(TimeSpan.FromSeconds(10))).Reason);
    });

    [Fact]
    public async Task A_session_without_uplinks_ends_at_once()
    {
        var session = new TunnelSession();
        session.End(SessionEndReason.Shutdown, "bye");
        Assert.Equal("bye", (await session.Completion).Text);
    }
}
