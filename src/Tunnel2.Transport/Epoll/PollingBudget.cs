namespace Tunnel2.Transport.Epoll;

/// <summary>
/// Decides whether an idle loop polls its sockets a little longer before it sleeps. Sleeping and being woken cost two context switches and,
/// between processors, an interrupt: more than a small request itself. Polling costs processor time if nothing comes. So every wait is
/// judged after its end, whether the loop slept or polled: a short one earns its own length, a long one costs the time of a poll in vain. A
/// loop polls only while something is left, so polls in vain never cost more than short waits have earned, plus one attempt. Not
/// thread-safe: for one loop.
/// </summary>
/// <remarks>
/// A polling loop offers its processor to other threads. If one of them keeps it, the loop reacts late, while a sleeping loop runs before
/// them when it is woken. So beside a thread that is always busy the loop sleeps, and tries now and then whether that thread is still
/// there.
/// </remarks>
internal struct PollingBudget
{
    /// <summary>How many attempts in vain can be saved, or owed: after so many a change of the load is known.</summary>
    public const int VainAttempts = 10;

    private const int Waits = 8;
    private const int One = 16;

    /// <summary>
    /// If on average more than 1.25 events come at once, several requests share a sleep, and every processor has other work.
    /// </summary>
    private const int MaxEvents = Waits * One * 5 / 4;

    /// <summary>A peer that answers needs the processor for a small part of this.</summary>
    private const int MostGivenAway = 5;

    private const int ShortestPause = 200;
    private const int LongestPause = 20_000;

    private readonly long _patience;
    private long _left;
    private long _pause;
    private long _pausesUntil;

    /// <summary>A moving sum of events over about eight waits, in sixteenths; the latest counts most.</summary>
    private int _events;

    /// <summary>Begins with no budget.</summary>
    /// <param name="patience">How long to poll, in the same ticks as the waits; 0: never.</param>
    public PollingBudget(long patience)
    {
        _patience = patience;
    }

    /// <summary>How long to poll before sleeping; 0: sleep at once.</summary>
    /// <param name="now">The time, in the same ticks.</param>
    public readonly long PatienceAt(long now) => _left > 0 && _events <= MaxEvents && now >= _pausesUntil ? _patience : 0;

    /// <summary>The loop has offered its processor to other threads between two polls.</summary>
    /// <param name="ticks">How long it was away.</param>
    /// <param name="now">The time.</param>
    /// <returns>False when another thread has kept it: the loop should sleep.</returns>
    public bool WasAway(long ticks, long now)
    {
        if (ticks < _patience * MostGivenAway)
        {
            return true;
        }

        // Soon after the last pause: the other threads are still there, so the next pause is longer.
        _pause = now - _pausesUntil < _pause ? Math.Min(_pause * 2, _patience * LongestPause) : _patience * ShortestPause;
        _pausesUntil = now + _pause;
        return false;
    }

    /// <summary>A wait is over.</summary>
    /// <param name="ticks">How long it took until an event came.</param>
    /// <param name="events">How many events came at once; 0 or less for another thread's work, or for none.</param>
    public void Waited(long ticks, int events)
    {
        _events += (Math.Max(0, events) * One) - (_events / Waits);
        _left = ticks < _patience && events <= 1
            ? Math.Min(_patience * VainAttempts, _left + ticks)
            : Math.Max(-_patience * VainAttempts, _left - _patience);
    }
}
