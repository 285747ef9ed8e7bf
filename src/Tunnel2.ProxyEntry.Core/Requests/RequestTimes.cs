namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// The times of a request's events. Metrics, access log, live record, spans and <c>Server-Timing</c> all read them, so that they agree.
/// They are timestamps of the clock given to <see cref="Begin"/>; 0 when the event has not happened. It serves one request at a time, and
/// is reused.
/// </summary>
internal sealed class RequestTimes
{
    private TimeProvider _clock = TimeProvider.System;

    /// <summary>The forwarder accepted the request.</summary>
    public long Started { get; private set; }

    /// <summary>
    /// The request's head was given to an uplink, which may send it at once. For a request that moved to another stream: to the last one.
    /// </summary>
    public long HeadSent { get; private set; }

    /// <summary>The final head of the response arrived.</summary>
    public long ResponseHead { get; private set; }

    /// <summary>The request ended.</summary>
    public long Ended { get; private set; }

    /// <summary>From the request to its end.</summary>
    public TimeSpan Total => _clock.GetElapsedTime(Started, Ended);

    /// <summary>From the request to the final head of its response, or null when none came.</summary>
    public TimeSpan? FirstByte => ResponseHead == 0 ? null : _clock.GetElapsedTime(Started, ResponseHead);

    /// <summary>
    /// From the request until its head was given to an uplink: the time for finding its agent and waiting for it. Until now if it was not
    /// given yet.
    /// </summary>
    public TimeSpan Wait => HeadSent == 0 ? _clock.GetElapsedTime(Started) : _clock.GetElapsedTime(Started, HeadSent);

    /// <summary>A request begins.</summary>
    /// <param name="clock">The clock for all times.</param>
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

    /// <summary>The request's head is given to an uplink next.</summary>
    public void MarkHeadSent() => HeadSent = Now();

    /// <summary>The final head of the response has come.</summary>
    /// <param name="at">When it arrived: a timestamp of the clock.</param>
    public void MarkResponseHead(long at) => ResponseHead = at;

    /// <summary>The request has ended.</summary>
    public void MarkEnded() => Ended = Now();

    /// <summary>From the moment when the head was given to an uplink until a timestamp.</summary>
    public TimeSpan SinceHeadSent(long at) => _clock.GetElapsedTime(HeadSent, at);
}
