using System.Globalization;
using System.Text;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>
/// One timer for the limits of all visitors' connections, and their clock: the time is read once per sweep, so that a request reads no
/// clock. Each event loop has its own set of connections, so that loops that open and close many do not wait for each other. The sweep
/// does not run on the loops, because a look at ten thousand connections would hold up requests. Limits are accurate to a quarter of a
/// second, or a fifth of the shortest limit. Thread-safe.
/// </summary>
internal sealed class ConnectionSweep : IWaitingConnections, IDisposable
{
    /// <summary>How long bytes are read and dropped after an answer.</summary>
    private static readonly TimeSpan _drainLimit = TimeSpan.FromSeconds(2);

    /// <summary>After how many periods without a sweep this process itself was held up.</summary>
    private const int MostPeriods = 8;

    private static readonly TimeSpan _longestPeriod = TimeSpan.FromMilliseconds(250);
    private static readonly TimeSpan _shortestPeriod = TimeSpan.FromMilliseconds(5);

    /// <summary>Each is its own lock.</summary>
    private readonly HashSet<Http1Connection>[] _sets =
        [.. Enumerable.Range(0, Stripe.Count).Select(static _ => new HashSet<Http1Connection>())];

    private readonly List<Http1Connection> _late = [];
    private readonly long[] _limits;
    private readonly TimeProvider _timeProvider;
    private readonly long _start;
    private readonly long _longestStep;
    private readonly ContainedFaults _faults;
    private readonly ITimer _timer;
    private int _sweeping;
    private long _now;
    private long _read;
    private byte[] _date = [];
    private long _dateSecond = -1;

    public ConnectionSweep(ProxyEntrySettings settings, TimeProvider timeProvider, ContainedFaults? faults = null)
    {
        _faults = faults ?? new ContainedFaults(timeProvider);
        _timeProvider = timeProvider;
        _start = timeProvider.GetTimestamp();
        HalfClosedLimit = Milliseconds(settings.HalfClosedTimeout);
        SendLimit = Milliseconds(settings.BodyIdleTimeout);
        _limits = new long[(int)ConnectionPhase.Expired];
        _limits[(int)ConnectionPhase.New] = Milliseconds(settings.RequestHeadTimeout);
        _limits[(int)ConnectionPhase.Idle] = Milliseconds(settings.KeepAliveTimeout);
        _limits[(int)ConnectionPhase.Head] = Milliseconds(settings.RequestHeadTimeout);
        _limits[(int)ConnectionPhase.Exchange] = long.MaxValue;
        _limits[(int)ConnectionPhase.Draining] = (long)_drainLimit.TotalMilliseconds;
        var shortest = Math.Min(_limits.Min(), Math.Min(HalfClosedLimit, SendLimit));
        var period = TimeSpan.FromMilliseconds(
            Math.Clamp(shortest / 5, (long)_shortestPeriod.TotalMilliseconds, (long)_longestPeriod.TotalMilliseconds));
        _longestStep = MostPeriods * (long)period.TotalMilliseconds;
        SetTime();
        _timer = timeProvider.CreateTimer(static self => ((ConnectionSweep)self!).OnTimer(), this, period, period);
    }

    /// <summary>The clock from which its time is read.</summary>
    public TimeProvider Clock => _timeProvider;

    /// <summary>
    /// Milliseconds since the start, at the last sweep. Without the times in which this process was stopped or its machine paused: what
    /// visitors sent then is not read yet, so it is not they who are late.
    /// </summary>
    public long Now => Volatile.Read(ref _now);

    /// <summary>The time of the last sweep as a Date field's value (RFC 9110 section 5.6.7).</summary>
    public ReadOnlySpan<byte> Date => Volatile.Read(ref _date);

    /// <summary>Milliseconds after which a visitor that has ended its direction counts as gone.</summary>
    public long HalfClosedLimit { get; }

    /// <summary>How many milliseconds a visitor may read nothing of what is sent.</summary>
    public long SendLimit { get; }

    /// <summary>The number of connections.</summary>
    public int Count
    {
        get
        {
            var count = 0;
            foreach (var set in _sets)
            {
                lock (set)
                {
                    count += set.Count;
                }
            }

            return count;
        }
    }

    public void Add(Http1Connection connection)
    {
        connection.SweptBy = Stripe.Current;
        var set = _sets[connection.SweptBy];
        lock (set)
        {
            set.Add(connection);
        }
    }

    public void Remove(Http1Connection connection)
    {
        var set = _sets[connection.SweptBy];
        lock (set)
        {
            set.Remove(connection);
        }
    }

    /// <inheritdoc/>
    public int EndWaiting(int most, TimeSpan leastIdle, TimeSpan leastHead)
    {
        var now = Now;
        var waiting = new List<(long Waits, Http1Connection Connection)>();
        foreach (var set in _sets)
        {
            lock (set)
            {
                foreach (var connection in set)
                {
                    var waits = connection.WaitsFor(now, (long)leastIdle.TotalMilliseconds, (long)leastHead.TotalMilliseconds);
                    if (waits >= 0)
                    {
                        waiting.Add((waits, connection));
                    }
                }
            }
        }

        waiting.Sort(static (one, other) => other.Waits.CompareTo(one.Waits));
        var ended = 0;
        for (var i = 0; i < waiting.Count && ended < most; i++)
        {
            ended += waiting[i].Connection.TryEvict(now) ? 1 : 0;
        }

        return ended;
    }

    /// <inheritdoc/>
    public void Dispose() => _timer.Dispose();

    private void OnTimer()
    {
        if (Interlocked.Exchange(ref _sweeping, 1) == 0)
        {
            _faults.Run("visitors' limits", static self => self.Sweep(), this);
            _late.Clear();
            Volatile.Write(ref _sweeping, 0);
        }
    }

    private void Sweep()
    {
        SetTime();
        var now = _now;
        foreach (var set in _sets)
        {
            lock (set)
            {
                foreach (var connection in set)
                {
                    if (connection.IsLate(_limits, now))
                    {
                        _late.Add(connection);
                    }
                }
            }
        }

        // Outside the locks, because code that waits on a connection may continue inside this call.
        foreach (var connection in _late)
        {
            Expire(connection, now);
        }
    }

    /// <summary>Acts on a limit of a connection that has passed. Never throws.</summary>
    public void Expire(Http1Connection connection, long now)
    {
        try
        {
            connection.Expire(_limits, now);
        }
        catch (Exception exception)
        {
            // A callback for a visitor that left has thrown; this concerns only its connection.
            _faults.Add("visitors' limits", exception);
            _faults.Run("visitors' limits", static connection => connection.Abort(), connection);
        }
    }

    private void SetTime()
    {
        var read = (long)_timeProvider.GetElapsedTime(_start).TotalMilliseconds;
        Volatile.Write(ref _now, _now + Math.Min(read - _read, _longestStep));
        _read = read;
        var utc = _timeProvider.GetUtcNow();
        var second = utc.ToUnixTimeSeconds();
        if (second != _dateSecond)
        {
            _dateSecond = second;
            Volatile.Write(ref _date, Encoding.ASCII.GetBytes(utc.ToString("R", CultureInfo.InvariantCulture)));
        }
    }

    private static long Milliseconds(TimeSpan limit) => limit == Timeout.InfiniteTimeSpan ? long.MaxValue : (long)limit.TotalMilliseconds;
}
