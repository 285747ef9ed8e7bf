using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Keys that other code names too, apart from their entries in <see cref="ProxyEntrySettings"/>.</summary>
internal static class SettingKeys
{
    /// <summary>The configuration section of all keys.</summary>
    public const string Section = "Tunnel2";

    public const string HttpListen = "Public:HttpListen";
    public const string HttpsListen = "Public:HttpsListen";
    public const string VisitorUrl = "Public:Url";
    public const string TrustedProxies = "TrustedProxies";
    public const string ProxyProtocol = "Public:ProxyProtocol";
    public const string StateFolder = "StateFolder";
    public const string TlsListen = "Tls:Listen";
    public const string PublicCertificate = "Public:Certificate";
    public const string CertificateFolder = "Public:CertificateFolder";
    public const string UplinkListen = "Uplink:Listen";
    public const string UplinkCertificate = "Uplink:Certificate";
    public const string UplinkClientCa = "Uplink:ClientCa";
    public const string UplinkConnections = "Uplink:Connections";
    public const string AdminListen = "Admin:Listen";
    public const string AdminToken = "Admin:Token";
    public const string AdminMetricsToken = "Admin:MetricsToken";
    public const string ListenersFrom = "ListenersFrom";
    public const string AllowAnonymousAgents = "AllowAnonymousAgents";
    public const string Engine = "Engine";
    public const string Loops = "Loops";
    public const string Connections = "Limits:Connections";
    public const string RelayListen = "Relay:Listen";
    public const string RelayCertificate = "Relay:Certificate";
    public const string HubMaxConnections = "Hub:MaxConnections";
    public const string CountryHeader = "Access:CountryHeader";
    public const string ClusterDatabase = "Cluster:Database";
    public const string ClusterListen = "Cluster:Listen";
    public const string ClusterAdvertise = "Cluster:Advertise";
    public const string ClusterUplink = "Cluster:Uplink";
    public const string ClusterZone = "Cluster:Zone";
    public const string ClusterCertificate = "Cluster:Certificate";
    public const string ClusterCa = "Cluster:Ca";
    public const string ClusterSecret = "Cluster:Secret";
    public const string Agents = "Agents";
    public const string Tiers = "Tiers";
    public const string Oidc = "Oidc";

    /// <summary>Keys of earlier versions, each with the replacement. In a file they would have no effect, so they are reported.</summary>
    public static IReadOnlyDictionary<string, string> Removed { get; } = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase)
    {
        ["Transport"] = $"is not a setting any more; use {Section}:{Engine} ({EngineSetup.Names}) and remove it.",
        ["Http1Front"] = "is not a setting any more: there is one front for HTTP/1.1, which was called own; remove it.",
        ["Admin:Connections"] = FromFiles,
        ["Uplink:Handshakes"] = FromFiles,
        ["Limits:RequestFields"] = "is not a setting any more: it is 200, which is what an uplink carries; remove it.",
    };

    private const string FromFiles = "is not a setting any more: the limit of open files decides; remove it.";
}
