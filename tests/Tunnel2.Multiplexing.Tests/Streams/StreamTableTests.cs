using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Multiplexing.Tests.Streams;

public sealed class StreamTableTests
{
    private readonly StreamTable _table = new(maxStreams: 20);

    [Fact]
    public void A_slot_that_is_free_again_gets_its_next_generation()
    {
        var (first, second) = (Open(), Open());
        Assert.Equal((0, 1), (first.Id.Slot, second.Id.Slot));
        var before = first.Id;
        _table.Free(before);
        Assert.Equal((1, 2L), (_table.Count, _table.Opened));
        var third = Open();
        Assert.Equal(new StreamId(0, StreamId.NextGeneration(before.Generation)), third.Id);
        Assert.Equal([third, second], _table.Snapshot());
    }

    [Fact]
    public void No_more_are_open_than_may_be()
    {
        var all = Enumerable.Range(0, 20).Select(_ => Open()).ToList();
        Assert.Equal(Enumerable.Range(0, 20), all.Select(static stream => stream.Id.Slot));
        Assert.False(_table.TryOpen(IdleStreams.New()));
        _table.Free(all[7].Id);
        Assert.Equal(7, Open().Id.Slot);
        Assert.Equal((20, 21L), (_table.Count, _table.Opened));
    }

    [Fact]
    public void A_frame_is_for_an_open_stream_or_for_none()
    {
        var stream = Open();
        var id = stream.Id;
        var next = new StreamId(0, StreamId.NextGeneration(id.Generation));
        Assert.Equal((StreamLookup.Open, stream), Find(id));
        Assert.Equal((StreamLookup.NotFree, null), Find(next));
        Assert.Equal((StreamLookup.NeverOpened, null), Find(new StreamId(0, StreamId.NextGeneration(next.Generation))));
        Assert.Equal((StreamLookup.Next, null), Find(new StreamId(1, StreamId.NextGeneration(0))));
        Assert.Equal((StreamLookup.Next, null), Find(new StreamId(19, StreamId.NextGeneration(0))));
        Assert.Equal((StreamLookup.OutOfRange, null), Find(new StreamId(20, StreamId.NextGeneration(0))));
        Assert.Equal((StreamLookup.NeverOpened, null), Find(new StreamId(1, 5)));
        _table.Free(id);
        Assert.Equal((StreamLookup.Over, null), Find(id));
        Assert.Equal((StreamLookup.Next, null), Find(next));
        Open();
        Assert.Equal((StreamLookup.Over, null), Find(id));
    }

    [Fact]
    public void Who_frees_too_late_frees_no_other_s_slot()
    {
        var first = Open().Id;
        _table.Free(first);
        _table.Free(first);
        var second = Open();
        _table.Free(first);
        _table.Abandon(first);
        Assert.Equal((StreamLookup.Open, second), Find(second.Id));
        Assert.Equal(1, _table.Count);
        Assert.Equal(1, Open().Id.Slot);
    }

    [Fact]
    public void A_generation_that_the_peer_never_saw_is_used_by_the_next()
    {
        var id = Open().Id;
        _table.Abandon(id);
        Assert.Equal(0, _table.Count);
        Assert.Equal((StreamLookup.Next, null), Find(id));
        Assert.Equal(id, Open().Id);
    }

    [Fact]
    public void It_closes_only_when_nothing_is_open_and_for_good()
    {
        var stream = Open();
        Assert.False(_table.TryCloseEmpty());
        var other = Open();
        _table.Free(stream.Id);
        Assert.False(_table.TryCloseEmpty());
        _table.Free(other.Id);
        Assert.True(_table.TryCloseEmpty());
        Assert.False(_table.TryOpen(IdleStreams.New()));
        Assert.True(_table.TryCloseEmpty());
    }

    [Fact]
    public void The_agent_gives_the_slots_of_its_setting()
    {
        var stream = IdleStreams.New();
        var id = new StreamId(18, StreamId.NextGeneration(0));
        _table.Accept(id, stream);
        Assert.Equal((StreamLookup.Open, stream), Find(id));
        Assert.Equal(id, stream.Id);
        _table.Free(id);
        Assert.Equal((0, 1L), (_table.Count, _table.Opened));
        Assert.Equal((StreamLookup.Over, null), Find(id));
    }

    private TunnelStream Open()
    {
        var stream = IdleStreams.New();
        Assert.True(_table.TryOpen(stream));
        return stream;
    }

    private (StreamLookup Lookup, TunnelStream? Stream) Find(StreamId id) => (_table.Find(id, out var stream), stream);
}
