using System.Buffers.Binary;
using System.Globalization;
using System.Text.Json;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Recording;
using Tunnel2.Telemetry.Records;
using WindowPipeline = Tunnel2.Telemetry.Aggregation.PartitionedPipeline<
    Tunnel2.Telemetry.Aggregation.RequestSample, Tunnel2.Telemetry.Aggregation.SessionHash, Tunnel2.Telemetry.Aggregation.WindowedState>;

namespace Tunnel2.Client.Live;

/// <summary><c>tunnel2 stats FILE</c>: the live plane's aggregation over a recording or a ring's file.</summary>
internal static class StatsCommand
{
    private const int BatchSize = 1000;
    private static readonly TimeSpan _lateness = TimeSpan.FromSeconds(60);

    public static int Run(string path, bool json, TextWriter output, TextWriter error)
    {
        var intake = new RequestIntake(new WatermarkFilter(_lateness));
        var totals = new SessionTotals();
        long missed;
        string? problem = null;
        if (IsRing(path))
        {
            EventRingOpenError refused = LocalTap.TryOpen(path, out SharedEventRing? ring);
            if (refused != EventRingOpenError.None)
            {
                error.WriteLine($"tunnel2: {path}: {RecordingText.Describe(refused)}");
                return AgentExitCode.InternalError;
            }

            EventRingReader reader = ring!.CreateReader(new EventRingReaderOptions { From = EventRingReaderOptions.FromOldest });
            var source = new RingRequestSource(ring, reader, intake, BatchSize, Volatile.Read(ref ring.Head));
            WindowPipeline.RunFused(source, new WindowedState(totals));
            missed = source.Missed;
        }
        else
        {
            using var reader = new RecordingReader(File.OpenRead(path));
            var source = new RecordingSource(reader, intake);
            WindowPipeline.RunFused(source, new WindowedState(totals));
            missed = source.Missed;
            problem = reader.Status == RecordingStatus.Complete ? null : RecordingText.Describe(path, reader);
            if (reader.Status is RecordingStatus.NotARecording or RecordingStatus.UnsupportedVersion)
            {
                error.WriteLine($"tunnel2: {problem}");
                return AgentExitCode.InternalError;
            }
        }

        if (json)
        {
            WriteJson(output, intake, totals, missed);
        }
        else
        {
            WriteTable(output, intake, totals, missed);
        }

        output.Flush();
        if (problem is not null)
        {
            error.WriteLine($"tunnel2: {problem}");
            return AgentExitCode.InternalError;
        }

        return AgentExitCode.Stopped;
    }

    private static bool IsRing(string path)
    {
        Span<byte> magic = stackalloc byte[8];
        using FileStream file = File.OpenRead(path);
        return file.ReadAtLeast(magic, 8, throwOnEndOfStream: false) == 8
            && BinaryPrimitives.ReadUInt64LittleEndian(magic) == EventRingLayout.Magic;
    }

    private static void WriteTable(TextWriter output, RequestIntake intake, SessionTotals totals, long missed)
    {
        output.WriteLine(
            $"{"session",-24} {"requests",10} {"errors",8} {"bytes in",14} {"bytes out",14} {"p50 ms",9} {"p95 ms",9} {"p99 ms",9}");
        foreach (WindowResult row in totals.Results())
        {
            output.WriteLine(string.Create(CultureInfo.InvariantCulture,
                $"{intake.Sessions.Name(row.Key),-24} {row.Requests,10} {row.Errors,8} {row.BytesIn,14} {row.BytesOut,14} "
                    + $"{row.P50 / 1e3,9:0.00} {row.P95 / 1e3,9:0.00} {row.P99 / 1e3,9:0.00}"));
            foreach ((ushort code, long count) in totals.Errors(row.Key))
            {
                output.WriteLine($"  {RequestErrorCodes.Name(code),-22} {"",10} {count,8}");
            }
        }

        output.WriteLine($"{missed} missed, {intake.Late} late, {intake.DeadLetters.Total} unreadable");
    }

    private static void WriteJson(TextWriter output, RequestIntake intake, SessionTotals totals, long missed)
    {
        using var buffer = new MemoryStream();
        using (var json = new Utf8JsonWriter(buffer))
        {
            json.WriteStartObject();
            json.WriteStartArray("sessions");
            foreach (WindowResult row in totals.Results())
            {
                json.WriteStartObject();
                json.WriteString("session", intake.Sessions.Name(row.Key));
                WindowJson.WriteMembers(json, row);
                json.WriteStartObject("errorsByCode");
                foreach ((ushort code, long count) in totals.Errors(row.Key))
                {
                    json.WriteNumber(RequestErrorCodes.Name(code)!, count);
                }

                json.WriteEndObject();
                json.WriteEndObject();
            }

            json.WriteEndArray();
            json.WriteNumber("missed", missed);
            json.WriteNumber("late", intake.Late);
            json.WriteNumber("unreadable", intake.DeadLetters.Total);
            json.WriteEndObject();
        }

        output.WriteLine(System.Text.Encoding.UTF8.GetString(buffer.GetBuffer().AsSpan(0, (int)buffer.Length)));
    }

    /// <summary>Adds up the windows of one minute: every record is in exactly one.</summary>
    private sealed class SessionTotals : IWindowSink
    {
        private readonly SortedDictionary<int, WindowCell> _sessions = [];

        public void OnWindow(int key, long start, int seconds, WindowCell cell)
        {
            if (seconds != 60)
            {
                return;
            }

            if (!_sessions.TryGetValue(key, out WindowCell? sum))
            {
                _sessions.Add(key, sum = new WindowCell());
            }

            sum.Merge(cell);
        }

        public IEnumerable<WindowResult> Results() => _sessions.Select(static pair => pair.Value.ToResult(pair.Key, 0, 0));

        public IEnumerable<KeyValuePair<ushort, long>> Errors(int key) =>
            (_sessions[key].ErrorsByCode ?? new Dictionary<ushort, long>()).OrderByDescending(static pair => pair.Value);
    }
}
