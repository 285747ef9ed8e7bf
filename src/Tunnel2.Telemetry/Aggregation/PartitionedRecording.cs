using System.Runtime.ExceptionServices;
using Tunnel2.Telemetry.Recording;

namespace Tunnel2.Telemetry.Aggregation;

/// <summary>
/// Aggregates a recording on several threads. The file is cut into chunks; a thread takes the next one, keeps what it comes to for itself,
/// and the chunks are merged in the order of the file. What is merged is always the result of one thread over a beginning of the file,
/// record for record, also when the reading is stopped. One instance a run.
/// </summary>
/// <remarks>
/// A thread that begins in the middle guesses two things, and both are judged when the chunk before has been merged. Whether its first
/// frame is one: it is when the chunk before ends there. Which records are late: those that it took in are not if the window of the
/// earliest was still open after all chunks before; those that it left out are late in any case. A chunk with a wrong guess is read again,
/// with what is known then.
/// </remarks>
internal sealed class PartitionedRecording<TTotals>
    where TTotals : class, IMergeableState<TTotals>
{
    /// <summary>Chunks that may be read or wait to be merged, for each partition: bounds the memory where one thread is slow.</summary>
    private const int AheadPerPartition = 2;

    private readonly Func<Stream> _open;
    private readonly Func<TTotals> _createTotals;
    private readonly TimeSpan _lateness;
    private readonly CancellationToken _stop;
    private readonly object _gate = new();
    private readonly Dictionary<int, Part> _waiting = [];
    private readonly SessionKeyTable _sessions = new();
    private readonly WatermarkFilter _before;
    private readonly TTotals _totals;
    private long _chunkSize;
    private int _chunks;
    private int _ahead;
    private int _next;
    private int _merged;
    private bool _isEnded;
    private Exception? _failure;
    private RecordingStatus _status = RecordingStatus.Reading;
    private long _position = RecordingFormat.HeaderLength;
    private long _records;
    private long _late;
    private long _unreadable;
    private long _missed;

    /// <param name="open">Opens the recording; called once by each thread.</param>
    /// <param name="lateness">See <see cref="WatermarkFilter"/>.</param>
    /// <param name="createTotals">Makes empty totals.</param>
    /// <param name="stop">Ends the reading; what was read until then is the result.</param>
    internal PartitionedRecording(Func<Stream> open, TimeSpan lateness, Func<TTotals> createTotals, CancellationToken stop = default)
    {
        _open = open;
        _lateness = lateness;
        _createTotals = createTotals;
        _stop = stop;
        _before = new WatermarkFilter(lateness);
        _totals = createTotals();
    }

    /// <summary>Bytes that were read so far.</summary>
    internal RecordingProgress Progress { get; } = new();

    /// <summary>Chunks that were read a second time, because of a wrong guess.</summary>
    internal int ReadAgain { get; private set; }

    /// <summary>Reads and aggregates on <paramref name="partitions"/> threads, the calling one among them.</summary>
    /// <param name="partitions">One or more. With one nothing is cut and nothing merged.</param>
    /// <param name="chunkSize">Bytes a chunk; null: a part of what each thread has to do, 1 to 64 MiB.</param>
    /// <exception cref="IOException">The file cannot be read.</exception>
    internal RecordingStatistics<TTotals> Run(int partitions, long? chunkSize = null)
    {
        using var reader = new RecordingReader(_open());
        if (reader.Status != RecordingStatus.Reading
            || new RoutingPlan(partitions, reader.Length is not null, Mergeable: true).Strategy != RoutingStrategy.SplitAndMerge)
        {
            return RunWhole(reader);
        }

        long length = Math.Max(1, reader.Length!.Value - RecordingFormat.HeaderLength);
        _chunkSize = chunkSize ?? Math.Clamp(length / (partitions * 8), 1 << 20, 64 << 20);
        _chunks = (int)((length + _chunkSize - 1) / _chunkSize);
        _ahead = AheadPerPartition * partitions;
        var threads = new Thread[Math.Min(partitions, _chunks) - 1];
        for (int i = 0; i < threads.Length; i++)
        {
            threads[i] = new Thread(WorkAlone) { IsBackground = true, Name = "statistics" };
            threads[i].Start();
        }

        Work(reader);
        Array.ForEach(threads, static thread => thread.Join());
        if (_failure is not null)
        {
            ExceptionDispatchInfo.Throw(_failure);
        }

        return new RecordingStatistics<TTotals>(_status, _position, _sessions, _totals, _records, _late, _unreadable, _missed);
    }

    private RecordingStatistics<TTotals> RunWhole(RecordingReader reader)
    {
        var source = new RecordingSource(
            reader, new RequestIntake(new WatermarkFilter(_lateness)), long.MaxValue, Progress, _stop);
        PipelineReport report = PartitionedPipeline<RequestSample, SessionHash, TTotals>.RunFused(source, _totals);
        RequestIntake intake = source.Intake;
        return new RecordingStatistics<TTotals>(
            reader.Status, reader.Position, intake.Sessions, _totals, report.Records, intake.Late, intake.DeadLetters.Total, source.Missed);
    }

    private void WorkAlone()
    {
        try
        {
            using var reader = new RecordingReader(_open());
            Work(reader);
        }
        catch (Exception exception)
        {
            Fail(exception);
        }
    }

    private void Work(RecordingReader reader)
    {
        try
        {
            while (TryTakeChunk(out int chunk))
            {
                Part part = chunk == 0 || reader.TryMoveToFrame(Start(chunk), Start(chunk + 1))
                    ? Read(reader, chunk == 0 ? _position : reader.Position, Start(chunk + 1), new WatermarkFilter(_lateness))
                    : Part.None;
                lock (_gate)
                {
                    _waiting.Add(chunk, part);
                    MergeUnsynchronized(reader);
                    Monitor.PulseAll(_gate);
                }
            }
        }
        catch (Exception exception)
        {
            Fail(exception);
        }
    }

    /// <summary>
    /// Where a chunk's frames begin at the earliest. The last chunk has all that follows, also what is written until then.
    /// </summary>
    private long Start(int chunk) => chunk >= _chunks ? long.MaxValue : RecordingFormat.HeaderLength + (chunk * _chunkSize);

    private bool TryTakeChunk(out int chunk)
    {
        lock (_gate)
        {
            while (!_isEnded && _next < _chunks && _next >= _merged + _ahead)
            {
                Monitor.Wait(_gate);
            }

            chunk = _next;
            if (_isEnded || _next == _chunks || _stop.IsCancellationRequested)
            {
                return false;
            }

            _next++;
            return true;
        }
    }

    private void Fail(Exception exception)
    {
        lock (_gate)
        {
            _failure ??= exception;
            _isEnded = true;
            Monitor.PulseAll(_gate);
        }
    }

    /// <summary>Reads the frames from <paramref name="start"/> on that begin before <paramref name="end"/>.</summary>
    private Part Read(RecordingReader reader, long start, long end, WatermarkFilter filter)
    {
        if (reader.Position != start || reader.Status != RecordingStatus.Reading)
        {
            reader.MoveTo(start);
        }

        var source = new RecordingSource(reader, new RequestIntake(filter), end, Progress, _stop);
        TTotals totals = _createTotals();
        PipelineReport report = PartitionedPipeline<RequestSample, SessionHash, TTotals>.RunFused(source, totals);
        return new Part(start, reader.Position, reader.Status, source, totals, report.Records);
    }

    /// <summary>Merges what follows what has been merged.</summary>
    private void MergeUnsynchronized(RecordingReader reader)
    {
        while (!_isEnded && _waiting.Remove(_merged, out Part? part))
        {
            long end = Start(++_merged);
            if (_position >= end)
            {
                continue; // A frame that began before goes beyond the whole chunk.
            }

            if (part.Start != _position || part.Source!.Earliest < _before.FirstOpen)
            {
                Progress.Add(part.Start - part.Position);
                var filter = new WatermarkFilter(_lateness);
                if (_before.Watermark != long.MinValue)
                {
                    filter.AdvanceTo(_before.Watermark + (_lateness.Ticks / TimeSpan.TicksPerMicrosecond));
                }

                ReadAgain++;
                part = Read(reader, _position, end, filter);
            }

            Merge(part);

            // Stopped, damaged, or the file's end.
            _isEnded = part.Status != RecordingStatus.Reading || part.Position < end;
        }
    }

    private void Merge(Part part)
    {
        RequestIntake intake = part.Source!.Intake;
        int[] numbers = new int[intake.Sessions.Count];
        for (int i = 0; i < numbers.Length; i++)
        {
            numbers[i] = _sessions.GetOrAdd(intake.Sessions.NameBytes(i));
        }

        _totals.Absorb(part.Totals!, key => numbers[key]);
        _before.AdvanceTo(part.Source.Latest);
        _records += part.Records;
        _late += intake.Late;
        _unreadable += intake.DeadLetters.Total;
        _missed += part.Source.Missed;
        (_status, _position) = (part.Status, part.Position);
    }

    /// <summary>What a chunk came to.</summary>
    private sealed record Part(
        long Start, long Position, RecordingStatus Status, RecordingSource? Source, TTotals? Totals, long Records)
    {
        /// <summary>No frame seems to begin in the chunk.</summary>
        internal static Part None { get; } = new(-1, -1, RecordingStatus.Reading, null, null, 0);
    }
}
