using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.ProxyEntry.Diagnostics.Summing;

/// <summary>
/// Counts log lines of a kind in windows of ten seconds: the first few are written, the others are counted, and one line at the window's
/// end has their number. All share one timer, which runs only while there are lines. Thread-safe; its own lines are written on the timer's
/// thread.
/// </summary>
internal sealed class LogSums : IDisposable
{
    /// <summary>How many lines of a kind are written in a window.</summary>
    public const int ShownOfKind = 5;

    /// <summary>How many kinds a window has; further kinds of an event share one.</summary>
    public const int MaxKinds = 256;

    /// <summary>
    /// How many names have a kind of their own, of one event with one code in a window. Visitors make names up as they like; further names
    /// of the same event and code share one kind, and hide nothing of another code.
    /// </summary>
    public const int MaxNames = 20;

    /// <summary>How long a window is.</summary>
    public static readonly TimeSpan Window = TimeSpan.FromSeconds(10);

    private readonly Lock _gate = new();
    private readonly TimeProvider _timeProvider;
    private readonly ContainedFaults _faults;
    private readonly ITimer _timer;
    private readonly Dictionary<(int EventId, string Code), int> _names = [];
    private Dictionary<LineKind, Sum> _sums = [];
    private long _began;
    private long _suppressed;

    public LogSums(TimeProvider timeProvider, ContainedFaults? faults = null)
    {
        _faults = faults ?? new ContainedFaults(timeProvider);
        _timeProvider = timeProvider;
        _timer = timeProvider.CreateTimer(
            static self => ((LogSums)self!).EndWindow(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>Lines that were counted and not written.</summary>
    public long Suppressed => Interlocked.Read(ref _suppressed);

    /// <summary>Counts a line.</summary>
    /// <param name="kind">Its kind.</param>
    /// <param name="logger">The logger of the line, which also gets the sum.</param>
    /// <param name="isFirstSuppressed">Whether the caller should give the line's text to <see cref="Keep"/>.</param>
    /// <returns>Whether the line should be written.</returns>
    public bool Count(LineKind kind, ILogger logger, out bool isFirstSuppressed)
    {
        lock (_gate)
        {
            kind = FindKindUnsynchronized(kind);
            var sum = _sums.GetValueOrDefault(kind) ?? AddUnsynchronized(kind, logger);
            sum.Lines++;
            isFirstSuppressed = sum.Lines == ShownOfKind + 1;
            if (sum.Lines <= ShownOfKind)
            {
                return true;
            }

            _suppressed++;
            return false;
        }
    }

    /// <summary>Keeps the text of the first line of a kind that is not written; the sum shows it as an example.</summary>
    public void Keep(LineKind kind, string text)
    {
        lock (_gate)
        {
            _sums.GetValueOrDefault(FindKindUnsynchronized(kind))?.Sample ??= text;
        }
    }

    /// <summary>Writes the sums of the current window.</summary>
    public void Dispose()
    {
        _timer.Dispose();
        EndWindow();
    }

    /// <summary>
    /// The kind that a line counts in: its own, that of its event and code where these have too many names, or that of its event where
    /// there are too many kinds.
    /// </summary>
    private LineKind FindKindUnsynchronized(LineKind kind)
    {
        if (!_sums.ContainsKey(kind) && _names.GetValueOrDefault((kind.EventId, kind.Code)) >= MaxNames)
        {
            kind = kind with { Name = "" };
        }

        return _sums.Count < MaxKinds || _sums.ContainsKey(kind) ? kind : new LineKind(kind.EventId, "", "");
    }

    private Sum AddUnsynchronized(LineKind kind, ILogger logger)
    {
        var sum = new Sum(logger);
        _sums.Add(kind, sum);
        if (_sums.Count == 1)
        {
            _began = _timeProvider.GetTimestamp();
            _timer.Change(Window, Timeout.InfiniteTimeSpan);
        }

        if (kind.Name.Length > 0)
        {
            var code = (kind.EventId, kind.Code);
            _names[code] = _names.GetValueOrDefault(code) + 1;
        }

        return sum;
    }

    private void EndWindow()
    {
        Dictionary<LineKind, Sum> ended;
        TimeSpan lasted;
        lock (_gate)
        {
            ended = _sums;
            lasted = _timeProvider.GetElapsedTime(_began);
            _sums = [];
            _names.Clear();
        }

        foreach (var sum in ended.Values)
        {
            if (sum.Lines > ShownOfKind)
            {
                // An output of lines may fail, and no caller would see an exception in a timer.
                _faults.Run("sums of log lines", static work => work.sum.Write(work.lasted), (sum, lasted));
            }
        }
    }

    private sealed class Sum(ILogger logger)
    {
        public ILogger Logger { get; } = logger;

        public long Lines { get; set; }

        public string? Sample { get; set; }

        public void Write(TimeSpan lasted) =>
            ProxyEntryLog.LinesSummed(Logger, Lines, Math.Round(lasted.TotalSeconds, 1), ShownOfKind, Sample ?? "");
    }
}
