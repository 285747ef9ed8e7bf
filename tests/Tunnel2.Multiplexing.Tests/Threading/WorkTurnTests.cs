using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Multiplexing.Tests.Threading;

public sealed class WorkTurnTests
{
    [Theory]
    [InlineData(0, WorkTurn.Steps)]
    [InlineData(WorkTurn.BytesPerStep, WorkTurn.Steps / 2)]
    [InlineData(64 * 1024, 2)]
    [InlineData(10L * 1024 * 1024 * 1024, 1)]
    public void A_turn_is_over_behind_its_steps_and_bytes(long bytes, int steps)
    {
        var turn = default(WorkTurn);
        for (var i = 0; i < steps; i++)
        {
            Assert.False(turn.IsOver);
            turn.Add(bytes);
        }

        Assert.True(turn.IsOver);
        turn.Add(bytes);
        Assert.True(turn.IsOver);
        turn.Begin();
        Assert.False(turn.IsOver);
    }

    [Fact]
    public void Each_round_is_a_turn_of_its_own()
    {
        var turn = default(WorkTurn);
        for (var round = 1L; round < 5; round++)
        {
            Assert.False(turn.IsOverIn(round));
            for (var i = 0; i < WorkTurn.Steps; i++)
            {
                Assert.False(turn.IsOverIn(round));
                turn.AddIn(round, 0, WorkTurn.BytesPerStep);
            }

            Assert.True(turn.IsOverIn(round));
        }
    }

    [Theory]
    [InlineData(0, 0, 256)]
    [InlineData(1, 3, 256)]
    [InlineData(1, 15, 256)]
    [InlineData(2, 0, 128)]
    [InlineData(4, 12, 128)]
    [InlineData(1, 31, 64)]
    [InlineData(0, 64, 32)]
    [InlineData(8, 120, 16)]
    [InlineData(1000, 128, 16)]
    public void The_more_have_something_to_do_in_a_round_the_less_each_moves(int waiting, int events, int kibibytes)
    {
        var turn = default(WorkTurn);
        var moved = 0;
        for (var piece = kibibytes * 1024 / 4; !turn.IsOverIn(1); moved += piece)
        {
            turn.AddIn(1, piece, WorkTurn.BytesPerStepBeside(waiting, events));
        }

        Assert.Equal(kibibytes * 1024, moved);
    }
}
