using Tunnel2.Multiplexing.Streams;

namespace Tunnel2.Multiplexing.Tests.Streams;

public sealed class UnreadHeadsTests
{
    private UnreadHeads _heads;

    [Fact]
    public void The_first_waits_for_no_other_and_the_others_are_counted()
    {
        Assert.Equal((HeadRoom.Kept, 0), Add(1000));
        Assert.Equal((HeadRoom.Kept, 300), Add(300));
        Assert.Equal((HeadRoom.Kept, 20), Add(20));
        Assert.Equal(320, _heads.Bytes);

        // What is counted comes back to the byte, however the lengths lie.
        Assert.Equal((320, 0), (Remove(1000), _heads.Bytes));
        Assert.Equal(0, Remove(300));
        Assert.Equal(0, Remove(20));
        Assert.Equal((HeadRoom.Kept, 0), Add(7));
    }

    [Fact]
    public void What_waits_goes_with_the_stream()
    {
        Add(1);
        Add(200);
        Assert.Equal((200, 0), (_heads.TakeWaiting(), _heads.Bytes));
        Assert.Equal(0, _heads.TakeWaiting());
    }

    [Fact]
    public void Interim_responses_beyond_their_number_break_the_protocol_even_where_each_is_read()
    {
        for (var i = 0; i < UnreadHeads.MaxInterim; i++)
        {
            Assert.Equal((HeadRoom.Kept, 0), Add(10, isInterim: true));
            Remove(10);
        }

        Assert.Equal((HeadRoom.TooMany, 0), Add(10, isInterim: true));
        Assert.Equal((HeadRoom.Kept, 0), Add(10));
    }

    [Fact]
    public void No_more_wait_than_may()
    {
        for (var i = 0; i < UnreadHeads.MaxUnread; i++)
        {
            Assert.Equal(HeadRoom.Kept, Add(1).Room);
        }

        Assert.Equal((HeadRoom.TooMany, 0), Add(1));
    }

    [Fact]
    public void Interim_responses_for_which_there_is_no_room_are_dropped_and_a_final_one_is_not()
    {
        Add(1, isInterim: true);
        Assert.Equal((HeadRoom.Kept, UnreadHeads.MaxInterimBytes), Add(UnreadHeads.MaxInterimBytes, isInterim: true));
        Assert.Equal((HeadRoom.Dropped, 0), Add(1, isInterim: true));
        Assert.Equal(UnreadHeads.MaxInterimBytes, _heads.Bytes);
        Assert.Equal((HeadRoom.Kept, 50), Add(50));
    }

    private (HeadRoom Room, int Waits) Add(int length, bool isInterim = false) => (_heads.Add(length, isInterim, out var waits), waits);

    private int Remove(int length)
    {
        _heads.Remove(length, out var waited);
        return waited;
    }
}
