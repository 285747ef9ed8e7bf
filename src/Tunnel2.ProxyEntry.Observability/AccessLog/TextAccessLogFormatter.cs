using System.Buffers;
using System.Globalization;
using System.Text.Unicode;
using Tunnel2.ProxyEntry.Errors;

namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>
/// Columns separated by single spaces, for awk and people: time, name (or Host), visitor, forwarded-for, method, path, status, outcome,
/// error, duration in ms, time to first byte in ms, bytes in, bytes out, session/uplink/stream, request id. <c>-</c> for a missing value.
/// No value contains a space.
/// </summary>
internal sealed class TextAccessLogFormatter : IAccessLogFormatter
{
    /// <summary>Longer than any line: every byte of a record's texts as <c>%XX</c>, and the numbers.</summary>
    private const int MaxLine = 4096;

    /// <inheritdoc/>
    public void Write(in AccessLogRecord record, IBufferWriter<byte> output)
    {
        var line = output.GetSpan(MaxLine);
        var invariant = CultureInfo.InvariantCulture;
        Utf8.TryWrite(line, invariant, $"{new DateTime(record.EndedTicks, DateTimeKind.Utc):yyyy-MM-ddTHH:mm:ss.fff}Z", out var at);
        AddText(line, ref at, ((ReadOnlySpan<byte>)record.Name)[..record.NameLength]);
        var written = 0;
        if (record.GetAddress() is { } address)
        {
            Utf8.TryWrite(line[at..], invariant, $" {address}", out written);
            at += written;
        }
        else
        {
            AddText(line, ref at, default);
        }

        AddText(line, ref at, ((ReadOnlySpan<byte>)record.ForwardedFor)[..record.ForwardedForLength]);
        AddText(line, ref at, ((ReadOnlySpan<byte>)record.Method)[..record.MethodLength]);
        AddText(line, ref at, ((ReadOnlySpan<byte>)record.Path)[..record.PathLength]);
        if (record.IsPathCut)
        {
            "..."u8.CopyTo(line[at..]);
            at += 3;
        }

        AddNumber(line, ref at, record.Status, record.Status != 0);
        var error = record.HasError ? ProxyErrorCatalog.Get(record.Error).Code : "-";
        Utf8.TryWrite(
            line[at..], invariant, $" {AccessLogWords.Of(record.Outcome)} {error} {Milliseconds(record.DurationTicks):0.000}", out written);
        at += written;
        if (record.FirstByteTicks >= 0)
        {
            Utf8.TryWrite(line[at..], invariant, $" {Milliseconds(record.FirstByteTicks):0.000}", out written);
            at += written;
        }
        else
        {
            AddText(line, ref at, default);
        }

        AddNumber(line, ref at, record.BytesIn, true);
        AddNumber(line, ref at, record.BytesOut, true);
        if (record.HasSession)
        {
            Utf8.TryWrite(line[at..], invariant, $" {record.Session:x8}", out written);
            at += written;
        }
        else
        {
            AddText(line, ref at, default);
        }

        if (record.UplinkIndex >= 0)
        {
            Utf8.TryWrite(line[at..], invariant, $"/{record.UplinkIndex}/{record.Stream.Value}", out written);
            at += written;
        }

        AddText(line, ref at, ((ReadOnlySpan<byte>)record.RequestId)[..record.RequestIdLength]);
        line[at++] = (byte)'\n';
        output.Advance(at);
    }

    /// <inheritdoc/>
    public void WriteDropped(DateTime time, long count, IBufferWriter<byte> output)
    {
        Utf8.TryWrite(
            output.GetSpan(MaxLine),
            CultureInfo.InvariantCulture,
            $"# {time:yyyy-MM-ddTHH:mm:ss.fff}Z {count} lines dropped\n",
            out var length);
        output.Advance(length);
    }

    private static void AddText(Span<byte> line, ref int at, ReadOnlySpan<byte> text)
    {
        line[at++] = (byte)' ';
        at += LogSafe.Write(text.IsEmpty ? "-"u8 : text, line[at..]);
    }

    private static void AddNumber(Span<byte> line, ref int at, long number, bool isKnown)
    {
        if (!isKnown)
        {
            AddText(line, ref at, default);
            return;
        }

        line[at++] = (byte)' ';
        number.TryFormat(line[at..], out var written, provider: CultureInfo.InvariantCulture);
        at += written;
    }

    private static double Milliseconds(long ticks) => ticks / (double)TimeSpan.TicksPerMillisecond;
}
