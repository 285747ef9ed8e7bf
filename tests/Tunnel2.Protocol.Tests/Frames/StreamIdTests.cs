using FsCheck.Fluent;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Protocol.Tests.Frames;

public sealed class StreamIdTests
{
    [Fact]
    public void Slot_and_generation_survive_a_round_trip() => Property.Holds(
        Gen.Choose(0, 65_535).SelectMany(slot => Gen.Choose(0, 65_535).Select(generation => (slot, generation))),
        parts =>
        {
            var id = new StreamId(parts.slot, (ushort)parts.generation);
            Assert.Equal(parts.slot, id.Slot);
            Assert.Equal(parts.generation, id.Generation);
            Assert.Equal(id, new StreamId(id.Value));
        });

    [Fact]
    public void Only_zero_is_the_uplink()
    {
        Assert.True(StreamId.Uplink.IsUplink);
        Assert.True(default(StreamId).IsUplink);
        Assert.False(new StreamId(0, 1).IsUplink);
        Assert.False(new StreamId(1, 0).IsUplink);
        Assert.Equal("uplink", StreamId.Uplink.ToString());
        Assert.Equal("65535/1", new StreamId(65_535, 1).ToString());
    }

    [Fact]
    public void The_circle_of_generations_has_65535_members_and_never_0()
    {
        var seen = new HashSet<ushort>();
        ushort generation = 0;
        for (var i = 0; i < 65_535; i++)
        {
            generation = StreamId.NextGeneration(generation);
            Assert.True(seen.Add(generation));
        }

        Assert.DoesNotContain((ushort)0, seen);
        Assert.Equal(1, StreamId.NextGeneration(generation));
    }

    [Fact]
    public void The_generation_behind_is_earlier_and_the_one_ahead_is_not_all_around_the_circle()
    {
        ushort current = 1;
        for (var i = 0; i < 65_535; i++)
        {
            var next = StreamId.NextGeneration(current);
            Assert.True(StreamId.IsEarlierGeneration(current, next));
            Assert.False(StreamId.IsEarlierGeneration(next, current));
            Assert.False(StreamId.IsEarlierGeneration(current, current));
            current = next;
        }
    }

    [Theory]
    [InlineData(1, 32_768, true)]
    [InlineData(1, 32_769, false)]
    [InlineData(65_535, 1, true)]
    [InlineData(65_535, 32_766, true)]
    [InlineData(65_535, 32_767, false)]
    [InlineData(40_000, 10_000, false)]
    public void Half_of_the_circle_lies_behind(int candidate, int current, bool earlier) =>
        Assert.Equal(earlier, StreamId.IsEarlierGeneration((ushort)candidate, (ushort)current));

    [Fact]
    public void Of_two_generations_at_most_one_is_earlier() => Property.Holds(
        Gen.Choose(1, 65_535).SelectMany(a => Gen.Choose(1, 65_535).Select(b => ((ushort)a, (ushort)b))),
        pair => Assert.False(StreamId.IsEarlierGeneration(pair.Item1, pair.Item2) && StreamId.IsEarlierGeneration(pair.Item2, pair.Item1)),
        count: 2_000);
}
