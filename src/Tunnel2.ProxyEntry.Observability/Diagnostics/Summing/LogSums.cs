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

    /// <summary>How many kinds a window has; further lines of an event share one kind.</summary>
    public const int MaxKinds = 256;

    /// <summary>How long a window is.</summary>
    public static readonly TimeSpan Window = TimeSpan.FromSeconds(10);

    private readonly Lock _gate = new();
    private readonly TimeProvider _timeProvider;
    private readonly ContainedFaults _faults;
    private readonly ITimer _timer;
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
            if (!_sums.TryGetValue(kind, out var sum))
            {
                if (_sums.Count >= MaxKinds)
                {
                    kind = new LineKind(kind.EventId, "", "");
                }

                if (!_sums.TryGetValue(kind, out sum))
                {
                    _sums.Add(kind, sum = new Sum(logger));
                    if (_sums.Count == 1)
                    {
                        _began = _timeProvider.GetTimestamp();
                        _timer.Change(Window, Timeout.InfiniteTimeSpan);
                    }
                }
            }

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
            if (_sums.TryGetValue(kind, out var sum) || _sums.TryGetValue(new LineKind(kind.EventId, "", ""), out sum))
            {
                sum.Sample ??= text;
            }
        }
    }

    /// <summary>Writes the sums of the current window.</summary>
    public void Dispose()
    {
        _timer.Dispose();
        EndWindow();
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
