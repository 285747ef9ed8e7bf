using Tunnel2.Multiplexing.Streams;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.Streams;

public sealed class HeldAgeTests
{
    private readonly ManualTimeProvider _time = new();
    private HeldAge _age;

    [Fact]
    public void What_is_not_consumed_grows_old_from_the_look_that_saw_it()
    {
        Assert.Equal(0, Look(10, 0));
        Assert.Equal(1, Look(10, 0));
        Assert.Equal(2, Look(500, 9));
        Assert.Equal(3, Look(1, 9));
    }

    [Fact]
    public void What_was_marked_and_is_consumed_makes_room_for_a_new_mark()
    {
        Look(10, 0);
        Assert.Equal(0, Look(5, 10));
        Assert.Equal(1, Look(5, 14));
        Assert.Equal(0, Look(3, 15));
    }

    [Fact]
    public void Nothing_held_is_nothing_old()
    {
        Look(10, 0);
        Assert.Equal(0, Look(0, 10));
        Assert.Equal(0, Look(10, 10));
        Assert.Equal(1, Look(10, 10));
    }

    private int Look(int held, long consumed)
    {
        var age = _age.Look(held, consumed, _time, _time.GetTimestamp());
        _time.Advance(TimeSpan.FromSeconds(1));
        return (int)age.TotalSeconds;
    }
}
