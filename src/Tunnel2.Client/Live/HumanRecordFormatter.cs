using System.Globalization;
using System.Text;
using Tunnel2.Protocol;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.Client.Live;

/// <summary>One line for people per record: time, session, method, target, status, duration, bytes in and out, error.</summary>
internal sealed class HumanRecordFormatter : IRecordFormatter
{
    private readonly TimeZoneInfo _zone;

    /// <param name="zone">The time zone of the times.</param>
    public HumanRecordFormatter(TimeZoneInfo zone) => _zone = zone;

    /// <inheritdoc/>
    public string? Node { get; set; }

    /// <inheritdoc/>
    public void Write(TextWriter output, long sequence, in RequestRecord record)
    {
        DateTimeOffset ended = DateTimeOffset.UnixEpoch.AddTicks(
            (record.StartedUnixMicroseconds + record.TotalMicroseconds) * TimeSpan.TicksPerMicrosecond);
        output.Write(TimeZoneInfo.ConvertTime(ended, _zone).ToString("HH:mm:ss.fff", CultureInfo.InvariantCulture));
        output.Write(' ');
        output.Write(Clean(record.SessionName));
        if (Node is not null)
        {
            output.Write('@');
            output.Write(Node);
        }

        output.Write(' ');
        output.Write(RequestMethods.Name(record.Method));
        output.Write(' ');
        output.Write(Clean(record.Target));
        output.Write((record.Flags & RequestFlags.TargetTruncated) != 0 ? "… " : " ");
        output.Write(record.Status == 0 ? "---" : record.Status.ToString(CultureInfo.InvariantCulture));
        output.Write(' ');
        output.Write(Duration(record.TotalMicroseconds));
        output.Write(" in ");
        output.Write(record.BytesIn.ToString(CultureInfo.InvariantCulture));
        output.Write(" out ");
        output.Write(record.BytesOut.ToString(CultureInfo.InvariantCulture));
        if (RequestErrorCodes.Name(record.ErrorCode) is { } error)
        {
            output.Write(' ');
            output.Write(error);
        }

        if (!record.FailedAt.IsEmpty)
        {
            output.Write(" (node ");
            output.Write(Clean(record.FailedAt));
            output.Write(')');
        }

        if ((record.Flags & RequestFlags.Interim) != 0)
        {
            output.Write(" (open)");
        }

        output.WriteLine();
    }

    /// <inheritdoc/>
    public void Write(TextWriter output, in RingGap gap) => output.WriteLine(gap.Reason == RingGapReason.NewRing
        ? "-- another ring: the number of records between the two is unknown --"
        : string.Create(CultureInfo.InvariantCulture, $"-- {gap.Count} missed from {gap.First} on ({Reason(gap.Reason)}) --"));

    /// <inheritdoc/>
    public void WriteLost(TextWriter output, long messages) => output.WriteLine(string.Create(
        CultureInfo.InvariantCulture,
        $"-- {messages} messages of {Node ?? "the nodes"} did not come: how many requests they had is unknown --"));

    /// <inheritdoc/>
    public void WriteEnd(TextWriter output, TapCounts counts)
    {
        output.Write(string.Create(CultureInfo.InvariantCulture, $"-- {counts.Seen} seen, {counts.Shown} shown, {counts.Missed} missed"));
        if (counts.Unreadable > 0)
        {
            output.Write(string.Create(CultureInfo.InvariantCulture, $", {counts.Unreadable} unreadable"));
        }

        if (counts.LostMessages > 0)
        {
            output.Write(string.Create(CultureInfo.InvariantCulture, $", and those of {counts.LostMessages} messages"));
        }

        output.WriteLine(counts.Replaced > 0 ? ", and an unknown number where the ring was replaced --" : " --");
    }

    internal static string Reason(RingGapReason reason) => reason switch
    {
        RingGapReason.Overwritten => "overwritten",
        RingGapReason.Abandoned => "abandoned",
        RingGapReason.Corrupt => "corrupt",
        RingGapReason.SkippedAsStale => "skipped",
        RingGapReason.NewRing => "new-ring",
        _ => "unknown",
    };

    private static string Duration(uint microseconds) => microseconds switch
    {
        < 10_000 => string.Create(CultureInfo.InvariantCulture, $"{microseconds / 1e3:0.00}ms"),
        < 10_000_000 => string.Create(CultureInfo.InvariantCulture, $"{microseconds / 1000}ms"),
        _ => string.Create(CultureInfo.InvariantCulture, $"{microseconds / 1e6:0.0}s"),
    };

    /// <summary>A visitor's text must not steer the terminal.</summary>
    private static string Clean(ReadOnlySpan<byte> text) => PlainText.Clean(Encoding.Latin1.GetString(text));
}
