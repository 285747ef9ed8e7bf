using System.Buffers;
using Tunnel2.ProxyEntry.Diagnostics;

namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>
/// The consumer of the ring: a thread that turns records into lines and gives them to the sink. It reads the ring every 50 ms while there
/// are records. It is woken only when it sleeps longer or the ring fills, so that a request costs no system call.
/// </summary>
/// <remarks>
/// After a failed write it tries the sink again every 5 s. Until then lines are dropped and counted; this is logged once.
/// </remarks>
internal sealed class AccessLogWriter : IDisposable
{
    private static readonly TimeSpan _look = TimeSpan.FromMilliseconds(50);

    /// <summary>How long an idle writer sleeps at most, which limits the cost of a missed wake-up.</summary>
    private static readonly TimeSpan _sleep = TimeSpan.FromSeconds(1);

    private static readonly TimeSpan _retry = TimeSpan.FromSeconds(5);
    private static readonly TimeSpan _lastWords = TimeSpan.FromSeconds(2);

    private readonly AccessLogRing _ring;
    private readonly IAccessLogFormatter _formatter;
    private readonly IAccessLogSink _sink;
    private readonly ProxyEntryMetrics _metrics;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private readonly ArrayBufferWriter<byte> _lines = new(128 * 1024);
    private readonly AutoResetEvent _wake = new(false);
    private readonly Thread _thread;
    private readonly int _crowded;
    private int _asleep;
    private int _disposed;
    private volatile bool _stopping;
    private long _dropped;
    private long _droppedReported;
    private long _linesGathered;
    private long _linesLost;
    private long _failedAt;
    private long _complainedAt;
    private bool _failed;

    public AccessLogWriter(
        AccessLogRing ring, IAccessLogFormatter formatter, IAccessLogSink sink, ProxyEntryMetrics metrics, TimeProvider timeProvider,
        ILogger logger)
    {
        _ring = ring;
        _formatter = formatter;
        _sink = sink;
        _metrics = metrics;
        _timeProvider = timeProvider;
        _logger = logger;
        _crowded = ring.Capacity / 2;
        _thread = new Thread(Run) { IsBackground = true, Name = "tunnel2-access-log" };
        _thread.Start();
    }

    /// <summary>A record was published. Thread-safe; a system call only if the writer sleeps or is late.</summary>
    public void Published()
    {
        if (Volatile.Read(ref _asleep) != 0 || _ring.Count == _crowded)
        {
            Wake();
        }
    }

    /// <summary>A record found no room. Thread-safe.</summary>
    public void Dropped() => Interlocked.Increment(ref _dropped);

    /// <summary>Writes the waiting records, as many as the sink accepts within 2 s.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _disposed, 1) != 0)
        {
            return;
        }

        _stopping = true;
        _wake.Set();
        if (_thread.Join(_lastWords))
        {
            _sink.Dispose();
            _wake.Dispose();
        }
    }

    private void Wake()
    {
        if (Interlocked.Exchange(ref _asleep, 0) != 0 || _ring.Count >= _crowded)
        {
            try
            {
                _wake.Set();
            }
            catch (ObjectDisposedException)
            {
                // The log has ended; a request after that has no line.
            }
        }
    }

    private void Run()
    {
        var quiet = 0;
        while (true)
        {
            // Read before the ring, so that records published before the stop are still written.
            var last = _stopping;
            var any = TryDrain();
            if (last)
            {
                return;
            }

            quiet = any ? 0 : quiet + 1;
            if (quiet * _look < _sleep)
            {
                _wake.WaitOne(_look);
                continue;
            }

            Volatile.Write(ref _asleep, 1);
            Interlocked.MemoryBarrier();
            if (!_ring.TryPeek(out _))
            {
                _wake.WaitOne(_sleep);
            }

            Volatile.Write(ref _asleep, 0);
        }
    }

    private bool TryDrain()
    {
        try
        {
            return Drain();
        }
        catch (Exception exception)
        {
            Complain(exception);
            Clear();
            return false;
        }
    }

    /// <summary>Writes all records that are there.</summary>
    private bool Drain()
    {
        var any = false;
        while (_ring.TryPeek(out var position))
        {
            any = true;
            Format(position);
            _ring.Advance();
            if (_lines.WrittenCount >= _sink.PreferredBytes - 1024)
            {
                Flush();
            }
        }

        var dropped = Interlocked.Read(ref _dropped);
        if (dropped > _droppedReported)
        {
            _formatter.WriteDropped(_timeProvider.GetUtcNow().UtcDateTime, dropped - _droppedReported, _lines);
            _droppedReported = dropped;
            any = true;
        }

        Flush();
        return any;
    }

    /// <summary>
    /// Makes a record's line. If that fails, the lines gathered with it are lost too, because a part of this one may be among them.
    /// </summary>
    private void Format(long position)
    {
        try
        {
            _formatter.Write(_ring.At(position), _lines);
            _linesGathered++;
        }
        catch (Exception exception)
        {
            Complain(exception);
            _metrics.AccessLogDropped(_linesGathered + 1, "unwritable");
            Clear();
        }
    }

    /// <summary>Logs a fault of our own, not each time: this thread serves all requests, so it continues.</summary>
    private void Complain(Exception exception)
    {
        if (_complainedAt == 0 || _timeProvider.GetElapsedTime(_complainedAt) >= _retry)
        {
            _complainedAt = Math.Max(1, _timeProvider.GetTimestamp());
            ProxyEntryLog.AccessLogFailed(_logger, _sink.Name, exception.Message);
        }
    }

    private void Flush()
    {
        if (_lines.WrittenCount == 0)
        {
            return;
        }

        if (!_failed || _timeProvider.GetElapsedTime(_failedAt) >= _retry)
        {
            try
            {
                _sink.Write(_lines.WrittenSpan);
                if (_failed)
                {
                    _failed = false;
                    ProxyEntryLog.AccessLogWorksAgain(_logger, _sink.Name, _linesLost);
                }

                Clear();
                return;
            }
            catch (Exception exception)
            {
                _failedAt = _timeProvider.GetTimestamp();
                if (!_failed)
                {
                    _failed = true;
                    _linesLost = 0;
                    ProxyEntryLog.AccessLogFailed(_logger, _sink.Name, exception.Message);
                }
            }
        }

        _linesLost += _linesGathered;
        _metrics.AccessLogDropped(_linesGathered, "unwritable");
        Clear();
    }

    private void Clear()
    {
        _linesGathered = 0;
        _lines.ResetWrittenCount();
    }
}
