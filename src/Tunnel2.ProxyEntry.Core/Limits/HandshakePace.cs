using System.Diagnostics.CodeAnalysis;

namespace Tunnel2.ProxyEntry.Limits;

/// <summary>
/// Spreads the handshakes of agents that come at once. When another node has died, its agents come together, each costs a processor some
/// milliseconds, and visitors of the sessions that are here already would wait for it. A few begin at once, so an agent that comes alone
/// never waits. Of the others one begins after the other, slowly while they are few, and always so that nobody waits for longer than
/// <see cref="Longest"/>. Thread-safe.
/// </summary>
/// <param name="processors">How many processors there are.</param>
/// <param name="timeProvider">The clock.</param>
[SuppressMessage("Design", "CA1001", Justification = "A timer that is not set holds nothing, and it is set only while somebody waits.")]
internal sealed class HandshakePace(int processors, TimeProvider timeProvider)
{
    /// <summary>How long a handshake waits at most.</summary>
    public static readonly TimeSpan Longest = TimeSpan.FromSeconds(2);

    /// <summary>How many begin at once, for each processor.</summary>
    public const int AtOnce = 4;

    /// <summary>How many begin in a second then, for each processor, while they are few: a tenth of its time, or less.</summary>
    public const int EachSecond = 20;

    private readonly Lock _gate = new();
    private readonly Queue<Turn> _waiting = [];
    private readonly TimeSpan _step = TimeSpan.FromSeconds(1) / (EachSecond * processors);
    private readonly long _start = timeProvider.GetTimestamp();
    private ITimer? _timer;

    /// <summary>When all that have begun are paid for, each with a step. It is at most as far ahead as may begin at once.</summary>
    private TimeSpan _paid;

    /// <summary>When the next one of those that wait begins.</summary>
    private TimeSpan _next;

    private TimeSpan Now => timeProvider.GetElapsedTime(_start);

    private TimeSpan Ahead => _step * AtOnce * processors;

    /// <summary>Waits until a handshake may begin.</summary>
    /// <param name="most">How many may wait. One more, and the first of them begins at once.</param>
    /// <param name="stopping">Gives it up.</param>
    /// <returns>False: it was given up.</returns>
    public ValueTask<bool> WaitAsync(int most, CancellationToken stopping)
    {
        Turn turn;
        List<Turn> begun = [];
        lock (_gate)
        {
            var now = Now;
            if (_waiting.Count == 0 && Math.Max(_paid.Ticks, now.Ticks) + _step.Ticks <= (now + Ahead).Ticks)
            {
                PayUnsynchronized(now);
                return ValueTask.FromResult(true);
            }

            turn = new Turn(now);
            turn.Stopping = stopping.UnsafeRegister(static turn => ((Turn)turn!).TrySetResult(false), turn);
            _waiting.Enqueue(turn);
            if (_waiting.Count > most)
            {
                BeginFirstUnsynchronized(now, begun);
            }

            if (_waiting.Count == 1)
            {
                _next = now + StepUnsynchronized(now);
                SetTimerUnsynchronized(now);
            }
        }

        Begin(begun);
        return new ValueTask<bool>(turn.Task);
    }

    private void OnTimer()
    {
        List<Turn> begun = [];
        lock (_gate)
        {
            var now = Now;
            while (_waiting.Count > 0 && _next <= now)
            {
                BeginFirstUnsynchronized(now, begun);
                if (_waiting.Count > 0)
                {
                    _next += StepUnsynchronized(now);
                }
            }

            if (_waiting.Count > 0)
            {
                SetTimerUnsynchronized(now);
            }
        }

        Begin(begun);
    }

    /// <summary>The wait between two of them: so that the last one that waits now begins in time.</summary>
    private TimeSpan StepUnsynchronized(TimeSpan now)
    {
        var left = Longest - (now - _waiting.Peek().Came);
        var step = left / _waiting.Count;
        return step > _step ? _step : step > TimeSpan.Zero ? step : TimeSpan.Zero;
    }

    private void BeginFirstUnsynchronized(TimeSpan now, List<Turn> begun)
    {
        begun.Add(_waiting.Dequeue());
        PayUnsynchronized(now);
    }

    private void PayUnsynchronized(TimeSpan now)
    {
        var paid = (_paid > now ? _paid : now) + _step;
        _paid = paid > now + Ahead ? now + Ahead : paid;
    }

    private void SetTimerUnsynchronized(TimeSpan now)
    {
        _timer ??= timeProvider.CreateTimer(
            static pace => ((HandshakePace)pace!).OnTimer(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
        _timer.Change(_next > now ? _next - now : TimeSpan.Zero, Timeout.InfiniteTimeSpan);
    }

    private static void Begin(List<Turn> begun)
    {
        foreach (var turn in begun)
        {
            turn.Stopping.Unregister();
            turn.TrySetResult(true);
        }
    }

    /// <summary>A handshake that waits. One that is given up stays in its place, which then goes to nobody.</summary>
    private sealed class Turn(TimeSpan came) : TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously)
    {
        /// <summary>When it came.</summary>
        public TimeSpan Came => came;

        /// <summary>What gives it up.</summary>
        public CancellationTokenRegistration Stopping { get; set; }
    }
}
