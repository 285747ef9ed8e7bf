using Tunnel2.Multiplexing.Threading;

namespace Tunnel2.Multiplexing.Streams;

/// <summary>
/// The memory of a process for bytes that arrived on uplinks and are not consumed yet. While there is room, an uplink borrows as much as
/// its stalled streams hold, so that they never take its whole window. When little room is left, windows of streams shrink as
/// their bytes are consumed; when none is left, the streams that cost most are cut. Thread-safe.
/// </summary>
/// <remarks>
/// Uplinks report in portions of <see cref="Portion"/> and keep the first for themselves, so that ordinary traffic never comes here. What a
/// stream costs is what it holds times how long the oldest of it has been here: a reader that takes a byte now and then counts as stalled
/// as well.
/// </remarks>
internal sealed class ReceiveBudget : IDisposable
{
    /// <summary>What an uplink reports at once, and what it holds without a report: 256 KiB.</summary>
    public const int Portion = 256 * 1024;

    /// <summary>The smallest limit that makes sense, in bytes: 16 MiB.</summary>
    public const long SmallestLimit = 16L * 1024 * 1024;

    /// <summary>The largest default, in bytes: 256 MiB.</summary>
    public const long LargestDefault = 256L * 1024 * 1024;

    /// <summary>Heads of requests up to this many bytes do not count: the number of streams bounds them. 4 KiB.</summary>
    public const int SmallHead = 4 * 1024;

    /// <summary>No stream's window shrinks below this: one full frame.</summary>
    public const int SmallestShare = 16 * 1024;

    private const string FaultPlace = "receive budget";

    /// <summary>How often the budget looks at streams while uplinks hold more than a portion.</summary>
    private static readonly TimeSpan _period = TimeSpan.FromMilliseconds(250);

    /// <summary>The same while the budget is short.</summary>
    private static readonly TimeSpan _shortPeriod = TimeSpan.FromMilliseconds(50);

    /// <summary>A stream whose bytes are all consumed within this time is not cut.</summary>
    private static readonly TimeSpan _leastAge = TimeSpan.FromMilliseconds(50);

    /// <summary>Cut streams are reported at most this often.</summary>
    private static readonly TimeSpan _reportPeriod = TimeSpan.FromSeconds(1);

    private readonly Lock _gate = new();
    private readonly Lock _looking = new();
    private readonly HashSet<UplinkStreams> _uplinks = [];
    private readonly TimeProvider _time;
    private readonly ContainedFaults _faults;
    private readonly ITimer _timer;
    private long _held;
    private long _heads;
    private long _cut;
    private int _unreported;
    private long? _reportedAt;
    private int _share = int.MaxValue;
    private bool _isTicking;
    private bool _isShort;

    /// <summary>Makes a budget of which nothing is taken.</summary>
    /// <param name="limit">Bytes, at least <see cref="Portion"/>.</param>
    /// <param name="time">The clock of ages.</param>
    /// <param name="faults">Where faults of the timer and of its callbacks are counted.</param>
    public ReceiveBudget(long limit, TimeProvider time, ContainedFaults? faults = null)
    {
        ArgumentOutOfRangeException.ThrowIfLessThan(limit, Portion);
        Limit = limit;
        _time = time;
        _faults = faults ?? new ContainedFaults(time);
        _timer = time.CreateTimer(
            static self => ((ReceiveBudget)self!).OnTimer(), this, Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
    }

    /// <summary>The budget that a process shares unless a host or a test brings its own.</summary>
    public static ReceiveBudget Process { get; } = new(DefaultLimit, TimeProvider.System);

    /// <summary>
    /// A quarter of the memory that the process may use, between <see cref="SmallestLimit"/> and <see cref="LargestDefault"/>.
    /// </summary>
    public static long DefaultLimit => Math.Clamp(GC.GetGCMemoryInfo().TotalAvailableMemoryBytes / 4, SmallestLimit, LargestDefault);

    /// <summary>Bytes that may be held in all.</summary>
    public long Limit { get; }

    /// <summary>Bytes that uplinks have reported, in portions.</summary>
    public long Held => Volatile.Read(ref _held);

    /// <summary>
    /// Bytes that large heads of requests hold. They have no credit, so they have a part of their own: half as much as the limit.
    /// </summary>
    public long HeldHeads => Volatile.Read(ref _heads);

    /// <summary>Streams that were cut so far.</summary>
    public long CutStreams => Volatile.Read(ref _cut);

    /// <summary>What a stream's window may be now, in bytes: without a bound unless the budget is more than half taken.</summary>
    public int StreamShare => Volatile.Read(ref _share);

    /// <summary>
    /// Called with the number of streams that were cut after the last call, at most once a second; on a thread of the pool.
    /// </summary>
    public event Action<int>? StreamsCut;

    /// <summary>Whether an uplink may grant this many bytes more to its peer.</summary>
    public bool HasRoomFor(int count) => Held + count <= Limit;

    /// <summary>An uplink holds more than it has reported.</summary>
    /// <param name="uplink">The uplink.</param>
    /// <param name="count">Bytes, ≥ 1.</param>
    public void Take(UplinkStreams uplink, int count)
    {
        var held = Interlocked.Add(ref _held, count);
        lock (_gate)
        {
            _uplinks.Add(uplink);
            if (!_isTicking || (held > Limit && !_isShort))
            {
                _isTicking = true;
                _isShort = held > Limit;
                _timer.Change(_isShort ? TimeSpan.Zero : _period, _isShort ? _shortPeriod : _period);
            }
        }
    }

    /// <summary>Takes memory for bytes that no uplink holds; <see cref="Return"/> gives it back.</summary>
    /// <param name="count">Bytes, ≥ 1.</param>
    /// <returns>False when there is none left.</returns>
    public bool TryTake(int count)
    {
        if (Interlocked.Add(ref _held, count) <= Limit)
        {
            return true;
        }

        Interlocked.Add(ref _held, -count);
        return false;
    }

    /// <summary>Takes memory for a large head of a request; <see cref="ReturnHead"/> gives it back.</summary>
    /// <param name="count">Bytes, ≥ 1.</param>
    /// <returns>False when there is none left.</returns>
    public bool TryTakeHead(int count)
    {
        if (Interlocked.Add(ref _heads, count) <= Limit / 2)
        {
            return true;
        }

        Interlocked.Add(ref _heads, -count);
        return false;
    }

    /// <summary>A large head is over.</summary>
    /// <param name="count">Bytes, ≥ 0.</param>
    public void ReturnHead(int count) => Interlocked.Add(ref _heads, -count);

    /// <summary>An uplink holds less than it has reported.</summary>
    /// <param name="count">Bytes, ≥ 0.</param>
    public void Return(int count) => Interlocked.Add(ref _held, -count);

    /// <inheritdoc/>
    public void Dispose() => _timer.Dispose();

    /// <summary>
    /// Looks at every stream that holds something: how old its bytes are, how large its window may be, and whether it has to be cut.
    /// </summary>
    internal void Look()
    {
        lock (_looking)
        {
            var streams = new List<HeldStream>();
            var holding = 0;
            foreach (var uplink in Uplinks())
            {
                holding += uplink.Pool.Weigh(_time, _leastAge, streams);
            }

            Volatile.Write(
                ref _share,
                Held > Limit / 2 ? (int)Math.Clamp(Limit / 2 / Math.Max(1, holding), SmallestShare, int.MaxValue) : int.MaxValue);
            if (Held > Limit)
            {
                Cut(streams);
            }

            foreach (var uplink in Uplinks())
            {
                // An uplink whose peer has no credit left learns only here that there is room.
                uplink.ReceiveCredit.BorrowIfLow();
            }

            ReportCut(_time.GetTimestamp());
            Rest();
        }
    }

    private void OnTimer() => _faults.Run(FaultPlace, static self => self.Look(), this);

    private void Cut(List<HeldStream> streams)
    {
        // Down to three quarters: so that it does not begin again with the next byte.
        var surplus = Held - (Limit / 4 * 3);
        var cut = 0;
        streams.Sort(static (left, right) => right.Cost.CompareTo(left.Cost));
        foreach (var stream in streams)
        {
            if (surplus <= 0)
            {
                break;
            }

            surplus -= stream.Stream.CutStalled(stream.Id);
            cut++;
        }

        if (cut > 0)
        {
            Interlocked.Add(ref _cut, cut);
            _unreported += cut;
        }
    }

    private void ReportCut(long now)
    {
        if (_unreported > 0 && (_reportedAt is not { } reportedAt || _time.GetElapsedTime(reportedAt, now) >= _reportPeriod))
        {
            _reportedAt = now;
            var count = _unreported;
            _unreported = 0;
            _faults.Run(FaultPlace, static report => report.StreamsCut?.Invoke(report.count), (StreamsCut, count));
        }
    }

    private UplinkStreams[] Uplinks()
    {
        lock (_gate)
        {
            return [.. _uplinks];
        }
    }

    /// <summary>Forgets uplinks that hold little, and looks less often when that will do.</summary>
    private void Rest()
    {
        lock (_gate)
        {
            _uplinks.RemoveWhere(static uplink => !uplink.ReceiveCredit.HasReported);
            var isShort = Held > Limit;
            if (_uplinks.Count == 0 && !isShort && _unreported == 0)
            {
                _isTicking = false;
                _isShort = false;
                Volatile.Write(ref _share, int.MaxValue);
                _timer.Change(Timeout.InfiniteTimeSpan, Timeout.InfiniteTimeSpan);
            }
            else if (isShort != _isShort)
            {
                _isShort = isShort;
                _timer.Change(isShort ? _shortPeriod : _period, isShort ? _shortPeriod : _period);
            }
        }
    }
}

/// <summary>A stream that holds bytes which are not consumed.</summary>
/// <param name="Stream">The stream.</param>
/// <param name="Id">Which use of it.</param>
/// <param name="Cost">Bytes held times the age of the oldest, in ticks.</param>
internal readonly record struct HeldStream(TunnelStream Stream, Protocol.Frames.StreamId Id, double Cost);
