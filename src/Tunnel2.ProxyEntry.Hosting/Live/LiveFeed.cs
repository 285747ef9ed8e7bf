using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Telemetry.Aggregation;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// Reads the ring on a thread of its own, aggregates (<see cref="FeedPartitions"/>), and publishes what comes of it to the hub: statistics
/// per window, sessions that come and go, and the requests of those sessions that a viewer watches. It polls, so that forwarding never
/// wakes it.
/// </summary>
internal sealed class LiveFeed : IDisposable
{
    private const int BatchSize = 256;

    /// <summary>
    /// How many session names are numbered before the numbering starts again. This limits the memory when names change for months.
    /// </summary>
    private const int MostNames = 16_384;

    /// <summary>
    /// How much older than the latest event a record may be. Records are published at the moment when their requests end.
    /// </summary>
    private static readonly TimeSpan _lateness = TimeSpan.FromMilliseconds(500);

    /// <summary>
    /// A clock that was set back by no more has caught up about as soon as windows would begin anew. A thread that is interrupted between
    /// its two clocks sees less than this.
    /// </summary>
    private static readonly TimeSpan _clockSlack = TimeSpan.FromSeconds(1);

    private static readonly TimeSpan _pollEvery = TimeSpan.FromMilliseconds(20);

    /// <summary>The wait between a fault and the next try, so that a fault that repeats costs little and logs few lines.</summary>
    private static readonly TimeSpan _faultPause = TimeSpan.FromSeconds(1);

    private static readonly TimeSpan _endLimit = TimeSpan.FromSeconds(5);

    private readonly SharedEventRing _ring;
    private readonly RequestPublisher _publisher;
    private readonly TimeProvider _time;
    private readonly ContainedFaults _faults;
    private readonly ILogger _logger;
    private readonly SessionStatusFeed _statuses;
    private readonly Hub _hub;
    private readonly DashboardFeed _dashboard;
    private readonly int _partitions;
    private readonly CancellationTokenSource _stop = new();
    private readonly Thread _thread;
    private int _isDisposed;

    public LiveFeed(
        SharedEventRing ring, Hub hub, RequestPublisher publisher, ISessionDirectory directory, TimeProvider time, ContainedFaults faults,
        ILogger logger, int partitions, DashboardFeed? dashboard = null)
    {
        _dashboard = dashboard ?? new DashboardFeed(hub, directory, time);
        _partitions = partitions;
        _faults = faults;
        _ring = ring;
        _hub = hub;
        _publisher = publisher;
        _time = time;
        _logger = logger;
        _statuses = new SessionStatusFeed(hub, directory, time);
        _thread = new Thread(Run) { IsBackground = true, Name = "live feed" };
    }

    /// <summary>Starts the thread. Records published after this call are read, also if the thread begins later.</summary>
    public void Start() => _thread.Start(CreateReader());

    /// <summary>Stops it and waits for its thread. Another call does nothing.</summary>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _isDisposed, 1) != 0)
        {
            return;
        }

        _stop.Cancel();
        if (!_thread.IsAlive || _thread.Join(_endLimit))
        {
            _dashboard.Dispose();
            _stop.Dispose();
        }
    }

    /// <summary>The time of day, µs since 1970.</summary>
    private long Now() => (_time.GetUtcNow() - DateTimeOffset.UnixEpoch).Ticks / TimeSpan.TicksPerMicrosecond;

    private EventRingReader CreateReader() =>
        _ring.CreateReader(new EventRingReaderOptions { PollEvery = _pollEvery, SpinBeforeSleep = 0 });

    private void Run(object? first)
    {
        var counters = new FeedCounters();
        var reader = (EventRingReader)first!;
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                FollowAll(reader, counters);
                break;
            }
            catch (Exception exception)
            {
                // Continues with the records from now on; those of the failed batch are not tried again.
                _faults.Add("live feed", exception);
                LiveLog.AggregationFailed(_logger, exception);
                Thread.Sleep(_faultPause);
                reader.Dispose();
                reader = CreateReader();
            }
        }

        reader.Dispose();
    }

    private void FollowAll(EventRingReader reader, FeedCounters counters)
    {
        var from = 0L;
        while (!_stop.IsCancellationRequested && Follow(reader, counters, from))
        {
            from = reader.Cursor;
        }
    }

    /// <summary>
    /// Aggregates until there are too many names, which practically never happens, or until the clock was set back: all requests would be
    /// late until it has caught up.
    /// </summary>
    /// <returns>False when the ring is closed.</returns>
    private bool Follow(EventRingReader reader, FeedCounters counters, long from)
    {
        var intake = new RequestIntake(new WatermarkFilter(_lateness));
        var requests = new RequestFeed(_ring, _hub, intake.Sessions, _statuses, from, _time);
        using var partitions = new FeedPartitions(_partitions, _hub, intake.Sessions, counters, _statuses, _dashboard);
        using var batches = new RequestBatches(_ring, _hub, _time);
        var source = new RingRequestSource(
            _ring, reader, intake, BatchSize, long.MaxValue, new RecordObservers(requests, batches), _stop.Token);
        var nextChores = 0L;
        var (isSetBack, isOver) = (false, false);
        while (source.TryRead(out var batch))
        {
            partitions.Process(batch);
            counters.Update(intake, source.Missed, _publisher.Dropped);
            partitions.AdvanceTo(source.Watermark);
            requests.EndOfBatch(_time.GetTimestamp(), reader.Cursor);
            batches.EndOfBatch(_time.GetTimestamp(), reader.Cursor);
            _dashboard.Follow();
            if (_time.GetTimestamp() >= nextChores)
            {
                nextChores = _time.GetTimestamp() + _time.TimestampFrequency;

                // One more second: what is in the ring now, and what is being published, may still have times of the clock as it was.
                isOver = isSetBack;
                isSetBack |= _publisher.Synchronise() > _clockSlack;
                _statuses.Look();
                _dashboard.Look(_statuses.Online, _statuses.Gone(), counters.Missed + counters.Dropped);
            }

            isOver |= intake.Sessions.Count > MostNames;
            if (isOver)
            {
                break;
            }
        }

        partitions.Complete();
        counters.Keep(intake);
        if (isSetBack)
        {
            _dashboard.SetBack(Now());
        }

        return isOver;
    }
}
