using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;

namespace Tunnel2.Client.Core.Ways;

/// <summary>
/// Which way an agent's uplinks go, and what it has learned of the ways. It outlives sessions. Thread-safe.
/// </summary>
internal sealed class UplinkWays
{
    /// <summary>The first wait before the uplink's own port is tried again. It doubles with each try.</summary>
    public static readonly TimeSpan FirstClimb = TimeSpan.FromSeconds(30);

    /// <summary>The longest wait.</summary>
    public static readonly TimeSpan LastClimb = TimeSpan.FromMinutes(10);

    /// <summary>How many sessions in a row may be lost soon at the uplink's own port; then the other way is tried first.</summary>
    private const int MostCut = 3;

    /// <summary>What soon means, in seconds.</summary>
    private const int Soon = 30;

    /// <summary>After a session of this length at its own port the first wait counts again.</summary>
    private static readonly TimeSpan _stable = TimeSpan.FromMinutes(10);

    private readonly Lock _gate = new();
    private readonly AgentOptions _options;
    private readonly Random _random;
    private UplinkWay _current;
    private int _cut;
    private TimeSpan _climb = FirstClimb;

    /// <param name="options">What the user asks for.</param>
    /// <param name="random">For waits of several agents that are not the same.</param>
    public UplinkWays(AgentOptions options, Random random)
    {
        _options = options;
        _random = random;
        _current = options.Uplink == UplinkWay.WebSocket ? UplinkWay.WebSocket : UplinkWay.Direct;
    }

    /// <summary>The way of the present session, or of the last one.</summary>
    public UplinkWay Current
    {
        get
        {
            lock (_gate)
            {
                return _current;
            }
        }
    }

    /// <summary>Whether the uplinks go over WebSocket because their own port could not be reached.</summary>
    public bool IsDetour => _options.MayChangeWay && Current == UplinkWay.WebSocket;

    /// <summary>Why the uplink's own port was left, in a sentence; null: it was not.</summary>
    public string? Reason { get; private set; }

    /// <summary>The ways to try in one attempt, in order: the one that worked last comes first.</summary>
    public IReadOnlyList<UplinkWay> Order()
    {
        var first = Current;
        return !_options.MayChangeWay ? [first]
            : first == UplinkWay.Direct ? [UplinkWay.Direct, UplinkWay.WebSocket]
            : [UplinkWay.WebSocket, UplinkWay.Direct];
    }

    /// <summary>A session has come about on a way.</summary>
    /// <param name="way">The way.</param>
    /// <param name="reason">Why the uplink's own port was not reached before; null: it was not tried.</param>
    public void Took(UplinkWay way, string? reason)
    {
        lock (_gate)
        {
            _current = way;
            Reason = way == UplinkWay.Direct ? null : reason ?? Reason;
        }
    }

    /// <summary>A session has ended.</summary>
    /// <param name="way">The way of its uplinks.</param>
    /// <param name="upTime">How long they were there.</param>
    /// <param name="isLost">Whether no reason was said.</param>
    public void Ended(UplinkWay way, TimeSpan upTime, bool isLost)
    {
        lock (_gate)
        {
            if (way != UplinkWay.Direct)
            {
                return;
            }

            if (upTime >= _stable)
            {
                _climb = FirstClimb;
            }

            _cut = isLost && upTime < TimeSpan.FromSeconds(Soon) ? _cut + 1 : 0;
            if (_cut < MostCut || !_options.MayChangeWay || !IsKnownEverywhere)
            {
                return;
            }

            // Something on the way lets the handshake pass, and cuts what follows.
            _cut = 0;
            _current = UplinkWay.WebSocket;
            Reason = $"{MostCut} sessions in a row were cut at the uplink port within {Soon} s.";
        }
    }

    /// <summary>How long to wait before the uplink's own port is tried again: longer each time, up to a fifth of it at random.</summary>
    public TimeSpan NextClimb()
    {
        lock (_gate)
        {
            var wait = _climb;
            _climb = wait * 2 < LastClimb ? wait * 2 : LastClimb;
            return wait * (1 - (0.2 * _random.NextDouble()));
        }
    }

    /// <summary>
    /// Whether the public port lets the agent in as the uplink's own does: there agents' certificates do not work, and without a token
    /// a server may refuse it for good.
    /// </summary>
    private bool IsKnownEverywhere => _options is { Token: not null, Tls: null or { ClientCertificateFile: null } };

    /// <summary>
    /// Whether another way may succeed where one failed so: not where the name has no address, or the proxy itself is the obstacle.
    /// </summary>
    public static bool MayHelp(ConnectFailureReason reason) => reason is not (
        ConnectFailureReason.NameNotResolved or ConnectFailureReason.ProxyUnreachable or ConnectFailureReason.ProxyAuthentication);
}
