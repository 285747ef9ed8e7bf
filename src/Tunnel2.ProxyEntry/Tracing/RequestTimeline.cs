using System.Diagnostics;
using System.Globalization;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Forwarding;

namespace Tunnel2.ProxyEntry.Tracing;

/// <summary>
/// When what happened to a request whose legs somebody wants to know, and its spans where it is traced. Used by one request at a time and again
/// by the next.
/// </summary>
internal sealed class RequestTimeline
{
    private TimeProvider _time = TimeProvider.System;
    private bool _tellsVisitor;
    private bool _hasTold;
    private long _started;
    private long _opened;

    /// <summary>The span of the whole request, or null when it is not traced.</summary>
    public Activity? Edge { get; set; }

    /// <summary>The span of the agent's leg, which the backend's own spans hang under, or null.</summary>
    public Activity? Agent { get; set; }

    /// <summary>What the agent measured, or null.</summary>
    public AgentTiming? Timing { get; private set; }

    /// <summary>From the request until a stream was there for it: what looking for its agent, and waiting for it, took.</summary>
    public TimeSpan Wait => _opened == 0 ? TimeSpan.Zero : _time.GetElapsedTime(_started, _opened);

    /// <summary>From the request's head on the stream to the response's head, without what the agent measured; zero before.</summary>
    public TimeSpan Tunnel { get; private set; }

    /// <summary>A request begins.</summary>
    /// <param name="time">The clock.</param>
    /// <param name="started">Its timestamp.</param>
    /// <param name="tellsVisitor">Whether the response is to have <c>Server-Timing</c>.</param>
    public void Begin(TimeProvider time, long started, bool tellsVisitor)
    {
        _time = time;
        _started = started;
        _tellsVisitor = tellsVisitor;
        _hasTold = false;
        _opened = 0;
        Tunnel = default;
        Timing = null;
        Edge = null;
        Agent = null;
    }

    /// <summary>The request has a stream; its head is sent next.</summary>
    public void Opened() => _opened = _time.GetTimestamp();

    /// <summary>The response's final head came, and has not been passed on yet.</summary>
    public void OnResponseHead(scoped in HeaderBlock head, VisitorExchange exchange)
    {
        Timing = AgentTiming.Read(head);
        var all = _time.GetElapsedTime(_opened);
        Tunnel = Timing is { } agent && agent.Total < all ? all - agent.Total : all;
        TellVisitor(exchange);
    }

    /// <summary>Puts <c>Server-Timing</c> (W3C) into the response, where it is wanted and not there yet; durations are milliseconds.</summary>
    public void TellVisitor(VisitorExchange exchange)
    {
        if (!_tellsVisitor || _hasTold || exchange.Extras is not { } extras)
        {
            return;
        }

        _hasTold = true;
        Span<char> text = stackalloc char[160];
        var length = 0;
        Append(text, ref length, "edge;dur=", _opened == 0 ? _time.GetElapsedTime(_started) : Wait);
        if (Tunnel > TimeSpan.Zero)
        {
            Append(text, ref length, ", tunnel;dur=", Tunnel);
        }

        if (Timing is { } agent)
        {
            Append(text, ref length, ", agent;dur=", agent.Connect);
            Append(text, ref length, ", backend;dur=", agent.Backend);
        }

        extras.AddResponseField("Server-Timing", text[..length]);
    }

    /// <summary>Milliseconds with three digits behind the point, by hand: a format of <c>double</c> takes ten times as long.</summary>
    private static void Append(Span<char> text, ref int length, string name, TimeSpan duration)
    {
        name.CopyTo(text[length..]);
        length += name.Length;
        var (milliseconds, rest) = Math.DivRem(Math.Max(0, duration.Ticks / TimeSpan.TicksPerMicrosecond), 1000);
        milliseconds.TryFormat(text[length..], out var written, default, CultureInfo.InvariantCulture);
        length += written;
        text[length++] = '.';
        text[length++] = (char)('0' + (rest / 100));
        text[length++] = (char)('0' + (rest / 10 % 10));
        text[length++] = (char)('0' + (rest % 10));
    }
}
