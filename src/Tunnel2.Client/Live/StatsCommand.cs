using System.Buffers.Binary;
using System.Globalization;
using System.Text.Json;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Protocol;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Recording;
using Tunnel2.Telemetry.Records;
using TotalsPipeline = Tunnel2.Telemetry.Aggregation.PartitionedPipeline<
    Tunnel2.Telemetry.Aggregation.RequestSample, Tunnel2.Telemetry.Aggregation.SessionHash, Tunnel2.Telemetry.Aggregation.SessionTotals>;

namespace Tunnel2.Client.Live;

/// <summary><c>tunnel2 stats FILE</c>: the statistics of each session over a recording, or over what a ring's file holds.</summary>
internal sealed class StatsCommand
{
    private const int BatchSize = 1000;

    /// <summary>With less to read, a thread more costs more time than it saves.</summary>
    private const int FewBytes = 8_000_000;

    /// <summary>
    /// A whole file has no windows that close: a record counts, however far its clock was from that of the others. A recording has records
    /// of several nodes, and of a clock that was set.
    /// </summary>
    private static readonly TimeSpan _lateness = Timeout.InfiniteTimeSpan;

    private readonly TapOptions _options;
    private readonly string _path;
    private readonly ProgressBar _progress;
    private readonly TextWriter _output;
    private readonly TextWriter _error;

    public StatsCommand(TapOptions options, ProgressBar progress, TextWriter output, TextWriter error)
    {
        _options = options;
        _path = options.ReplayFile!;
        _progress = progress;
        _output = output;
        _error = error;
    }

    /// <summary>Reads the whole file, or until <paramref name="stop"/>, and gives the exit code.</summary>
    /// <exception cref="IOException">The file cannot be read, or the output cannot be written.</exception>
    public int Run(CancellationToken stop) => IsRing(_path) ? RunOnRing(stop) : RunOnRecording(stop);

    private int RunOnRing(CancellationToken stop)
    {
        EventRingOpenError refused = LocalTap.TryOpen(_path, out SharedEventRing? ring);
        if (refused != EventRingOpenError.None)
        {
            _error.WriteLine($"tunnel2: {PlainText.Clean(_path)}: {RecordingText.Describe(refused)}");
            return AgentExitCode.InternalError;
        }

        var intake = new RequestIntake(new WatermarkFilter(_lateness));
        EventRingReader reader = ring!.CreateReader(new EventRingReaderOptions { From = EventRingReaderOptions.FromOldest });
        long end = Volatile.Read(ref ring.Head);
        var source = new RingRequestSource(ring, reader, intake, BatchSize, end, stop: stop);
        SessionTotals[] totals = [.. Enumerable.Range(0, _options.Partitions ?? 1).Select(static _ => new SessionTotals())];
        var plan = new RoutingPlan(totals.Length, SourceCanBeSplit: false, Mergeable: true);
        PipelineReport report = plan.Strategy == RoutingStrategy.Fused
            ? TotalsPipeline.RunFused(source, totals[0])
            : TotalsPipeline.RunRouted(source, totals, new PipelineOptions());
        foreach (SessionTotals other in totals[1..])
        {
            totals[0].Absorb(other, static key => key);
        }

        long left = end - reader.Cursor;
        var statistics = new RecordingStatistics<SessionTotals>(
            left > 0 ? RecordingStatus.Reading : RecordingStatus.Complete, reader.Cursor, intake.Sessions, totals[0], report.Records,
            intake.Late, intake.DeadLetters.Total, source.Missed);
        return Write(statistics, left > 0 ? $"stopped {left} records before the end of the ring" : null);
    }

    private int RunOnRecording(CancellationToken stop)
    {
        long length = new FileInfo(_path).Length;
        var recording = new PartitionedRecording<SessionTotals>(
            () => File.OpenRead(_path), _lateness, static () => new SessionTotals(), stop);
        RecordingStatistics<SessionTotals> statistics;
        _progress.Start(() => recording.Progress.Bytes, length);
        try
        {
            int processors = Math.Min(Environment.ProcessorCount, TapCommandLine.MostPartitions);
            statistics = recording.Run(_options.Partitions ?? (int)Math.Clamp(length / FewBytes, 1, processors));
        }
        finally
        {
            _progress.End();
        }

        switch (statistics.Status)
        {
            case RecordingStatus.Complete:
                return Write(statistics, null);
            case RecordingStatus.Reading:
                return Write(
                    statistics,
                    string.Create(
                        CultureInfo.InvariantCulture,
                        $"stopped at byte {statistics.Position} of {length} ({100 * statistics.Position / Math.Max(1, length)} %)"));
            case RecordingStatus.NotARecording or RecordingStatus.UnsupportedVersion:
                _error.WriteLine($"tunnel2: {RecordingText.Describe(_path, statistics.Status, statistics.Position)}");
                return AgentExitCode.InternalError;
            default:
                Write(statistics, null);
                _error.WriteLine($"tunnel2: {RecordingText.Describe(_path, statistics.Status, statistics.Position)}");
                return AgentExitCode.InternalError;
        }
    }

    private static bool IsRing(string path)
    {
        Span<byte> magic = stackalloc byte[8];
        using FileStream file = File.OpenRead(path);

        // What was read of a pipe is gone, and no ring is in one.
        return file.CanSeek && file.ReadAtLeast(magic, 8, throwOnEndOfStream: false) == 8
            && BinaryPrimitives.ReadUInt64LittleEndian(magic) == EventRingLayout.Magic;
    }

    /// <summary>Writes the statistics; those of a part say of which, in the result itself and as an error.</summary>
    private int Write(RecordingStatistics<SessionTotals> statistics, string? stopped)
    {
        if (_options.Json)
        {
            WriteJson(statistics, stopped);
        }
        else
        {
            WriteTable(statistics, stopped);
        }

        _output.Flush();
        if (stopped is null)
        {
            return AgentExitCode.Stopped;
        }

        _error.WriteLine($"tunnel2: {stopped}: these are the statistics of what was read until then");
        return AgentExitCode.InternalError;
    }

    private void WriteTable(RecordingStatistics<SessionTotals> statistics, string? stopped)
    {
        _output.WriteLine(
            $"{"session",-24} {"requests",10} {"errors",8} {"bytes in",14} {"bytes out",14} {"p50 ms",9} {"p95 ms",9} {"p99 ms",9}");
        foreach (WindowResult row in statistics.Totals.Results())
        {
            // A recording may be of another machine: its names must not steer the terminal.
            string name = PlainText.Clean(statistics.Sessions.Name(row.Key));
            _output.WriteLine(string.Create(CultureInfo.InvariantCulture,
                $"{name,-24} {row.Requests,10} {row.Errors,8} {row.BytesIn,14} {row.BytesOut,14} "
                    + $"{row.P50 / 1e3,9:0.00} {row.P95 / 1e3,9:0.00} {row.P99 / 1e3,9:0.00}"));
            foreach ((ushort code, long count) in statistics.Totals.Errors(row.Key))
            {
                _output.WriteLine($"  {RequestErrorCodes.Name(code),-22} {"",10} {count,8}");
            }
        }

        _output.WriteLine($"{statistics.Missed} missed, {statistics.Late} late, {statistics.Unreadable} unreadable");
        if (stopped is not null)
        {
            _output.WriteLine($"partial: {stopped}");
        }
    }

    private void WriteJson(RecordingStatistics<SessionTotals> statistics, string? stopped)
    {
        using var buffer = new MemoryStream();
        using (var json = new Utf8JsonWriter(buffer))
        {
            json.WriteStartObject();
            json.WriteStartArray("sessions");
            foreach (WindowResult row in statistics.Totals.Results())
            {
                json.WriteStartObject();
                json.WriteString("session", statistics.Sessions.Name(row.Key));
                WindowJson.WriteMembers(json, row);
                json.WriteStartObject("errorsByCode");
                foreach ((ushort code, long count) in statistics.Totals.Errors(row.Key))
                {
                    json.WriteNumber(RequestErrorCodes.Name(code)!, count);
                }

                json.WriteEndObject();
                json.WriteEndObject();
            }

            json.WriteEndArray();
            json.WriteNumber("missed", statistics.Missed);
            json.WriteNumber("late", statistics.Late);
            json.WriteNumber("unreadable", statistics.Unreadable);
            if (stopped is not null)
            {
                json.WriteString("partial", stopped);
            }

            json.WriteEndObject();
        }

        _output.WriteLine(System.Text.Encoding.UTF8.GetString(buffer.GetBuffer().AsSpan(0, (int)buffer.Length)));
    }
}
