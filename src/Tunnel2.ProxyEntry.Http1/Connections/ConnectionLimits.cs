using System.Net.Sockets;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Forwarding;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// The limits of all listeners: it makes room when one is reached, and reports it in log and metrics. The limits are small until
/// <see cref="Apply"/> sets those that the number of descriptors allows. Thread-safe.
/// </summary>
internal sealed class ConnectionLimits
{
    /// <summary>The limit of each kind during the start.</summary>
    private const int Provisional = 16;

    /// <summary>A connection that waits for the first or the next request is not ended earlier than this.</summary>
    private static readonly TimeSpan _leastIdle = TimeSpan.FromSeconds(1);

    /// <summary>A connection in a request's head or a TLS handshake is not ended earlier than this.</summary>
    private static readonly TimeSpan _leastHead = TimeSpan.FromSeconds(2);

    /// <summary>Both times when others have waited for a second.</summary>
    private static readonly TimeSpan _leastPressed = TimeSpan.FromMilliseconds(400);

    /// <summary>The time for administration. There are few such connections, so a new one counts more than one that is silent.</summary>
    private static readonly TimeSpan _leastAdmin = TimeSpan.FromMilliseconds(25);

    /// <summary>
    /// The time between two searches for connections to end. A search costs little, and nothing waits much longer than this.
    /// </summary>
    private static readonly TimeSpan _period = TimeSpan.FromMilliseconds(100);

    private readonly ProxyEntrySettings _settings;
    private readonly IUplinkPlaces _uplinks;
    private readonly ConnectionMetrics _metrics;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;
    private readonly OncePerSecond _failureLines;
    private volatile bool _isApplied;

    public ConnectionLimits(
        ProxyEntrySettings settings,
        IUplinkPlaces uplinks,
        IWaitingConnections visitors,
        ListenerConnections tracked,
        CrowdedPlaces busy,
        ConnectionMetrics metrics,
        TimeProvider timeProvider,
        ILogger<ConnectionLimits> logger)
    {
        _settings = settings;
        _uplinks = uplinks;
        _metrics = metrics;
        _timeProvider = timeProvider;
        _logger = logger;
        _failureLines = new OncePerSecond(timeProvider);
        Visitors = new ConnectionLimit("visitors", Provisional, Provisional, settings.TrustedProxies);
        Admin = new ConnectionLimit("admin", Provisional, Provisional);
        Handshakes = new HandshakeQueue(new ConnectionLimit("handshakes", Provisional, Provisional, leavesRoom: true), timeProvider);
        Watch(Visitors, (most, pressed) =>
        {
            var ended = visitors.EndWaiting(most, pressed ? _leastPressed : _leastIdle, pressed ? _leastPressed : _leastHead);
            ended += ended == most ? 0 : tracked.Visitors.EndWaiting(most - ended, pressed ? _leastPressed : _leastHead);

            // Others have waited for a second, and all connections are busy.
            return ended == 0 && pressed ? busy.EndNewest(Visitors.Most, Math.Max(4, Visitors.Most / 64)) : ended;
        }, _period);
        Watch(Admin, (_, _) => tracked.Admin.EndWaiting(int.MaxValue, _leastAdmin), _leastAdmin);
        Watch(Handshakes.Limit, (most, pressed) => Handshakes.EndOldest(most, pressed ? _leastPressed : _leastHead), _period);
        metrics.Observe(() =>
        [
            (Visitors.Kind, Visitors.Count, Visitors.Most),
            (Admin.Kind, Admin.Count, Admin.Most),
            (Handshakes.Limit.Kind, Handshakes.Limit.Count, Handshakes.Limit.Most),
            ("uplinks", uplinks.Connections, uplinks.MostConnections),
        ]);
    }

    /// <summary>Connections of visitors, of every protocol.</summary>
    public ConnectionLimit Visitors { get; }

    /// <summary>Connections for administration, subscribers of the live view among them.</summary>
    public ConnectionLimit Admin { get; }

    /// <summary>Connections of agents before the end of their handshake.</summary>
    public HandshakeQueue Handshakes { get; }

    /// <summary>Sets the limits that the process's descriptors allow, and logs them when they are low.</summary>
    public void Apply(DescriptorBudget budget)
    {
        Visitors.Set(budget.Visitors, budget.VisitorsPerAddress);
        var admin = budget.Admin + budget.Subscribers;
        Admin.Set(admin, admin);
        Handshakes.Limit.Set(budget.Handshakes, Math.Max(2, budget.Handshakes / 2));
        _uplinks.MostConnections = budget.Uplinks;
        _isApplied = true;
        if (budget.Reduced.Count > 0)
        {
            ProxyEntryLog.LimitsReduced(_logger, string.Join(", ", budget.Reduced), budget.Limit);
        }

        if (budget.Limit < DescriptorBudget.FewFiles)
        {
            ProxyEntryLog.FewFiles(_logger, budget.Limit, budget.Visitors, budget.VisitorsPerAddress, budget.Uplinks);
        }
    }

    /// <summary>An accept failed because descriptors or memory were short. The listener tries again by itself.</summary>
    public void AcceptFailed(SocketError error)
    {
        _metrics.AcceptFailed(error.ToString());
        if (_failureLines.MayLog())
        {
            ProxyEntryLog.AcceptFailed(_logger, error.ToString());
        }
    }

    private void Watch(ConnectionLimit limit, Func<int, bool, int> end, TimeSpan period)
    {
        var reached = new OncePerSecond(_timeProvider);
        var refused = new OncePerSecond(_timeProvider);
        var ended = new OncePerSecond(_timeProvider);
        var relief = new ConnectionRelief(limit, end, period, OnEnded, _timeProvider);
        limit.Full = () =>
        {
            if (!_isApplied || limit.IsOpen)
            {
                // Many have waited in a socket that was handed over. There are places for them now or very soon, so no connection has to
                // end.
                return;
            }

            _metrics.Waited(limit.Kind);
            if (reached.MayLog())
            {
                ProxyEntryLog.LimitReached(_logger, limit.Kind, limit.Most);
            }

            relief.Begin();
        };
        limit.AddressFull = address =>
        {
            _metrics.Refused(limit.Kind);
            if (refused.MayLog())
            {
                ProxyEntryLog.AddressLimitReached(_logger, limit.Kind, address, limit.MostPerAddress);
            }
        };

        void OnEnded(int count)
        {
            _metrics.Ended(limit.Kind, count);
            if (ended.MayLog())
            {
                ProxyEntryLog.PlacesTaken(_logger, limit.Kind, count);
            }
        }
    }
}
