using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Tests.Streams;

public sealed class TunnelStreamTests
{
    [Fact]
    public void Credit_for_another_stream_of_the_same_object_or_after_the_end_is_dropped()
    {
        var stream = IdleStreams.New();
        var id = new StreamId(0, 1);
        stream.Open(id);
        Assert.Equal(ProtocolError.None, stream.OnWindow(new StreamId(0, 2), int.MaxValue));
        Assert.Equal(ProtocolError.CreditOverflow, stream.OnWindow(id, int.MaxValue));
        stream.OnUplinkLost(SessionEndReason.TransportFailed);
        Assert.Equal(ProtocolError.None, stream.OnWindow(id, int.MaxValue));
    }

    [Fact]
    public async Task A_stream_that_is_taken_back_before_it_was_sent_is_reported_to_its_owner()
    {
        var stream = IdleStreams.New();
        var id = new StreamId(0, 1);
        stream.Open(id);
        StreamId? reported = null;
        stream.NotifyReset((_, which) => reported = which, null);
        var reading = stream.ReadHeadAsync();
        stream.Withdraw(SessionEndReason.WriteStalled);
        Assert.Equal(id, reported);
        Assert.Equal("UplinkLost", await reading);
    }
}
