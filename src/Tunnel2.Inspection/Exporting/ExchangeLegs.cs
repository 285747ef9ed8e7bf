using Tunnel2.Inspection.Capture;

namespace Tunnel2.Inspection.Exporting;

/// <summary>The legs of an exchange, for a waterfall. What has not happened has no length.</summary>
/// <param name="Connect">Until a connection to the service was there.</param>
/// <param name="Send">Until the request's head was sent.</param>
/// <param name="Wait">Until the response's head came.</param>
/// <param name="Receive">Until the end.</param>
internal readonly record struct ExchangeLegs(TimeSpan Connect, TimeSpan Send, TimeSpan Wait, TimeSpan Receive)
{
    /// <summary>The legs of an exchange; the one under way lasts until now.</summary>
    public static ExchangeLegs Of(ExchangeCapture capture)
    {
        var times = capture.Times;
        var end = capture.Duration;
        var connected = Least(times.Connected, end);
        var sent = Least(times.Sent, end);
        var answered = Least(times.Answered, end);

        // A response may come before the request is sent, and an order of events is not promised between threads.
        sent = sent < connected ? connected : sent;
        answered = answered < sent ? sent : answered;
        return new ExchangeLegs(connected, sent - connected, answered - sent, end - answered);
    }

    private static TimeSpan Least(TimeSpan? moment, TimeSpan end) => moment is { } at && at < end ? at : end;
}
