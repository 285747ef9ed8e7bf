using System.Diagnostics.Metrics;
using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Certificates;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Dashboard;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Reload;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.Telemetry.EventRing;
using Tunnel2.Telemetry.Relay;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.ProxyEntry.Live;

/// <summary>
/// Owns and connects the parts of the live plane: forwarder → ring → aggregation, relay, and taps of other processes. A part that cannot be
/// started is logged and left out; forwarding continues. Thread-safe.
/// </summary>
internal sealed class LivePlane : IAsyncDisposable
{
    /// <summary>How often the relay reads the ring. Readers poll, so that a publish wakes no thread.</summary>
    private static readonly TimeSpan _pollEvery = TimeSpan.FromMilliseconds(10);

    private readonly ProxyEntrySettings _settings;
    private readonly ContainedFaults _faults;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private readonly OwnedRing? _ring;
    private readonly Meter? _relayMeter;
    private readonly LiveFeed? _feed;
    private readonly HandshakeTurns? _turns;
    private readonly ContainerUsage? _usage;
    private EventRelayServer? _relay;
    private long _nextReading;

    public LivePlane(
        ProxyEntrySettings settings, ISessionDirectory directory, TimeProvider timeProvider, IMeterFactory meters, ContainedFaults faults,
        ILogger<LivePlane> logger, NodeReadings? readings = null, PublicAddresses? addresses = null, HandshakeTurns? turns = null)
    {
        _turns = turns;
        _faults = faults;
        _settings = settings;
        _timeProvider = timeProvider;
        _logger = logger;
        _ring = settings.Live ? OpenRing(settings, timeProvider) : null;
        _relayMeter = _ring is not null && settings.RelayListen is not null ? meters.Create(RelayMetrics.MeterName) : null;
        Publisher = new RequestPublisher(_ring?.Ring, timeProvider, settings.LiveQuery);
        if (_ring is not null)
        {
            _usage = new ContainerUsage(timeProvider);

            // A limit of one until the start knows how many descriptors are left.
            Guard = new AdmissionGuard(1, LimitsOf(settings.Hub), timeProvider);
            var hubMeter = meters.Create(HubMetrics.MeterName);
            Hub = new Hub(new HubLimits(), hubMeter, timeProvider, ReadUsage, fault => faults.Add("hub", fault));
            Guard.AddMetrics(hubMeter);
            SlowSubscribers = new SlowSubscribers(Hub, hubMeter);
            NodeInfo.Publish(Hub, settings.EntryId, settings.Domain, readings?.Engine, timeProvider.GetUtcNow());
            _feed = new LiveFeed(
                _ring.Ring, Hub, Publisher, directory, timeProvider, faults, logger, settings.AggregationPartitions,
                new DashboardFeed(Hub, directory, timeProvider, readings, Guard, SlowSubscribers, addresses));
        }
    }

    /// <summary>The forwarder's publisher; off when there is no ring.</summary>
    public RequestPublisher Publisher { get; }

    /// <summary>The subscriptions; null when there is no ring.</summary>
    public Hub? Hub { get; }

    /// <summary>Decides who may subscribe; null when there is no ring.</summary>
    public AdmissionGuard? Guard { get; }

    /// <summary>Pauses subscribers that do not keep up; null when there is no ring.</summary>
    public SlowSubscribers? SlowSubscribers { get; }

    /// <summary>The ring, or null.</summary>
    public SharedEventRing? Ring => _ring?.Ring;

    /// <summary>The relay's address, or null.</summary>
    public IPEndPoint? RelayEndPoint => _relay?.LocalEndPoint;

    /// <summary>The relay's own certificate, to read again when its files change; null when it has none, or shares the uplink's.</summary>
    public IReloadable? RelayCertificate { get; private set; }

    /// <summary>Starts the readers of the ring.</summary>
    /// <param name="uplink">The uplink's certificate, which the relay may share; null for none.</param>
    public void Start(ReloadingCertificate? uplink = null)
    {
        if (_ring is null)
        {
            return;
        }

        _feed!.Start();
        if (_settings.RelayListen is { } endPoint)
        {
            try
            {
                StartRelay(_ring.Ring, endPoint, uplink);
            }
            catch (Exception exception) when (exception is SocketException or IOException)
            {
                LiveLog.RelayFailed(_logger, endPoint, exception.Message);
            }
        }
    }

    /// <summary>Sets how many subscribers there may be.</summary>
    /// <param name="most">The limit.</param>
    /// <param name="files">Files that this process may have open.</param>
    public void LimitSubscribers(int most, int files)
    {
        if (Guard is null)
        {
            return;
        }

        Guard.MaxConnections = most;
        var wanted = _settings.Hub.MaxConnections ?? DescriptorBudget.MostSubscribers;
        if (most < wanted)
        {
            LiveLog.FewerSubscribers(_logger, most, wanted, files);
        }
    }

    /// <summary>Sends subscribers the notice that the server stops, so that their connections do not hold it up.</summary>
    public void CloseSubscribers() => Hub?.CloseAll(1001, "the server is stopping");

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        _feed?.Dispose();
        Hub?.Dispose();
        if (_relay is not null)
        {
            await _relay.DisposeAsync().ConfigureAwait(false);
        }

        _ring?.Dispose();
    }

    private void StartRelay(SharedEventRing ring, IPEndPoint endPoint, ReloadingCertificate? uplink)
    {
        var tls = RelayTls.Create(_settings, uplink, _turns, _timeProvider, _logger);
        var admission = new RelayAdmission(_settings.AdminToken, new FailedAttempts(_settings, _timeProvider), _logger);
        var options = new RelayServerOptions
        {
            Listen = endPoint,
            PollEvery = _pollEvery,
            SpinBeforeSleep = 0,
            Encrypt = tls is null ? null : tls.EncryptAsync,
            Admit = admission.Admit,
            OnFault = fault => _faults.Add("relay", fault),
        };
        _relay = new EventRelayServer(ring, options, _relayMeter!);
        LiveLog.RelayStarted(
            _logger,
            _relay.LocalEndPoint,
            (tls is null ? "plaintext, " : "TLS, ") + (_settings.AdminToken is null ? "no token" : "with the admin token"));
        if (tls is not null)
        {
            var certificate = tls.Certificate.Current;
            LiveLog.RelayCertificateInUse(_logger, certificate.Subject, certificate.Until, certificate.Fingerprint.ToString());
            RelayCertificate = tls.Certificate == uplink ? null : tls.Certificate;
        }
    }

    private void ReadUsage(long now)
    {
        if (now >= _nextReading)
        {
            _nextReading = now + 1000;
            Guard!.Observe(_usage!.Read());
            SlowSubscribers?.Follow(Guard.IsPausing);
        }
    }

    private static AdmissionLimits LimitsOf(HubSettings settings) => new()
    {
        ConnectionsPerSecond = settings.ConnectionsPerSecond,
        ConnectionsPerAddress = settings.ConnectionsPerAddress,
        Threads = settings.MaxThreads,
        Memory = new ShareLimits(settings.MemoryRejectShare, settings.MemoryAcceptShare),
        Cpu = new ShareLimits(settings.CpuRejectShare, settings.CpuAcceptShare),
        Smoothing = settings.Smoothing,
    };

    private OwnedRing? OpenRing(ProxyEntrySettings settings, TimeProvider timeProvider)
    {
        var options = new EventRingOptions { Capacity = settings.RingSlots, Time = timeProvider };
        try
        {
            var ring = settings.RingFile is { } file ? OwnedRing.Open(file, options) : OwnedRing.OpenDefault(settings.EntryId, options);
            if (ring.Refused is not (EventRingOpenError.None or EventRingOpenError.NotFound))
            {
                LiveLog.RingReplaced(_logger, ring.Ring.Path, ring.Refused.ToString());
            }

            LiveLog.RingOpened(_logger, ring.Ring.Path);
            return ring;
        }
        catch (IOException exception)
        {
            LiveLog.RingFailed(_logger, exception.Message);
            return null;
        }
    }
}
