namespace Tunnel2.Client.Core.Backend;

/// <summary>
/// How many new connections to a service may be without an answer at a time. Many services accept one connection in a round, after they
/// have answered all others that have sent something: a request on a connection that waits to be accepted is answered later than one that
/// waits here for a connection that comes back. So the number grows while new connections answer in half of the time for which requests
/// wait here, and shrinks while they do not, as a congestion window does (RFC 5681 section 3.1). Not thread-safe.
/// </summary>
/// <remarks>
/// While no connection comes back, each request takes long, and to wait does not help: the number doubles every few milliseconds until one
/// does. A connection that has had no answer for long counts no more: its request is slow, not its turn.
/// </remarks>
/// <param name="frequency">The ticks of a second, of all times here.</param>
internal sealed class OpeningPace(long frequency)
{
    /// <summary>So many may be without an answer before anything is known of a crowd: what a page asks for at once.</summary>
    public const int First = 32;

    /// <summary>So many may be in any case.</summary>
    public const int Fewest = 4;

    /// <summary>More than any service's queue holds.</summary>
    public const int Most = 4096;

    private const int MostDoublings = 10;

    private readonly Queue<long> _unanswered = new();
    private readonly long _quiet = frequency / 200;
    private readonly long _long = frequency / 10;
    private long _quietSince;
    private long _lastWait;
    private int _window = First;
    private int _doublings;

    /// <summary>How many may be without an answer.</summary>
    public int Window => Math.Min(Most, _window << _doublings);

    /// <summary>Whether one more may begin.</summary>
    public bool MayBegin(long now)
    {
        while (_unanswered.TryPeek(out var begun) && now - begun >= _long)
        {
            _unanswered.Dequeue();
        }

        if (_unanswered.Count >= Window && now - _quietSince >= _quiet)
        {
            _quietSince = now;
            _doublings = Math.Min(MostDoublings, _doublings + 1);
        }

        return _unanswered.Count < Window;
    }

    /// <summary>A request begins to wait, and no other does.</summary>
    public void Wait(long now) => _quietSince = now;

    /// <summary>One begins.</summary>
    /// <param name="now">The time.</param>
    /// <param name="waited">How long its request has waited for that.</param>
    public void Begin(long now, long waited)
    {
        if (_unanswered.Count == 0 && waited == 0)
        {
            // Nothing waits: what was learned of an earlier crowd is old.
            (_window, _doublings) = (First, 0);
        }

        _unanswered.Enqueue(now);
        _lastWait = waited;
    }

    /// <summary>A connection that came back goes to a request that waited.</summary>
    /// <param name="now">The time.</param>
    /// <param name="waited">How long.</param>
    public void HandOver(long now, long waited)
    {
        (_quietSince, _doublings) = (now, 0);
        _lastWait = waited;
    }

    /// <summary>A new connection has had its first answer.</summary>
    /// <param name="now">The time.</param>
    /// <param name="begun">When it began.</param>
    public void Answer(long now, long begun)
    {
        End(now, begun);
        _window = (now - begun) * 2 <= _lastWait ? Math.Min(Most, _window + 1) : Math.Max(Fewest, _window - 1 - (_window / 8));
    }

    /// <summary>A connection that began has ended, or there was none: it waits for no answer, and nothing was learned.</summary>
    /// <param name="now">The time.</param>
    /// <param name="begun">When it began.</param>
    public void End(long now, long begun)
    {
        if (now - begun < _long)
        {
            // Which of them it was does not matter for their number.
            _unanswered.TryDequeue(out _);
        }
    }
}
