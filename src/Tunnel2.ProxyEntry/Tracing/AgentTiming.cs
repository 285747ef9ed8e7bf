using System.Buffers.Text;
using System.Text;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Forwarding;

namespace Tunnel2.ProxyEntry.Tracing;

/// <summary>
/// What the agent measured, as its response field <c>Tunnel2-Timing</c> says it: two numbers of microseconds, <c>connect,backend</c>. An agent
/// that does not know the field sends none.
/// </summary>
/// <param name="Connect">From the request's arrival at the agent until there was a connection to the backend.</param>
/// <param name="Backend">From there until the response's head has come.</param>
internal readonly record struct AgentTiming(TimeSpan Connect, TimeSpan Backend)
{
    /// <summary>An hour: more than this is no measurement.</summary>
    private const long LongestMicroseconds = 3_600_000_000;

    /// <summary>Both together.</summary>
    public TimeSpan Total => Connect + Backend;

    /// <summary>Finds it in a response's head. The last field counts: the agent adds its own behind the backend's.</summary>
    public static AgentTiming? Read(scoped in HeaderBlock head)
    {
        AgentTiming? timing = null;
        foreach (var field in head.Fields)
        {
            if (field.Name.Length == ExchangeExtras.TimingField.Length && Ascii.EqualsIgnoreCase(field.Name, ExchangeExtras.TimingField))
            {
                timing = Parse(field.Value);
            }
        }

        return timing;
    }

    private static AgentTiming? Parse(ReadOnlySpan<byte> value)
    {
        var comma = value.IndexOf((byte)',');
        return comma > 0 && TryParse(value[..comma], out var connect) && TryParse(value[(comma + 1)..], out var backend)
            ? new AgentTiming(connect, backend)
            : null;
    }

    private static bool TryParse(ReadOnlySpan<byte> digits, out TimeSpan time)
    {
        var isNumber = Utf8Parser.TryParse(digits, out long microseconds, out var consumed) && consumed == digits.Length && microseconds is >= 0 and <= LongestMicroseconds;
        time = isNumber ? TimeSpan.FromTicks(microseconds * TimeSpan.TicksPerMicrosecond) : default;
        return isNumber;
    }
}
