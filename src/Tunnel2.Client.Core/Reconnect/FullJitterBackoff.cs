namespace Tunnel2.Client.Core.Reconnect;

/// <summary>
/// Chooses how long to wait before the next attempt to connect: uniform between 0 and a ceiling that doubles with each attempt
/// ("full jitter"), so that many agents that lost the same server do not come back in step. Not thread-safe.
/// </summary>
/// <remarks>
/// The ceilings with the default schedule: 0.5 s, 1 s, then 2 s for as long as the outage is younger than 10 s, then 4, 8, 16 and 30 s. The
/// young outage has a ceiling of its own because of what a restart looks like: with plain doubling, four attempts fit into the first
/// seconds and the next one may be 8 s away, so that a server that was away for 2 s would be without its agents for far longer. With the
/// ceiling at 2 s an agent tries again at most 2 s after the server is back, with any draw; a refused connection costs next to
/// nothing. A server's retry-after is the minimum, and the jitter comes on top: agents that got the same number must not return at
/// once either. An outage that the server announced stays young for longer: the server first finishes what it has, and only then starts
/// again. An outage begins with the first end after a stable life, and a connection that lives for less than 10 s does not end it.
/// An agent whose visitors are served by a session with another node takes up to 5 s from the first delay on: when a node dies, the agents
/// that have nothing else come first.
/// </remarks>
internal sealed class FullJitterBackoff
{
    private readonly TimeProvider _time;
    private readonly Random _random;
    private readonly BackoffSchedule _schedule;
    private long? _outageStart;
    private TimeSpan _ceiling;
    private bool _announced;

    public FullJitterBackoff(TimeProvider time, Random random, BackoffSchedule? schedule = null)
    {
        _time = time;
        _random = random;
        _schedule = schedule ?? BackoffSchedule.Default;
        _ceiling = _schedule.Base;
    }

    /// <summary>Takes note that a connection ended (or never came about) and gives the wait before the next attempt.</summary>
    /// <param name="upTime">How long the connection lived; zero when there was none.</param>
    /// <param name="retryAfter">The shortest wait that the server asks for, or null.</param>
    /// <param name="announced">Whether the server said that it goes, so that it is expected back.</param>
    /// <param name="isServed">Whether another session serves the visitors in that time.</param>
    public TimeSpan NextDelay(TimeSpan upTime, TimeSpan? retryAfter = null, bool announced = false, bool isServed = false)
    {
        if (_outageStart is null || upTime >= _schedule.StableLife || (announced && !_announced))
        {
            _outageStart = _time.GetTimestamp();
            _ceiling = _schedule.Base;
            _announced = announced;
        }

        bool isYoung = _time.GetElapsedTime(_outageStart.Value) < (_announced ? _schedule.AnnouncedOutage : _schedule.YoungOutage);
        TimeSpan limit = isYoung ? _schedule.YoungCap : _schedule.Cap;
        TimeSpan ceiling = Min(_ceiling, limit);

        // Doubles no further than the limit of the moment, so that the end of the young outage continues from 2 s and not from 30 s.
        _ceiling = Min(ceiling * 2, limit);

        TimeSpan jitter = (isServed ? Max(ceiling, _schedule.ServedCeiling) : ceiling) * _random.NextDouble();
        return retryAfter is { } least && least > TimeSpan.Zero ? Min(least, _schedule.MaxRetryAfter) + jitter : jitter;
    }

    private static TimeSpan Min(TimeSpan a, TimeSpan b) => a < b ? a : b;

    private static TimeSpan Max(TimeSpan a, TimeSpan b) => a > b ? a : b;
}
