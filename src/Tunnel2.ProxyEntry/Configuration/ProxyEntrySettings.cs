using System.Net;

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

    /// <summary>The certificate for TLS on the uplink, or null for plaintext.</summary>
    public required CertificateSource? UplinkCertificate { get; init; }

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

    /// <summary>How sockets and continuations are scheduled; <see cref="EngineMode.Auto"/> is not resolved yet.</summary>
    public required EngineMode Engine { get; init; }

    /// <summary>Whether an agent without a token is accepted.</summary>
    public required bool AnonymousAgentsAllowed { get; init; }

    /// <summary>The agents that hold a token.</summary>
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

    /// <summary>A short text for logs; a record's own would print every member.</summary>
    public override string ToString() =>
        $"{Domain}/{EntryId} (http {HttpListen?.ToString() ?? "off"}, https {HttpsListen?.ToString() ?? "off"}, uplink {UplinkListen}, admin {AdminListen})";
}
