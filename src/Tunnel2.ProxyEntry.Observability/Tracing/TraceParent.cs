using System.Buffers;
using System.Diagnostics;
using System.Text;

namespace Tunnel2.ProxyEntry.Tracing;

/// <summary>
/// The value of <c>traceparent</c> (W3C Trace Context, level 1, section 3.2): the trace of a request, and the span that sent it.
/// </summary>
internal static class TraceParent
{
    /// <summary>The length of version 00, and of the part of later versions that is known.</summary>
    public const int Length = 55;

    private static readonly SearchValues<byte> _hexDigits = SearchValues.Create("0123456789abcdef"u8);

    private const int TraceIdAt = 3;
    private const int SpanIdAt = 36;
    private const int FlagsAt = 53;

    /// <summary>Reads a value.</summary>
    /// <param name="value">The field's value.</param>
    /// <param name="context">The trace and the parent span.</param>
    /// <returns>False when it is not valid; then a new trace begins.</returns>
    public static bool TryParse(ReadOnlySpan<byte> value, out ActivityContext context)
    {
        context = default;
        if (value.Length < Length || value[2] != '-' || value[35] != '-' || value[52] != '-'
            || !IsHex(value[..2])
            || !IsHex(value.Slice(TraceIdAt, 32))
            || !IsHex(value.Slice(SpanIdAt, 16))
            || !IsHex(value.Slice(FlagsAt, 2)))
        {
            return false;
        }

        // Version 00 ends here; later ones may continue after a dash; ff is not a version.
        var isVersion0 = value.StartsWith("00"u8);
        if (value.StartsWith("ff"u8) || (value.Length > Length && (isVersion0 || value[Length] != '-')))
        {
            return false;
        }

        var traceId = value.Slice(TraceIdAt, 32);
        var spanId = value.Slice(SpanIdAt, 16);
        if (!traceId.ContainsAnyExcept((byte)'0') || !spanId.ContainsAnyExcept((byte)'0'))
        {
            return false;
        }

        var isSampled = (Digit(value[FlagsAt + 1]) & 1) != 0;
        context = new ActivityContext(
            ActivityTraceId.CreateFromUtf8String(traceId),
            ActivitySpanId.CreateFromUtf8String(spanId),
            isSampled ? ActivityTraceFlags.Recorded : ActivityTraceFlags.None,
            isRemote: true);
        return true;
    }

    /// <summary>Writes the value of a sampled span.</summary>
    /// <param name="span">The span.</param>
    /// <param name="destination">At least <see cref="Length"/> bytes.</param>
    public static void Write(Activity span, Span<byte> destination)
    {
        "00-"u8.CopyTo(destination);
        Encoding.ASCII.GetBytes(span.TraceId.ToHexString(), destination[TraceIdAt..]);
        destination[35] = (byte)'-';
        Encoding.ASCII.GetBytes(span.SpanId.ToHexString(), destination[SpanIdAt..]);
        "-01"u8.CopyTo(destination[52..]);
    }

    // The specification allows lower case only.
    private static bool IsHex(ReadOnlySpan<byte> digits) => !digits.ContainsAnyExcept(_hexDigits);

    private static int Digit(byte hex) => hex <= '9' ? hex - '0' : hex - 'a' + 10;
}
