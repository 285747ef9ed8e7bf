using System.Buffers.Text;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// The agent's measurements, as its response field <c>Tunnel2-Timing</c> has them: two numbers of microseconds, <c>connect,backend</c>. An
/// agent that does not know the field sends none.
/// </summary>
/// <param name="Connect">From the request's arrival at the agent until there was a connection to the backend.</param>
/// <param name="Backend">From there until the response's head arrived.</param>
internal readonly record struct AgentTiming(TimeSpan Connect, TimeSpan Backend)
{
    /// <summary>One hour; a larger value is not a measurement.</summary>
    private const long LongestMicroseconds = 3_600_000_000;

    /// <summary>The sum of both.</summary>
    public TimeSpan Total => Connect + Backend;

    /// <summary>Reads the field's value.</summary>
    /// <param name="value">The value.</param>
    /// <returns>Null when the value is not valid.</returns>
    public static AgentTiming? Parse(ReadOnlySpan<byte> value)
    {
        var comma = value.IndexOf((byte)',');
        return comma > 0 && TryParse(value[..comma], out var connect) && TryParse(value[(comma + 1)..], out var backend)
            ? new AgentTiming(connect, backend)
            : null;
    }

    private static bool TryParse(ReadOnlySpan<byte> digits, out TimeSpan time)
    {
        var isNumber = Utf8Parser.TryParse(digits, out long microseconds, out var consumed)
            && consumed == digits.Length
            && microseconds is >= 0 and <= LongestMicroseconds;
        time = isNumber ? TimeSpan.FromTicks(microseconds * TimeSpan.TicksPerMicrosecond) : default;
        return isNumber;
    }
}
