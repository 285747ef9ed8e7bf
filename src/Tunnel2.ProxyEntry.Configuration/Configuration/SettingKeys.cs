using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The keys that more than their own entry in <see cref="ProxyEntrySettings"/> names.</summary>
internal static class SettingKeys
{
    /// <summary>The configuration section that all keys are in.</summary>
    public const string Section = "Tunnel2";

    public const string HttpListen = "Public:HttpListen";
    public const string HttpsListen = "Public:HttpsListen";
    public const string PublicCertificate = "Public:Certificate";
    public const string UplinkListen = "Uplink:Listen";
    public const string UplinkCertificate = "Uplink:Certificate";
    public const string UplinkClientCa = "Uplink:ClientCa";
    public const string UplinkConnections = "Uplink:Connections";
    public const string AdminListen = "Admin:Listen";
    public const string AdminToken = "Admin:Token";
    public const string ListenersFrom = "ListenersFrom";
    public const string AllowAnonymousAgents = "AllowAnonymousAgents";
    public const string Engine = "Engine";
    public const string Loops = "Loops";
    public const string Connections = "Limits:Connections";
    public const string RelayListen = "Relay:Listen";
    public const string HubMaxConnections = "Hub:MaxConnections";
    public const string Agents = "Agents";
    public const string Tiers = "Tiers";

    /// <summary>Keys that earlier versions had, each with what to do now: left in a file, they would be a wish without effect.</summary>
    public static IReadOnlyDictionary<string, string> Removed { get; } = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase)
    {
        ["Transport"] = $"is not a setting any more; use {Section}:{Engine} ({EngineSetup.Names}) and remove it.",
        ["Http1Front"] = "is not a setting any more: there is one front for HTTP/1.1, which was called own; remove it.",
        ["Admin:Connections"] = FromFiles,
        ["Uplink:Handshakes"] = FromFiles,
        ["Hub:ConnectionsPerAddress"] = "is not a setting any more: one address may open 100 subscriptions a second; remove it.",
        ["Limits:RequestFields"] = "is not a setting any more: it is 200, which is what an uplink carries; remove it.",
    };

    private const string FromFiles = "is not a setting any more: the limit of open files decides; remove it.";
}
