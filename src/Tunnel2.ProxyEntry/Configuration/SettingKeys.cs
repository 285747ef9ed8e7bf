namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>The table of all settings. A new setting is a property of the options, a line here and a check in the builder.</summary>
internal static class SettingKeys
{
    public const string HttpListen = "Public:HttpListen";
    public const string HttpsListen = "Public:HttpsListen";
    public const string PublicCertificate = "Public:Certificate";
    public const string PublicCertificateKey = "Public:CertificateKey";
    public const string PublicCertificatePassword = "Public:CertificatePassword";
    public const string UplinkListen = "Uplink:Listen";
    public const string UplinkCertificate = "Uplink:Certificate";
    public const string UplinkCertificateKey = "Uplink:CertificateKey";
    public const string UplinkCertificatePassword = "Uplink:CertificatePassword";
    public const string AllowPlaintext = "Uplink:AllowPlaintext";
    public const string AdminListen = "Admin:Listen";
    public const string AdminToken = "Admin:Token";
    public const string Domain = "Domain";
    public const string EntryId = "EntryId";
    public const string TestMode = "TestMode";
    public const string Engine = "Engine";
    public const string AllowAnonymousAgents = "AllowAnonymousAgents";
    public const string BackendConnect = "Timeouts:BackendConnect";
    public const string BackendHeaders = "Timeouts:BackendHeaders";
    public const string BodyIdle = "Timeouts:BodyIdle";
    public const string TrustedProxies = "TrustedProxies";
    public const string Agents = "Agents";
    public const string AgentTokenHash = "TokenHash";
    public const string AgentNames = "Names";
    public const string AgentTier = "Tier";

    /// <summary>All keys that take one value, whatever the order.</summary>
    public static IReadOnlyList<SettingKey> Values { get; } =
    [
        Text(HttpListen, (o, v) => o.Public.HttpListen = v),
        Text(HttpsListen, (o, v) => o.Public.HttpsListen = v),
        Text(PublicCertificate, (o, v) => o.Public.Certificate = v),
        Text(PublicCertificateKey, (o, v) => o.Public.CertificateKey = v),
        Text(PublicCertificatePassword, (o, v) => o.Public.CertificatePassword = v),
        Text(UplinkListen, (o, v) => o.Uplink.Listen = v),
        Text(UplinkCertificate, (o, v) => o.Uplink.Certificate = v),
        Text(UplinkCertificateKey, (o, v) => o.Uplink.CertificateKey = v),
        Text(UplinkCertificatePassword, (o, v) => o.Uplink.CertificatePassword = v),
        Switch(AllowPlaintext, (o, v) => o.Uplink.AllowPlaintext = v),
        Text(AdminListen, (o, v) => o.Admin.Listen = v),
        Text(AdminToken, (o, v) => o.Admin.Token = v) with { RefusesEmpty = true },
        Text(Domain, (o, v) => o.Domain = v),
        Text(EntryId, (o, v) => o.EntryId = v),
        Switch(TestMode, (o, v) => o.TestMode = v),
        new(Engine, ApplyEngine),
        Switch(AllowAnonymousAgents, (o, v) => o.AllowAnonymousAgents = v),
        Duration(BackendConnect, (o, v) => o.Timeouts.BackendConnect = v),
        Duration(BackendHeaders, (o, v) => o.Timeouts.BackendHeaders = v),
        Duration(BodyIdle, (o, v) => o.Timeouts.BodyIdle = v),
        .. AccessLogKeys.All,
    ];

    /// <summary>The keys under <c>Agents:&lt;id&gt;</c>.</summary>
    public static IReadOnlyList<string> AgentKeys { get; } = [AgentTokenHash, AgentNames, AgentTier];

    private static SettingKey Text(string path, Action<ProxyEntryOptions, string> set) => new(path, (options, value) =>
    {
        set(options, value);
        return null;
    });

    private static SettingKey Switch(string path, Action<ProxyEntryOptions, bool> set) => new(path, (options, value) =>
    {
        if (!SettingValues.TryParseSwitch(value, out var result))
        {
            return $"{SettingsErrorFormatter.Quote(value)} is neither true nor false.";
        }

        set(options, result);
        return null;
    });

    private static SettingKey Duration(string path, Action<ProxyEntryOptions, TimeSpan> set) => new(path, (options, value) =>
    {
        if (!SettingValues.TryParseDuration(value, out var result, out var reason))
        {
            return $"{SettingsErrorFormatter.Quote(value)} {reason}";
        }

        set(options, result);
        return null;
    });

    private static string? ApplyEngine(ProxyEntryOptions options, string value)
    {
        switch (value.ToLowerInvariant())
        {
            case "auto":
                options.Engine = EngineMode.Auto;
                return null;
            case "event-loop":
                options.Engine = EngineMode.EventLoop;
                return null;
            case "portable":
                options.Engine = EngineMode.Portable;
                return null;
            default:
                return $"{SettingsErrorFormatter.Quote(value)} is not an engine; use auto, event-loop or portable.";
        }
    }
}
