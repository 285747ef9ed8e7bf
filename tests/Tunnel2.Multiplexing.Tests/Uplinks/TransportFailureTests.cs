using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Multiplexing.Tests.Uplinks;

/// <summary>Kills the loops at every point.</summary>
public class TransportFailureTests
{
    [Theory]
    [InlineData(EngineKind.Inline, true, true)]
    [InlineData(EngineKind.Inline, true, false)]
    [InlineData(EngineKind.Inline, false, true)]
    [InlineData(EngineKind.Inline, false, false)]
    [InlineData(EngineKind.Pool, true, true)]
    [InlineData(EngineKind.Pool, true, false)]
    [InlineData(EngineKind.Pool, false, true)]
    [InlineData(EngineKind.Pool, false, false)]
    public async Task When_any_send_or_receive_fails_every_caller_learns_it_and_every_buffer_comes_back(
        EngineKind kind, bool atEntry, bool atSend)
    {
        for (var k = 1; k <= 50; k++)
        {
            var at = k;
            await TestEngine.RunAsync(kind, engine => FailAsync(engine, atEntry, atSend, at));
        }
    }

    private static async Task FailAsync(TestEngine engine, bool atEntry, bool atSend, int k)
    {
        var options = new PairOptions { Capacity = 6000, StreamWindow = 20_000, UplinkWindow = 60_000 };
        var pair = new UplinkPair(engine, Exchange.EchoAsync, options);
        var failing = atEntry ? pair.EntryTransport : pair.AgentTransport;
        failing.ThrowsAtOnce = k % 2 == 0;
        failing.FailSendAt = atSend ? k : 0;
        failing.FailReceiveAt = atSend ? 0 : k;
        pair.Run();
        await Task.WhenAll(Enumerable.Range(0, 6).Select(worker => engine.Start(() => CallAsync(engine, pair, worker))));
        var (entry, agent) = await pair.EndedAsync();
        var (first, second) = atEntry ? (entry, agent) : (agent, entry);
        Assert.Equal(SessionEndReason.TransportFailed, first.Reason);
        Assert.Equal(atSend ? "The send was made to fail." : "The receive was made to fail.", first.Text);
        Assert.Equal(SessionEndReason.TransportFailed, second.Reason);
        Assert.Null(pair.Entry.TryOpenStream());
        Assert.False(pair.Entry.IsOpenForStreams);
        Assert.False(pair.Entry.TryEnd(new UplinkEnd(SessionEndReason.Shutdown)), "The first cause wins.");
        Assert.Equal(entry, pair.Entry.End);
    }

    /// <summary>Exchanges one after another until the uplink is lost; each one either goes well or says so.</summary>
    private static async Task CallAsync(TestEngine engine, UplinkPair pair, int worker)
    {
        for (var i = 0; pair.Entry.TryOpenStream() is { } stream; i++)
        {
            var number = (worker * 1000) + i;
            var length = i % 3 == 0 ? 50 : 30_000;
            var sending = engine.Start(async () => CheckStatus(stream, await stream.SendAllAsync($"/{number}", 0, number, length, 7000)));
            var head = await stream.ReadHeadAsync();
            var body = await stream.ReadBodyAsync(head == "200" ? number : null, keep: false);
            await sending;
            if (body.InOrder)
            {
                Assert.Equal("200", head);
                Assert.Equal(length, body.Length);
            }
            else
            {
                Assert.Equal(
                    new StreamFailure(StreamFailureKind.UplinkLost, UplinkReason: SessionEndReason.TransportFailed), stream.Failure);
                Assert.Equal(StreamSendStatus.UplinkLost, await stream.WriteAsync(new byte[10], end: true));
                Assert.Equal(StreamSendStatus.UplinkLost, stream.SendTrailers("late"));
                Assert.True(await stream.WaitToReadAsync());
            }

            stream.Release();
        }
    }

    private static void CheckStatus(TunnelStream stream, StreamSendStatus status)
    {
        if (status != StreamSendStatus.Sent)
        {
            Assert.Equal(StreamSendStatus.UplinkLost, status);
            Assert.Equal(StreamFailureKind.UplinkLost, stream.Failure.Kind);
        }
    }
}
