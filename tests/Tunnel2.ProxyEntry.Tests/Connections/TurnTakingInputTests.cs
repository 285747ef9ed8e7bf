using System.IO.Pipelines;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Connections;

namespace Tunnel2.ProxyEntry.Tests.Connections;

public sealed class TurnTakingInputTests
{
    private readonly Pipe _pipe = new(new PipeOptions(pauseWriterThreshold: 0));
    private readonly ManualTurns _turns = new();
    private readonly TurnTakingInput _input;

    public TurnTakingInputTests() => _input = new TurnTakingInput(_pipe.Reader, _turns);

    [Fact]
    public async Task A_reader_of_many_small_things_continues_in_turns()
    {
        const int Things = 1_000;
        await _pipe.Writer.WriteAsync(new byte[Things]);
        var taking = TakeAsync(Things, 1);
        for (var turns = 1; !taking.IsCompleted; turns++)
        {
            Assert.Equal(turns * WorkTurn.Steps, Things - Left);
            Assert.True(_turns.RunOne());
        }

        await taking;
        Assert.Equal((Things - 1) / WorkTurn.Steps, _turns.Count);
    }

    [Fact]
    public async Task Large_things_count_for_more()
    {
        const int Length = 1024 * 1024;
        await _pipe.Writer.WriteAsync(new byte[Length]);
        var taking = TakeAsync(Length, 64 * 1024);
        while (!taking.IsCompleted)
        {
            Assert.True(_turns.RunOne());
        }

        await taking;
        Assert.InRange(_turns.Count, 5, 8);
    }

    [Fact]
    public async Task A_connection_that_has_waited_has_a_new_turn()
    {
        for (var i = 0; i < 10 * WorkTurn.Steps; i++)
        {
            var reading = _input.ReadAsync();
            Assert.False(reading.IsCompleted);
            await _pipe.Writer.WriteAsync(new byte[1]);
            var read = await reading;
            _input.AdvanceTo(read.Buffer.End);
        }

        Assert.Equal(0, _turns.Count);
    }

    [Fact]
    public async Task A_wait_for_a_turn_can_be_cancelled()
    {
        await _pipe.Writer.WriteAsync(new byte[100]);
        await TakeAsync(WorkTurn.Steps, 1);
        var waiting = _input.ReadAsync();
        Assert.False(waiting.IsCompleted);
        _input.CancelPendingRead();
        Assert.True(_turns.RunOne());
        var read = await waiting;
        Assert.True(read.IsCanceled);
        Assert.Equal(100 - WorkTurn.Steps, read.Buffer.Length);
        _input.AdvanceTo(read.Buffer.Start);
        Assert.True(_input.TryRead(out read));
        _input.AdvanceTo(read.Buffer.End);
    }

    private long Left { get; set; }

    private async Task TakeAsync(int length, int size)
    {
        for (Left = length; Left > 0; Left -= size)
        {
            var read = await _input.ReadAsync();
            _input.AdvanceTo(read.Buffer.GetPosition(size));
        }
    }

    /// <summary>Gives turns when the test says so.</summary>
    private sealed class ManualTurns : PipeScheduler
    {
        private readonly Queue<(Action<object?> Action, object? State)> _queue = new();

        public int Count { get; private set; }

        public override void Schedule(Action<object?> action, object? state)
        {
            Count++;
            _queue.Enqueue((action, state));
        }

        public bool RunOne()
        {
            if (!_queue.TryDequeue(out var work))
            {
                return false;
            }

            work.Action(work.State);
            return true;
        }
    }
}
