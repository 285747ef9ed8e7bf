namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// When what happened to a request: read by metrics, access log, live record, spans and <c>Server-Timing</c>, so that all of them tell the
/// same. Timestamps are those of the clock that <see cref="Begin"/> was given; 0 when it has not come to that. Used by one request at a
/// time and again by the next.
/// </summary>
internal sealed class RequestTimes
{
    private TimeProvider _clock = TimeProvider.System;

    /// <summary>The forwarder took the request up.</summary>
    public long Started { get; private set; }

    /// <summary>
    /// The request's head was about to be handed to an uplink, which may send it at once; of a request that was moved to another stream, to
    /// the last one.
    /// </summary>
    public long HeadSent { get; private set; }

    /// <summary>The final head of the response came.</summary>
    public long ResponseHead { get; private set; }

    /// <summary>The request ended, one way or another.</summary>
    public long Ended { get; private set; }

    /// <summary>From the request to its end.</summary>
    public TimeSpan Total => _clock.GetElapsedTime(Started, Ended);

    /// <summary>From the request to the final head of its response, or null when none came.</summary>
    public TimeSpan? FirstByte => ResponseHead == 0 ? null : _clock.GetElapsedTime(Started, ResponseHead);

    /// <summary>
    /// From the request until its head was handed to an uplink: what looking for its agent, and waiting for it, took. Until now while it
    /// was not.
    /// </summary>
    public TimeSpan Wait => HeadSent == 0 ? _clock.GetElapsedTime(Started) : _clock.GetElapsedTime(Started, HeadSent);

    /// <summary>A request begins.</summary>
    /// <param name="clock">What all times are read from.</param>
    public void Begin(TimeProvider clock)
    {
        _clock = clock;
        HeadSent = 0;
        ResponseHead = 0;
        Ended = 0;
        Started = clock.GetTimestamp();
    }

    /// <summary>The clock's timestamp.</summary>
    public long Now() => _clock.GetTimestamp();

    /// <summary>The request's head is handed to an uplink next.</summary>
    public void MarkHeadSent() => HeadSent = Now();

    /// <summary>The final head of the response has come.</summary>
    /// <param name="at">The timestamp of that.</param>
    public void MarkResponseHead(long at) => ResponseHead = at;

    /// <summary>The request has ended.</summary>
    public void MarkEnded() => Ended = Now();

    /// <summary>From the request's head on the uplink until then.</summary>
    public TimeSpan SinceHeadSent(long at) => _clock.GetElapsedTime(HeadSent, at);
}
