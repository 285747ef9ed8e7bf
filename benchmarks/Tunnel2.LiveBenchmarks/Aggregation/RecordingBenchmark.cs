using System.Diagnostics;
using System.Globalization;
using System.Text;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.Recording;
using Tunnel2.Telemetry.Records;

namespace Tunnel2.LiveBenchmarks.Aggregation;

/// <summary>
/// What <c>tunnel2 stats FILE --partitions N</c> does, over a recording that is made for it and deleted afterwards. Rounds of one and of
/// several partitions alternate, and each must come to the same statistics. The file has been read once before, so that the figures are
/// the processors' and not the disk's.
/// </summary>
internal static class RecordingBenchmark
{
    private const double WantedFactor = 1.6;

    internal static int Run(int megabytes, int sessions, int partitions, int rounds)
    {
        string path = Path.Combine(Path.GetTempPath(), $"tunnel2-bench-{Environment.ProcessId}.rec");
        try
        {
            long records = Write(path, megabytes * 1_000_000L, sessions);
            Console.WriteLine(string.Create(
                CultureInfo.InvariantCulture, $"recording of {megabytes} MB, {records} requests of {sessions} sessions, 1,000 a second"));
            string expected = "";
            double one = double.MaxValue;
            double several = double.MaxValue;
            Aggregate(path, partitions, ref expected);
            for (int i = 0; i < rounds; i++)
            {
                one = Math.Min(one, Aggregate(path, 1, ref expected));
                several = Math.Min(several, Aggregate(path, partitions, ref expected));
            }

            double factor = one / several;
            Console.WriteLine(string.Create(
                CultureInfo.InvariantCulture,
                $"best of {rounds}: {megabytes / one:F0} MB/s ({records / one / 1e6:F1} M/s) with 1, {megabytes / several:F0} MB/s "
                    + $"({records / several / 1e6:F1} M/s) with {partitions}: x{factor:F2}"));
            return factor >= WantedFactor ? 0 : 1;
        }
        finally
        {
            File.Delete(path);
        }
    }

    private static long Write(string path, long bytes, int sessions)
    {
        using RecordingWriter writer = RecordingWriter.Create(path);
        var random = new Random(1);
        byte[][] names = [.. Enumerable.Range(0, sessions).Select(i => Encoding.ASCII.GetBytes($"session-{i:D5}"))];
        Span<byte> payload = stackalloc byte[240];
        long records = 0;
        for (long written = 0; written < bytes; records++)
        {
            int length = RequestRecordCodec.Encode(payload, new RequestRecord
            {
                SessionName = names[random.Next(sessions)],
                Target = "/api/v1/items?page=2"u8,
                StartedUnixMicroseconds = 1_767_225_600_000_000 + (records * 1000),
                TotalMicroseconds = (uint)random.Next(100, 100_000),
                BytesIn = 100,
                BytesOut = (ulong)random.Next(100_000),
                Status = (ushort)(random.Next(100) == 0 ? 503 : 200),
            });
            writer.Add(records, (ushort)RecordType.Request, payload[..length]);
            written += length + 4;
        }

        return records;
    }

    private static double Aggregate(string path, int partitions, ref string expected)
    {
        TimeSpan before = Process.GetCurrentProcess().TotalProcessorTime;
        long start = Stopwatch.GetTimestamp();
        RecordingStatistics<SessionTotals> statistics = new PartitionedRecording<SessionTotals>(
            () => File.OpenRead(path), TimeSpan.FromSeconds(60), static () => new SessionTotals()).Run(partitions);
        double seconds = Stopwatch.GetElapsedTime(start).TotalSeconds;
        double busy = (Process.GetCurrentProcess().TotalProcessorTime - before).TotalSeconds;
        string rows = string.Join(
            '\n', statistics.Totals.Results().Select(row => $"{statistics.Sessions.Name(row.Key)} {row}"));
        if (statistics.Status != RecordingStatus.Complete || (expected.Length > 0 && rows != expected))
        {
            throw new InvalidOperationException($"{partitions} partitions come to other statistics.");
        }

        expected = rows;
        Console.WriteLine(
            string.Create(CultureInfo.InvariantCulture, $"  {partitions} partitions: {seconds:F2} s, {busy:F2} s of processors"));
        return seconds;
    }
}
