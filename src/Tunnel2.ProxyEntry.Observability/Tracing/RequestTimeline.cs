using System.Buffers.Text;
using System.Diagnostics;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Tracing;

/// <summary>
/// The legs of a request that is measured, and its spans when it is traced. It serves one request at a time, and is reused.
/// </summary>
internal sealed class RequestTimeline : RequestNote
{
    private RequestTimes _times = new();
    private bool _informsVisitor;
    private bool _hasInformed;

    /// <summary>The span of the whole request, or null when it is not traced.</summary>
    public Activity? Edge { get; set; }

    /// <summary>The span of the agent's leg, which is the parent of the backend's own spans, or null.</summary>
    public Activity? Agent { get; set; }

    /// <summary>The agent's measurements, or null.</summary>
    public AgentTiming? Timing { get; private set; }

    /// <summary>
    /// From the request's head on the stream to the response's head, without the time that the agent measured; null before that.
    /// </summary>
    public TimeSpan? Tunnel { get; private set; }

    /// <summary>A request begins.</summary>
    /// <param name="times">The request's times.</param>
    /// <param name="informsVisitor">Whether the response should have <c>Server-Timing</c>.</param>
    public void Begin(RequestTimes times, bool informsVisitor)
    {
        _times = times;
        _informsVisitor = informsVisitor;
        _hasInformed = false;
        Tunnel = null;
        Timing = null;
        Edge = null;
        Agent = null;
    }

    /// <summary>The response's final head has arrived and was not passed on yet.</summary>
    /// <param name="timing">The agent's measurements, or null.</param>
    /// <param name="exchange">The request.</param>
    /// <param name="at">When: a timestamp of the request's times.</param>
    public void OnResponseHead(AgentTiming? timing, VisitorExchange exchange, long at)
    {
        Timing = timing;
        var all = _times.SinceHeadSent(at);
        Tunnel = Timing is { } agent && agent.Total < all ? all - agent.Total : all;
        InformVisitor(exchange);
    }

    /// <summary>
    /// Adds <c>Server-Timing</c> (W3C) to the response, if it should have it and does not yet; durations are milliseconds.
    /// </summary>
    public void InformVisitor(VisitorExchange exchange)
    {
        if (!_informsVisitor || _hasInformed || exchange.Extras is not { } extras)
        {
            return;
        }

        _hasInformed = true;
        Span<byte> text = stackalloc byte[160];
        var length = 0;
        Append(text, ref length, "edge;dur="u8, _times.Wait);
        if (Tunnel is { } tunnel)
        {
            Append(text, ref length, ", tunnel;dur="u8, tunnel);
        }
        else if (_times.HeadSent != 0)
        {
            // An error: which part took how long is not known.
            Append(text, ref length, ", tunnel;desc=\"and all behind it\";dur="u8, _times.SinceHeadSent(_times.Now()));
        }

        if (Timing is { } agent)
        {
            Append(text, ref length, ", agent;dur="u8, agent.Connect);
            Append(text, ref length, ", backend;dur="u8, agent.Backend);
        }

        extras.AddResponseField("Server-Timing"u8, text[..length]);
    }

    /// <summary>Milliseconds with three decimals. Formatted by hand, because formatting a <c>double</c> takes ten times as long.</summary>
    private static void Append(Span<byte> text, ref int length, ReadOnlySpan<byte> name, TimeSpan duration)
    {
        name.CopyTo(text[length..]);
        length += name.Length;
        var (milliseconds, rest) = Math.DivRem(Math.Max(0, duration.Ticks / TimeSpan.TicksPerMicrosecond), 1000);
        Utf8Formatter.TryFormat(milliseconds, text[length..], out var written);
        length += written;
        text[length++] = (byte)'.';
        text[length++] = (byte)('0' + (rest / 100));
        text[length++] = (byte)('0' + (rest / 10 % 10));
        text[length++] = (byte)('0' + (rest % 10));
    }
}
