using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>
/// The settings of ProxyEntry as they are written: section <c>Tunnel2</c> of appsettings.json, environment variables
/// (<c>Tunnel2__Domain</c>) or the command line (<c>--Tunnel2:Domain=…</c>; the last of the three wins).
/// </summary>
/// <remarks>
/// Filled by <see cref="SettingsLoader"/>, or by hand when ProxyEntry is hosted inside another program. Not thread-safe: fill it, turn it
/// into <see cref="ProxyEntrySettings"/>, forget it.
/// </remarks>
public sealed class ProxyEntryOptions
{
    /// <summary>The configuration section all keys live in.</summary>
    public const string SectionName = "Tunnel2";

    /// <summary>The listeners that visitors call.</summary>
    public PublicOptions Public { get; } = new();

    /// <summary>The listener that agents dial.</summary>
    public UplinkOptions Uplink { get; } = new();

    /// <summary>The listener for health checks, metrics, dashboard and API.</summary>
    public AdminOptions Admin { get; } = new();

    /// <summary>
    /// The DNS name under which public names appear: <c>{name}.{Domain}</c>. Default <c>localhost</c>. It must not carry a port. If it is
    /// wrong, every visitor gets 404, since no Host matches, and agents are told URLs that lead elsewhere.
    /// </summary>
    public string Domain { get; set; } = "localhost";

    /// <summary>
    /// This node's id, the suffix in <c>{name}-{EntryId}.{Domain}</c>: 1–12 characters of <c>[a-z0-9-]</c>. Default <c>e1</c>. Two nodes
    /// with the same id make the address of one lead to the other.
    /// </summary>
    public string EntryId { get; set; } = "e1";

    /// <summary>
    /// Also serve <c>/session/{name}/rest</c> and accept chosen session ids from anyone. Default false. For trials and tests: on a public
    /// server anyone could take a session id, and all tunnels would share one browser origin.
    /// </summary>
    public bool TestMode { get; set; }

    /// <summary>
    /// What serves connections: <c>auto</c> (default), <c>epoll</c> or <c>portable</c>. With <see cref="EngineMode.Epoll"/>, anything that
    /// blocks the loop's thread stalls every connection on it.
    /// </summary>
    public EngineMode Engine { get; set; } = EngineMode.Auto;

    /// <summary>
    /// Event loops, a thread each: 1 to 32, or null for auto (default): as many as the processors that the process may use, at most 32. The portable
    /// engine has none.
    /// </summary>
    public int? Loops { get; set; }

    /// <summary>
    /// Whether agents may connect without a token. Not set (default): yes while <c>Uplink:Listen</c> is loopback, no otherwise. Set to true
    /// off loopback, whoever reaches the uplink port can publish a service under your domain.
    /// </summary>
    public bool? AllowAnonymousAgents { get; set; }

    /// <summary>
    /// The Unix socket of a running <c>tunnel2-ports</c>, which holds the listening sockets and gives them to this process at its start:
    /// connections of a restart wait in them. Default none: ProxyEntry listens itself. Linux only.
    /// </summary>
    public string? ListenersFrom { get; set; }

    /// <summary>
    /// The folder of what ProxyEntry makes itself and must find again: the self-made certificate of the uplink. Default: <c>$STATE_DIRECTORY</c>
    /// (systemd sets it), <c>/var/lib/tunnel2</c> for root, else <c>$XDG_STATE_HOME/tunnel2</c>, else <c>~/.local/state/tunnel2</c>. Made with access for
    /// its owner only.
    /// </summary>
    public string? StateFolder { get; set; }

    /// <summary>The agents that hold a token or a certificate, by agent id (1–64 characters of <c>[A-Za-z0-9._-]</c>). Default none.</summary>
    public IDictionary<string, AgentOptions> Agents { get; } = new Dictionary<string, AgentOptions>(StringComparer.OrdinalIgnoreCase);

    /// <summary>
    /// The sets of limits that agents' tokens can name, by name (1–32 characters of <c>[a-z0-9-]</c>). Always there unless replaced: <c>free</c>
    /// (10 requests a second), <c>pro</c> (100) and <c>enterprise</c> (unlimited).
    /// </summary>
    public IDictionary<string, TierOptions> Tiers { get; } = new Dictionary<string, TierOptions>(StringComparer.OrdinalIgnoreCase);

    /// <summary>
    /// Addresses and networks (CIDR) of proxies in front of ProxyEntry whose <c>Forwarded</c> and <c>X-Forwarded-*</c> are believed, as an
    /// array or as one comma-separated value. Default none. Too wide a network lets visitors forge their address.
    /// </summary>
    public IList<string> TrustedProxies { get; } = [];

    /// <summary>
    /// Whether finished requests are published to the event ring, aggregated and shown live. Default true. Off, <c>tunnel2 tap</c>, the
    /// relay and <c>/live</c> have nothing to show.
    /// </summary>
    public bool Live { get; set; } = true;

    /// <summary>
    /// Whether the live view has the query of a request's target: key <c>Tunnel2:Live:Query</c>. Default false. Queries carry tokens, and the relay shows records to whoever
    /// reaches it.
    /// </summary>
    public bool LiveQuery { get; set; }

    /// <summary>The event ring that <c>tunnel2 tap</c> reads.</summary>
    public RingOptions Ring { get; } = new();

    /// <summary>The relay of the event ring for other hosts.</summary>
    public RelayOptions Relay { get; } = new();

    /// <summary>The subscription hub on the admin listener.</summary>
    public HubOptions Hub { get; } = new();

    /// <summary>Limits on how long ProxyEntry and agents wait.</summary>
    public TimeoutOptions Timeouts { get; } = new();

    /// <summary>The access log.</summary>
    public AccessLogOptions AccessLog { get; } = new();

    /// <summary>OTLP, traces and <c>Server-Timing</c>.</summary>
    public TelemetryOptions Telemetry { get; } = new();

    /// <summary>Limits on how many requests wait for agents that are away.</summary>
    public ParkingOptions Parking { get; } = new();

    /// <summary>Limits on how much a visitor's request may bring.</summary>
    public LimitOptions Limits { get; } = new();

    /// <summary>From which level on the program <c>tunnel2-entry</c> logs; default: <see cref="LogLevel.Information"/>. Another host configures its own logging.</summary>
    public LogLevel LogLevel { get; set; } = LogLevel.Information;
}
