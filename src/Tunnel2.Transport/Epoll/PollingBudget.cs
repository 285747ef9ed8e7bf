namespace Tunnel2.Transport.Epoll;

/// <summary>
/// Whether a loop that has nothing to do should ask its sockets a little longer before it sleeps. Going to sleep and being woken costs two
/// switches and, between processors, an interrupt: more than a small request itself. Asking costs processor time where nothing comes. So
/// every wait is judged after itself, whether it was slept or asked through: a short one earns its own length, a long one costs the time
/// that asking in vain takes. Only while something is left does a loop ask, so what it spends in vain is never more than short waits have
/// earned, and one attempt. Not thread-safe: one loop's.
/// </summary>
/// <remarks>
/// A loop that asks offers its processor to others. Where one of them keeps it, the loop comes too late to whatever it waits for, while
/// one that sleeps is put before them when it is woken: so beside somebody who is busy all the time it sleeps, and tries now and then
/// whether that one is still there.
/// </remarks>
internal struct PollingBudget
{
    /// <summary>Vain attempts that can be saved for, or owed: after so long a change of the load is known.</summary>
    public const int VainAttempts = 10;

    private const int Waits = 8;
    private const int One = 16;

    /// <summary>
    /// Where more than 1.25 events come at once on average, sleeps are shared by several requests, and every processor has better things to
    /// do.
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

    /// <summary>Events of some eight waits, the latest counting most, in sixteenths.</summary>
    private int _events;

    /// <summary>Begins with nothing earned.</summary>
    /// <param name="patience">How long to ask, in the ticks that waits are told in; 0: never.</param>
    public PollingBudget(long patience)
    {
        _patience = patience;
    }

    /// <summary>How long to ask before sleeping; 0: sleep at once.</summary>
    /// <param name="now">The time, in the same ticks.</param>
    public readonly long PatienceAt(long now) => _left > 0 && _events <= MaxEvents && now >= _pausesUntil ? _patience : 0;

    /// <summary>The loop has offered its processor to others between two questions.</summary>
    /// <param name="ticks">How long it was away.</param>
    /// <param name="now">The time.</param>
    /// <returns>False: somebody has kept it, and the loop is to sleep.</returns>
    public bool WasAway(long ticks, long now)
    {
        if (ticks < _patience * MostGivenAway)
        {
            return true;
        }

        // Again soon after the last pause: they are still there, and a try costs what they take.
        _pause = now - _pausesUntil < _pause ? Math.Min(_pause * 2, _patience * LongestPause) : _patience * ShortestPause;
        _pausesUntil = now + _pause;
        return false;
    }

    /// <summary>A wait is over.</summary>
    /// <param name="ticks">How long it took until something came.</param>
    /// <param name="events">How much came at once; 0 or less where it was another thread's work, or nothing.</param>
    public void Waited(long ticks, int events)
    {
        _events += (Math.Max(0, events) * One) - (_events / Waits);
        _left = ticks < _patience && events <= 1
            ? Math.Min(_patience * VainAttempts, _left + ticks)
            : Math.Max(-_patience * VainAttempts, _left - _patience);
    }
}
