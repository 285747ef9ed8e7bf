using System.Buffers.Text;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Exchanges;

/// <summary>
/// What one exchange took at the agent, where ProxyEntry asked by the request field <c>Tunnel2-Timing</c>: said in the response field of
/// that name as two numbers of microseconds, <c>connect,backend</c>. The default value says nothing and costs nothing.
/// </summary>
internal struct ExchangeTiming
{
    private readonly TimeProvider? _time;
    private readonly long _started;
    private long _sent;
    private long _headCame;

    /// <summary>A request has come.</summary>
    /// <param name="time">The clock.</param>
    public ExchangeTiming(TimeProvider time)
    {
        _time = time;
        _started = time.GetTimestamp();
    }

    /// <summary>A connection to the backend is there, and the request is sent; the last time counts.</summary>
    public void MarkSent() => _sent = _time?.GetTimestamp() ?? 0;

    /// <summary>The final head of the response has come.</summary>
    public void MarkHead() => _headCame = _time?.GetTimestamp() ?? 0;

    /// <summary>Adds the field to a response's head.</summary>
    public readonly void Write(ref HeaderBlockWriter writer)
    {
        if (_time is null || _headCame == 0)
        {
            return;
        }

        Span<byte> value = stackalloc byte[48];
        Utf8Formatter.TryFormat(Microseconds(_started, _sent), value, out var length);
        value[length++] = (byte)',';
        Utf8Formatter.TryFormat(Microseconds(_sent, _headCame), value[length..], out var more);
        writer.AddField("Tunnel2-Timing"u8, value[..(length + more)]);
    }

    private readonly long Microseconds(long from, long to) => _time!.GetElapsedTime(from, to).Ticks / TimeSpan.TicksPerMicrosecond;
}
