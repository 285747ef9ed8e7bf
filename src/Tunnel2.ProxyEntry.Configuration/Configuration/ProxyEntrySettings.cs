using System.Net;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>
/// The checked settings, in the form the running server uses. Immutable, so safe for any number of threads. Made by
/// <see cref="SettingsLoader"/>; <see cref="ProxyEntryOptions"/> says what each setting means.
/// </summary>
internal sealed record ProxyEntrySettings
{
    /// <summary>Where plain HTTP is served, or null when it is off.</summary>
    public required IPEndPoint? HttpListen { get; init; }

    /// <summary>Where HTTPS is served, or null when it is off.</summary>
    public required IPEndPoint? HttpsListen { get; init; }

    /// <summary>The certificate for HTTPS; not null when <see cref="HttpsListen"/> is not.</summary>
    public required CertificateSource? HttpsCertificate { get; init; }

    /// <summary>Where agents connect.</summary>
    public required IPEndPoint UplinkListen { get; init; }

    /// <summary>Whether the uplink is encrypted, and by whose certificate.</summary>
    public required UplinkSecurity UplinkSecurity { get; init; }

    /// <summary>The certificate for TLS on the uplink; not null exactly with <see cref="UplinkSecurity.Certificate"/>.</summary>
    public required CertificateSource? UplinkCertificate { get; init; }

    /// <summary>The PEM file of the authorities that issue agents' certificates, or null.</summary>
    public required string? UplinkClientCa { get; init; }

    /// <summary>How many failed attempts an address may make in a minute; 0 is no limit.</summary>
    public required int FailuresPerMinute { get; init; }

    /// <summary>Where what ProxyEntry makes itself is kept. It may not exist yet.</summary>
    public required string StateFolder { get; init; }

    /// <summary>Where health, metrics, dashboard and API are served.</summary>
    public required IPEndPoint AdminListen { get; init; }

    /// <summary>What the admin token must hash to, or null when none is asked for.</summary>
    public required TokenHash? AdminToken { get; init; }

    /// <summary>The domain in lower case, without a dot at the end.</summary>
    public required string Domain { get; init; }

    /// <summary>The id of this node in lower case.</summary>
    public required string EntryId { get; init; }

    /// <summary>Whether <c>/session/{name}/rest</c> is served.</summary>
    public required bool TestMode { get; init; }

    /// <summary>What serves connections; <see cref="EngineMode.Auto"/> is not resolved yet.</summary>
    public required EngineMode Engine { get; init; }

    /// <summary>Event loops, where the engine has any.</summary>
    public required int Loops { get; init; }

    /// <summary>Whether an agent without a token is accepted.</summary>
    public required bool AnonymousAgentsAllowed { get; init; }

    /// <summary>The agents that hold a token or a certificate, as they were at the start; <see cref="AgentRegistry"/> has those of now.</summary>
    public required AgentTable Agents { get; init; }

    /// <summary>Whose forwarding headers are believed.</summary>
    public required TrustedProxySet TrustedProxies { get; init; }

    /// <summary>How long an agent tries to connect to its backend.</summary>
    public required TimeSpan BackendConnectTimeout { get; init; }

    /// <summary>How long a backend may take to its response head; <see cref="Timeout.InfiniteTimeSpan"/> when off.</summary>
    public required TimeSpan BackendHeadersTimeout { get; init; }

    /// <summary>How long a body may stand still; <see cref="Timeout.InfiniteTimeSpan"/> when off.</summary>
    public required TimeSpan BodyIdleTimeout { get; init; }

    /// <summary>Which requests are logged, how and where.</summary>
    public AccessLogSettings AccessLog { get; init; } = AccessLogSettings.Off;

    /// <summary>OTLP, traces and <c>Server-Timing</c>.</summary>
    public TelemetrySettings Telemetry { get; init; } = TelemetrySettings.Off;

    /// <summary>How long a request waits for the agent of a known name; zero when it does not.</summary>
    public TimeSpan ParkTimeout { get; init; } = TimeSpan.FromSeconds(5);

    /// <summary>Requests that may wait for one name.</summary>
    public int ParkedPerName { get; init; } = 1_000;

    /// <summary>Requests that may wait in all.</summary>
    public int ParkedTotal { get; init; } = 5_000;

    /// <summary>Bytes that waiting requests may hold in all.</summary>
    public long ParkedBytes { get; init; } = 128 * 1024 * 1024;

    /// <summary>How long everything goes on as before after the order to stop.</summary>
    public TimeSpan DrainDelay { get; init; }

    /// <summary>How long running exchanges may take to finish after the order to stop.</summary>
    public TimeSpan DrainTimeout { get; init; } = TimeSpan.FromSeconds(30);

    /// <summary>How long a visitor may take to send a request's head; <see cref="Timeout.InfiniteTimeSpan"/> when off.</summary>
    public required TimeSpan RequestHeadTimeout { get; init; }

    /// <summary>How long a visitor's connection may be idle; <see cref="Timeout.InfiniteTimeSpan"/> when off.</summary>
    public required TimeSpan KeepAliveTimeout { get; init; }

    /// <summary>How long a visitor that has ended its direction is taken to be there; <see cref="Timeout.InfiniteTimeSpan"/> when off.</summary>
    public required TimeSpan HalfClosedTimeout { get; init; }

    /// <summary>The most bytes of a request's head.</summary>
    public required int MaxRequestHeadBytes { get; init; }

    /// <summary>The most fields of a request's head.</summary>
    public required int MaxRequestFields { get; init; }

    /// <summary>The most bytes of a request's first line.</summary>
    public required int MaxRequestLineBytes { get; init; }

    /// <summary>Bytes that may be held for visitors who do not take them; null: a share of the memory.</summary>
    public required long? BufferBytes { get; init; }

    /// <summary>The most bytes of a request's body, or null.</summary>
    public required long? MaxRequestBodyBytes { get; init; }

    /// <summary>From which level on the program logs.</summary>
    public required LogLevel LogLevel { get; init; }

    /// <summary>Whether there is a live plane.</summary>
    public required bool Live { get; init; }

    /// <summary>Whether the live plane has the queries of targets.</summary>
    public bool LiveQuery { get; init; }

    /// <summary>The ring's file, or null for the default.</summary>
    public required string? RingFile { get; init; }

    /// <summary>Records that the ring keeps.</summary>
    public required int RingSlots { get; init; }

    /// <summary>Where the relay listens, or null for none.</summary>
    public required IPEndPoint? RelayListen { get; init; }

    /// <summary>Connections of visitors at once; null: what the limit of open files leaves.</summary>
    public int? MaxConnections { get; init; }

    /// <summary>Those of one address; null: half of all.</summary>
    public int? MaxConnectionsPerAddress { get; init; }

    /// <summary>Connections of agents at once behind their handshake; null: by the limit of open files.</summary>
    public int? UplinkConnections { get; init; }

    /// <summary>Connections of agents at once before that; null: by the limit of open files.</summary>
    public int? UplinkHandshakes { get; init; }

    /// <summary>Sessions at once of each agent that has no number of its own.</summary>
    public int SessionsPerAgent { get; init; } = 100;

    /// <summary>Connections of the admin listener at once; null: by the limit of open files.</summary>
    public int? AdminConnections { get; init; }

    /// <summary>Subscribers that the hub takes at most; null: by the limit of open files.</summary>
    public required int? HubMaxConnections { get; init; }

    /// <summary>New subscribers a second from one address.</summary>
    public required int HubConnectionsPerAddress { get; init; }

    /// <summary>A short text for logs; a record's own would print every member.</summary>
    public override string ToString() =>
        $"{Domain}/{EntryId} (http {HttpListen?.ToString() ?? "off"}, https {HttpsListen?.ToString() ?? "off"}, uplink {UplinkListen}, admin {AdminListen})";
}
