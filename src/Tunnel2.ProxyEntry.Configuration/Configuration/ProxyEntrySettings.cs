using System.Collections.Immutable;
using System.Net;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>
/// The table of all settings, with their values. Each property that calls <paramref name="read"/> is one setting: its key, default, range
/// and the words of docs/settings.md. A new setting needs only one more property, here or in <see cref="AccessLogSettings"/>,
/// <see cref="TelemetrySettings"/>, <see cref="HubSettings"/>, <see cref="TcpSettings"/>, <see cref="UdpSettings"/>,
/// <see cref="PoolSettings"/>, <see cref="AcmeSettings"/>, <see cref="ClusterSettings"/>, <see cref="HttpsSettings"/>,
/// <see cref="AgentEntry"/>, <see cref="OidcEntry"/> or <see cref="TierEntry"/>, and the code that uses it.
/// <see cref="SettingsLoader"/> makes it; afterwards it is immutable, so safe for any number of threads.
/// </summary>
internal sealed partial class ProxyEntrySettings(SettingsReader read)
{
    private const string CertificateFile = "a file, self-made";
    private const string KeyWords = "the private key (PEM), where it is not in the certificate's file";
    private const string PasswordWords = "the password of a PKCS#12 file or of an encrypted key. Give it by environment";

    public IPEndPoint? HttpListen { get; } = read.ListenOrOff(
        SettingKeys.HttpListen, "127.0.0.1:12000", "where visitors call over HTTP/1.1");

    public IPEndPoint? HttpsListen { get; } = read.ListenOrOff(
        SettingKeys.HttpsListen, "off", "where visitors call over HTTPS (HTTP/1.1 and HTTP/2); needs a certificate");

    /// <summary>Under which URL visitors come; null: that of the listeners.</summary>
    public VisitorUrl? VisitorUrl { get; } = read.Value<VisitorUrl?>(
        SettingKeys.VisitorUrl, null, "`https://{name}.{Domain}`, a port may follow",
        "the URL by which visitors come, where a reverse proxy or a mapped port is in front: agents print it, and the API and the log show "
        + "it. `{name}` stays as it is; the domain may be written out. [Domains](domains.md) of agents get its scheme and port",
        Configuration.VisitorUrl.Parse, inWords: "those of the listeners");

    private readonly string? _publicCertificate = read.Text(
        SettingKeys.PublicCertificate, CertificateFile,
        "the certificate for HTTPS: PEM with its chain, or PKCS#12. It has to cover `*.{Domain}`, and is read again when the file changes. "
        + "`self-made`: for trials, see [security](security.md#https-for-trials)",
        inWords: "that of `Uplink`");

    private readonly string? _publicKey = read.Text("Public:CertificateKey", "a file", KeyWords);

    private readonly string? _publicPassword = read.Secret("Public:CertificatePassword", PasswordWords);

    /// <summary>The folder of certificates that visitors get by name, or null.</summary>
    public string? CertificateFolder { get; } = read.Text(
        SettingKeys.CertificateFolder, "a folder",
        "certificates for HTTPS by the name that the visitor asks for: each with its key, as PEM; see "
        + "[security](security.md#certificates-by-name). Read again when files change. Other names get `Public:Certificate`, "
        + "or where there is none, a `self-made` one");

    /// <summary>Certificates that the server gets by itself.</summary>
    public AcmeSettings Acme { get; } = new(read);

    /// <summary>Domains that agents claim.</summary>
    public DomainSettings Domains { get; } = new(read);

    /// <summary>The redirect to HTTPS, and what browsers remember.</summary>
    public HttpsSettings Https { get; } = new(read);

    /// <summary>Whether connections of trusted proxies begin with a header of the PROXY protocol.</summary>
    public bool ProxyProtocol { get; } = read.Switch(
        SettingKeys.ProxyProtocol, false,
        "connections from `TrustedProxies` to public listeners begin with a header of the PROXY protocol, version 1 or 2, and are refused "
        + "without one; from all others it is refused");

    /// <summary>The listener for visitors of TLS by name alone, or null.</summary>
    public IPEndPoint? TlsListen { get; } = read.ListenOrOff(
        SettingKeys.TlsListen, "off",
        "where visitors call tunnels of TLS by name (`tunnel2 tls`). They are also served at `Public:HttpsListen`, beside HTTPS");

    /// <summary>The ports of tunnels that carry TCP.</summary>
    public TcpSettings Tcp { get; } = new(read);

    /// <summary>The ports of tunnels that carry UDP.</summary>
    public UdpSettings Udp { get; } = new(read);

    public IPEndPoint UplinkListen { get; } = read.Listen(
        SettingKeys.UplinkListen, "127.0.0.1:12001", "where agents connect. Off loopback the server needs agents' tokens");

    private readonly string? _uplinkCertificate = read.Text(
        SettingKeys.UplinkCertificate, CertificateFile,
        "TLS for agents: PEM with its chain, or PKCS#12; read again when the file changes. `self-made`: made once, its fingerprint is "
        + "printed; see [security](security.md)",
        inWords: "loopback: none, elsewhere `self-made`");

    private readonly string? _uplinkKey = read.Text("Uplink:CertificateKey", "a file", KeyWords);

    private readonly string? _uplinkPassword = read.Secret("Uplink:CertificatePassword", PasswordWords);

    /// <summary>The PEM file of the authorities that issue agents' certificates, or null.</summary>
    public string? UplinkClientCa { get; } = read.Text(
        SettingKeys.UplinkClientCa, "a file", "PEM file of the authorities that issue agents' certificates");

    private readonly bool _allowPlaintext = read.Switch(
        "Uplink:AllowPlaintext", false, "permits agents from other machines without TLS; see [security](security.md)");

    private readonly bool? _allowAnonymous = read.Value<bool?>(
        SettingKeys.AllowAnonymousAgents, null, "true, false",
        "permits agents without a token. Off loopback, everyone who reaches the port can then publish a service under your domain",
        ParseOptionalSwitch, inWords: "loopback: `true`, elsewhere `false`");

    /// <summary>Whether agents may also connect over WebSocket, at the public listeners.</summary>
    public bool UplinkWebSocket { get; } = read.Switch(
        "Uplink:WebSocket", true,
        "agents may also connect over WebSocket at `Public:HttpListen` and `Public:HttpsListen`, at the path `/_tunnel2/uplink`; see "
        + "[networks](networks.md)");

    /// <summary>Failed attempts per minute and address; 0 means no limit.</summary>
    public int FailuresPerMinute { get; } = read.Number(
        "Uplink:FailuresPerMinute", 10, 0, 10_000,
        "failed attempts of one address (IPv6: /64) in a minute; after them the address has to wait. Wrong tokens at the admin listener "
        + "and at the relay have the same limit, each counted apart. `0` is off");

    /// <summary>Connections of agents at once after their handshake; null: by the limit of open files.</summary>
    public int? UplinkConnections { get; } = read.CountOrAuto(
        SettingKeys.UplinkConnections, "connections of agents at once; see [how many](settings.md#how-many-connections)");

    public int SessionsPerAgent { get; } = read.Number(
        "Uplink:SessionsPerAgent", 100, 1, 1_000_000,
        "sessions at once of each agent, and of all agents without a token at one address off loopback (IPv6: /64). Above it the answer "
        + "is: come again later");

    /// <summary>Names that several agents share.</summary>
    public PoolSettings Pool { get; } = new(read);

    /// <summary>Wrong logins of visitors per minute and address; 0 means no limit.</summary>
    public int LoginFailuresPerMinute { get; } = read.Number(
        "Access:FailuresPerMinute", 10, 0, 10_000,
        "wrong logins of one visitor's address (IPv6: /64) in a minute, at all tunnels that ask for a login; a tunnel gets ten times as "
        + "many from all addresses together. Above it 429. `0` is off");

    /// <summary>The field in which a trusted proxy says the visitor's country; null: none does.</summary>
    public string? CountryHeader { get; } = read.Value<string?>(
        SettingKeys.CountryHeader, null, "the name of a header",
        "the header in which every proxy of `TrustedProxies` says the visitor's country with two letters, such as `CF-IPCountry`. "
        + "[Policies](policies.md) that ask for countries need it. The words of other peers do not count",
        SettingValues.ParseFieldName);

    /// <summary>How many bytes of a webhook's body are held until its signature is right.</summary>
    public int WebhookBodyBytes { get; } = read.Number(
        "Access:WebhookBodyBytes", 1024 * 1024, 1024, 64 * 1024 * 1024,
        "bytes of a body that are held until its signature is checked ([webhooks](webhooks.md)); above it 413. All of them together take "
        + "at most a quarter of `Limits:BufferMegabytes`");

    /// <summary>The issuers of tokens that agents may name.</summary>
    public ImmutableArray<TokenIssuer> JwtIssuers { get; } = read.List<TokenIssuer>(
        "Access:JwtIssuers", TokenIssuer.Forms,
        "issuers whose tokens (JWT) agents may ask their visitors for; this server fetches the keys of these, and of no other that an "
        + "agent names. `Agents:<id>:JwtIssuer` needs no entry here; see [tokens](access.md#tokens)",
        TokenIssuer.Parse, mayChange: true);

    /// <summary>The gates where visitors sign in.</summary>
    public IReadOnlyList<OidcEntry> Gates { get; } = read.Named(
        SettingKeys.Oidc, "<gate>", static one => new OidcEntry(one), mayChange: false);

    // Most of them restrict: one that came out empty, by a variable that is not there, must not open what it was to close.
    private readonly IReadOnlyList<AgentEntry> _agents = read.Named(
        SettingKeys.Agents, "<id>", static one => new AgentEntry(one), refusesEmpty: true);

    private readonly IReadOnlyList<TierEntry> _tiers = read.Named(SettingKeys.Tiers, "<name>", static one => new TierEntry(one));

    public IPEndPoint AdminListen { get; } = read.Listen(
        SettingKeys.AdminListen, "127.0.0.1:12002",
        "`/health/live`, `/health/ready`, `/metrics` (Prometheus text), the [dashboard](live.md#dashboard). Off loopback it needs "
        + "`Admin:Token`");

    /// <summary>The hash of the admin token, or null when no token is needed.</summary>
    public TokenHash? AdminToken { get; } = read.Value<TokenHash?>(
        SettingKeys.AdminToken, null, "visible ASCII; secret",
        "the bearer token that everything but `/health/*` and the files of the dashboard, which hold no data, asks for",
        ParseAdminToken, isSecret: true, refusesEmpty: true);

    /// <summary>The hash of the token that reads metrics and nothing else, or null when there is none.</summary>
    public TokenHash? AdminMetricsToken { get; } = read.Value<TokenHash?>(
        SettingKeys.AdminMetricsToken, null, "visible ASCII; secret",
        "a second bearer token, which reads `/metrics` and nothing else, for the collector of metrics; needs `Admin:Token`, and is another "
        + "one",
        ParseAdminToken, isSecret: true, refusesEmpty: true);

    /// <summary>Names that requests to the admin listener may be for, beside those of this machine.</summary>
    public IReadOnlyList<string> AdminHosts { get; } = read.List<string>(
        "Admin:Hosts", "host names",
        "names by which the admin listener is called, beside IP addresses and `localhost`: that of a proxy or container. Others are "
        + "refused, because a web page could point a name of its own at it",
        SettingValues.ParseHostName);

    /// <summary>The path of the tunnel2-ports that hands over the listening sockets. It is read before all other settings.</summary>
    public string? ListenersFrom { get; } = read.Text(
        SettingKeys.ListenersFrom, "a Unix socket",
        "the socket of a running `tunnel2-ports`, which holds the listening sockets over restarts (Linux); see "
        + "[deployment](deployment.md#updates)");

    /// <summary>The domain in lower case, without a dot at the end.</summary>
    public string Domain { get; } = read.Value<string>(
        "Domain", "localhost", "a DNS name", "a name is public as `{name}.{Domain}`; also as `{name}-{EntryId}.{Domain}`", ParseDomain);

    /// <summary>The id of this node in lower case.</summary>
    public string EntryId { get; } = read.Value<string>(
        "EntryId", "e1", "1 to 12 of `[a-z0-9-]`", "this node's id. Each node needs its own", ParseEntryId);

    public bool TestMode { get; } = read.Switch("TestMode", false, "also serves `/session/{name}/rest`; for trials");

    /// <summary>The proxies whose forwarding headers are trusted.</summary>
    public TrustedProxySet TrustedProxies { get; } = new(read.List<IPNetwork>(
        "TrustedProxies", "addresses, networks (CIDR)",
        "proxies in front of ProxyEntry whose `X-Forwarded-*` and `Forwarded` are believed", SettingValues.ParseNetwork));

    public TimeSpan BackendConnectTimeout { get; } = read.Duration(
        "Timeouts:BackendConnect", "10s", "10ms", "10m", "how long the agent may take to connect to the service: then 504");

    public TimeSpan BackendHeadersTimeout { get; } = read.DurationOrOff(
        "Timeouts:BackendHeaders", "off", "10ms", "24h", "how long a service may take to its response head: then 504");

    public TimeSpan BodyIdleTimeout { get; } = read.DurationOrOff(
        "Timeouts:BodyIdle", "5m", "10ms", "24h",
        "how long a body may stall, and how long bytes sent to a visitor may stay unacknowledged (Linux). Silent upgraded "
        + "connections have no limit");

    /// <summary>How long a request waits for the agent of a known name; zero: it does not wait.</summary>
    public TimeSpan ParkTimeout { get; } = OffIsZero(read.DurationOrOff(
        "Timeouts:Park", "5s", "10ms", "1m",
        "how long a request waits for the agent of a known name to come back: then 503; `off`: 503 at once. The name is kept for its "
        + "owner for the same time"));

    public TimeSpan RequestHeadTimeout { get; } = read.DurationOrOff(
        "Timeouts:RequestHead", "30s", "10ms", "10m", "how long a visitor may take to send a request's head: then 408");

    public TimeSpan KeepAliveTimeout { get; } = read.DurationOrOff(
        "Timeouts:KeepAlive", "130s", "10ms", "24h",
        "how long a visitor's connection may be idle. Longer than that of a balancer in front, so that its end comes first");

    public TimeSpan HalfClosedTimeout { get; } = read.DurationOrOff(
        "Timeouts:HalfClosed", "500ms", "10ms", "24h",
        "after a visitor has ended its sending direction: how long nothing may be sent to it before it counts as gone; "
        + "one of gRPC is gone at once");

    public TimeSpan DrainDelay { get; } = OffIsZero(read.DurationOrOff(
        "Timeouts:DrainDelay", "off", "10ms", "10m",
        "how long everything continues after SIGTERM, with `/health/ready` at 503, so that a load balancer notices"));

    public TimeSpan DrainTimeout { get; } = read.Duration(
        "Timeouts:Drain", "30s", "10ms", "24h", "how long running requests may take to finish after SIGTERM; then they are cut");

    public int ParkedPerName { get; } = read.Number("Parking:PerName", 1_000, 0, 1_000_000, "requests that may wait for one name");

    public int ParkedTotal { get; } = read.Number("Parking:Total", 5_000, 0, 1_000_000, "requests that may wait in all");

    public long ParkedBytes { get; } = 1024 * 1024L * read.Number(
        "Parking:Megabytes", 128, 1, 65_536, "MiB that waiting requests may hold in all");

    /// <summary>Bytes that may be held for visitors that do not read them; null: a share of the memory.</summary>
    public long? BufferBytes { get; } = 1024 * 1024 * read.NumberOr(
        "Limits:BufferMegabytes", "auto", 16, 65_536,
        "MiB that may be held of bytes that agents have sent and visitors have not read. Above it, stalled transfers are cut. "
        + "`auto`: a quarter of the memory, 16 to 256");

    public int MaxRequestHeadBytes { get; } = read.Number(
        "Limits:RequestHeadBytes", ProtocolLimits.MaxHeaderBlockLength, 1024, ProtocolLimits.MaxHeaderBlockLength,
        "bytes of a request's head, over HTTP/1.1 and HTTP/2 (counted as HTTP/1.1 would write it). Above it 431");

    public int MaxRequestLineBytes { get; } = read.Number(
        "Limits:RequestLineBytes", 16 * 1024, 256, ProtocolLimits.MaxHeaderBlockLength, "bytes of a request's first line. Above it 414");

    /// <summary>How many bytes a request's body may have, or null.</summary>
    public long? MaxRequestBodyBytes { get; } = read.NumberOr(
        "Limits:RequestBodyBytes", "off", 0, long.MaxValue, "bytes of a request's body. Above it 413");

    /// <summary>Connections of visitors at once; null: what the limit of open files leaves.</summary>
    public int? MaxConnections { get; } = read.CountOrAuto(
        SettingKeys.Connections, "connections of visitors at once; see [how many](settings.md#how-many-connections)");

    /// <summary>Connections of visitors from one address; null: half of all.</summary>
    public int? MaxConnectionsPerAddress { get; } = read.CountOrAuto(
        "Limits:ConnectionsPerAddress", "connections from one address (IPv6: /64; not of `TrustedProxies`)");

    /// <summary>The settings of the access log.</summary>
    public AccessLogSettings AccessLog { get; } = new(read);

    /// <summary>OTLP, traces and <c>Server-Timing</c>.</summary>
    public TelemetrySettings Telemetry { get; } = new(read);

    public bool Live { get; } = read.Switch(
        "Live", true, "whether requests are published, for `tunnel2 tap`, the relay and the live view; see [live.md](live.md)");

    public bool LiveQuery { get; } = read.Switch(
        "Live:Query", false, "whether what is published has the queries of requests, which carry tokens and personal data");

    /// <summary>The ring's file, or null for the default.</summary>
    public string? RingFile { get; } = read.Text(
        "Ring:File", "a file",
        "where requests are published; for its owner only. Where another process has the file of the default: `-2`, `-3` …",
        inWords: "`$XDG_RUNTIME_DIR/tunnel2/{EntryId}.ring`, else `/dev/shm/tunnel2-{uid}/{EntryId}.ring`");

    public int RingSlots { get; } = read.Value<int>(
        "Ring:Slots", "65536", "a power of two, 64 to 16,777,216", "records that are kept; 256 bytes each", ParseSlots);

    /// <summary>The relay's address, or null for none.</summary>
    public IPEndPoint? RelayListen { get; } = read.ListenOrOff(
        SettingKeys.RelayListen, "off",
        "serves what is published over TCP, to clients that have `Admin:Token` where it is set; `tunnel2 tap --host` expects port 12003. "
        + "Off loopback it needs `Admin:Token`");

    private readonly string? _relayCertificate = read.Text(
        SettingKeys.RelayCertificate, CertificateFile,
        "TLS for the relay: PEM with its chain, or PKCS#12; read again when the file changes. `self-made`: the same one as at the uplink",
        inWords: "loopback, or with `Relay:AllowRemote`: none, elsewhere that of `Uplink`");

    private readonly string? _relayKey = read.Text("Relay:CertificateKey", "a file", KeyWords);

    private readonly string? _relayPassword = read.Secret("Relay:CertificatePassword", PasswordWords);

    private readonly bool _relayMayBeOpen = read.Switch(
        "Relay:AllowRemote", false,
        "permits the relay off loopback without a token and, unless it has a certificate, without TLS. Everyone who reaches it can then "
        + "see every request");

    /// <summary>Limits of the live view's hub.</summary>
    public HubSettings Hub { get; } = new(read);

    private readonly int? _aggregationPartitions = (int?)read.NumberOr(
        "Aggregation:Partitions", "auto", 1, 64,
        "partitions of the live view's statistics. With 1 the thread that reads the ring adds them up; with more, it hands records on to "
        + "workers, each with sessions of its own. `auto`: 1 up to four processors, then one per four");

    /// <summary>Partitions of the live view's statistics.</summary>
    public int AggregationPartitions => _aggregationPartitions ?? AutoPartitions(Environment.ProcessorCount);

    /// <summary>The links to the other nodes of a cluster.</summary>
    public NodeLinkSettings NodeLinks { get; } = new(read);

    /// <summary>The engine that serves connections; <see cref="EngineMode.Auto"/> is not resolved yet.</summary>
    public EngineMode Engine { get; } = read.Value<EngineMode>(
        SettingKeys.Engine, "auto", "auto, epoll, portable",
        "what serves connections: `epoll`, an event loop of our own (default on Linux, x64 and arm64), or `portable`, .NET's sockets and "
        + "thread pool (default elsewhere); see [the decision](decisions/0007-own-epoll-transport.md)",
        ParseEngine);

    private readonly int? _loops = (int?)read.NumberOr(
        SettingKeys.Loops, "auto", 1, EpollEngine.MaxLoops,
        "event loops, a thread each. `auto`: one for each processor that ProxyEntry may use (affinity and the limits of containers count), "
        + "at most 32, and fewer where the limit of open files is very low. Each loop needs four open files");

    /// <summary>What makes the process a node of a cluster.</summary>
    public ClusterSettings Cluster { get; } = new(read);

    /// <summary>The folder of the files that ProxyEntry makes itself. It may not exist yet.</summary>
    public string StateFolder { get; } = read.Text(
        SettingKeys.StateFolder, "a folder",
        "where self-made certificates and authorities, those of `Acme:Directory`, tokens made by the [API](api.md#tokens), and the keys "
        + "of `Oidc` are kept",
        inWords: "`$STATE_DIRECTORY`, `/var/lib/tunnel2` (root), `$XDG_STATE_HOME/tunnel2`, `~/.local/state/tunnel2`")
        ?? Configuration.StateFolder.Default();

    public LogLevel LogLevel { get; } = (LogLevel)read.Word(
        "LogLevel", "information", "a level", "the lowest level that the log writes to standard output; see [log events](log-events.md)",
        "trace", "debug", "information", "warning", "error", "critical", "none");

    /// <summary>Partitions where no number is set, by the processors that ProxyEntry may use.</summary>
    internal static int AutoPartitions(int processors) => Math.Clamp(processors / 4, 1, 64);

    /// <summary>A short text for logs.</summary>
    public override string ToString() =>
        $"{Domain}/{EntryId} (http {HttpListen?.ToString() ?? "off"}, https {HttpsListen?.ToString() ?? "off"}, "
        + $"uplink {UplinkListen}, admin {AdminListen})";
}
