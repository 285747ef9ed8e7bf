using System.Net.Sockets;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Connections;

/// <summary>
/// The limits of all listeners, what makes room where one is reached, and what is said of it. Small until <see cref="Apply"/> says how many
/// descriptors there are. Thread-safe.
/// </summary>
internal sealed class ConnectionLimits
{
    /// <summary>Until the start is over.</summary>
    private const int Provisional = 16;

    /// <summary>A visitor who has sent nothing yet, or nothing more, is left alone for this long.</summary>
    private static readonly TimeSpan _leastIdle = TimeSpan.FromSeconds(1);

    /// <summary>A request's head, or TLS, is given this long.</summary>
    private static readonly TimeSpan _leastHead = TimeSpan.FromSeconds(2);

    /// <summary>Both, where others have waited for a second.</summary>
    private static readonly TimeSpan _leastPressed = TimeSpan.FromMilliseconds(400);

    /// <summary>Of the few connections for administration a new one is worth more than one that says nothing.</summary>
    private static readonly TimeSpan _leastAdmin = TimeSpan.FromMilliseconds(25);

    /// <summary>Between two looks for places: who waits for one waits hardly longer, and looking costs little.</summary>
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
        Handshakes = new HandshakeQueue(new ConnectionLimit("handshakes", Provisional, Provisional), timeProvider);
        Watch(Visitors, (most, pressed) =>
        {
            var ended = visitors.EndWaiting(most, pressed ? _leastPressed : _leastIdle, pressed ? _leastPressed : _leastHead);
            return ended == most ? ended : ended + tracked.Visitors.EndWaiting(most - ended, pressed ? _leastPressed : _leastHead);
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

    /// <summary>Connections of visitors, whatever they speak.</summary>
    public ConnectionLimit Visitors { get; }

    /// <summary>Connections for administration, subscribers of the live view among them.</summary>
    public ConnectionLimit Admin { get; }

    /// <summary>Connections of agents before the end of their handshake.</summary>
    public HandshakeQueue Handshakes { get; }

    /// <summary>Lets the limits hold that the process's descriptors allow, and says so where they are few.</summary>
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

    /// <summary>A listener could not accept: the system was out of something. It goes on by itself.</summary>
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
                // Many have waited in a socket that was handed over. In a moment there are places for them, or there are now, and no reason
                // to end anybody.
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
