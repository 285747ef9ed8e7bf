using System.Globalization;
using Tunnel2.Transport.Engine;

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
    public const string UplinkClientCa = "Uplink:ClientCa";
    public const string FailuresPerMinute = "Uplink:FailuresPerMinute";
    public const string UplinkConnections = "Uplink:Connections";
    public const string UplinkHandshakes = "Uplink:Handshakes";
    public const string UplinkSessionsPerAgent = "Uplink:SessionsPerAgent";
    public const string ListenersFrom = "ListenersFrom";
    public const string StateFolder = "StateFolder";
    public const string AllowPlaintext = "Uplink:AllowPlaintext";
    public const string AdminListen = "Admin:Listen";
    public const string AdminConnections = "Admin:Connections";
    public const string AdminToken = "Admin:Token";
    public const string Domain = "Domain";
    public const string EntryId = "EntryId";
    public const string TestMode = "TestMode";
    public const string Engine = "Engine";
    public const string Loops = "Loops";
    public const string AllowAnonymousAgents = "AllowAnonymousAgents";
    public const string BackendConnect = "Timeouts:BackendConnect";
    public const string BackendHeaders = "Timeouts:BackendHeaders";
    public const string BodyIdle = "Timeouts:BodyIdle";
    public const string Park = "Timeouts:Park";
    public const string DrainDelay = "Timeouts:DrainDelay";
    public const string Drain = "Timeouts:Drain";
    public const string ParkingPerName = "Parking:PerName";
    public const string ParkingTotal = "Parking:Total";
    public const string ParkingMegabytes = "Parking:Megabytes";
    public const string RequestHead = "Timeouts:RequestHead";
    public const string KeepAlive = "Timeouts:KeepAlive";
    public const string HalfClosed = "Timeouts:HalfClosed";
    public const string RequestHeadBytes = "Limits:RequestHeadBytes";
    public const string RequestFields = "Limits:RequestFields";
    public const string RequestLineBytes = "Limits:RequestLineBytes";
    public const string BufferMegabytes = "Limits:BufferMegabytes";
    public const string Connections = "Limits:Connections";
    public const string ConnectionsPerAddress = "Limits:ConnectionsPerAddress";
    public const string RequestBodyBytes = "Limits:RequestBodyBytes";
    public const string LoggedFrom = "LogLevel";
    public const string Live = "Live";
    public const string LiveQuery = "Live:Query";
    public const string RingFile = "Ring:File";
    public const string RingSlots = "Ring:Slots";
    public const string RelayListen = "Relay:Listen";
    public const string RelayAllowRemote = "Relay:AllowRemote";
    public const string HubMaxConnections = "Hub:MaxConnections";
    public const string HubConnectionsPerAddress = "Hub:ConnectionsPerAddress";
    public const string TrustedProxies = "TrustedProxies";
    public const string Agents = "Agents";
    public const string AgentTokenHash = "TokenHash";
    public const string AgentCertificateFingerprint = "CertificateFingerprint";
    public const string AgentCertificateName = "CertificateName";
    public const string AgentNames = "Names";
    public const string Tiers = "Tiers";
    public const string TierRequestsPerSecond = "RequestsPerSecond";
    public const string TierBurst = "Burst";
    public const string AgentSessions = "Sessions";
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
        Text(UplinkClientCa, (o, v) => o.Uplink.ClientCa = v),
        new(FailuresPerMinute, ApplyFailuresPerMinute),
        SettingKey.NumberOrAuto(UplinkConnections, (o, v) => o.Uplink.Connections = v),
        SettingKey.NumberOrAuto(UplinkHandshakes, (o, v) => o.Uplink.Handshakes = v),
        SettingKey.Number(UplinkSessionsPerAgent, (o, v) => o.Uplink.SessionsPerAgent = v),
        Text(ListenersFrom, (o, v) => o.ListenersFrom = v),
        Text(StateFolder, (o, v) => o.StateFolder = v),
        Switch(AllowPlaintext, (o, v) => o.Uplink.AllowPlaintext = v),
        Text(AdminListen, (o, v) => o.Admin.Listen = v),
        SettingKey.NumberOrAuto(AdminConnections, (o, v) => o.Admin.Connections = v),
        Text(AdminToken, (o, v) => o.Admin.Token = v) with { RefusesEmpty = true },
        Text(Domain, (o, v) => o.Domain = v),
        Text(EntryId, (o, v) => o.EntryId = v),
        Switch(TestMode, (o, v) => o.TestMode = v),
        new(Engine, ApplyEngine),
        SettingKey.NumberOrAuto(Loops, (o, v) => o.Loops = v),
        Switch(AllowAnonymousAgents, (o, v) => o.AllowAnonymousAgents = v),
        SettingKey.Duration(BackendConnect, (o, v) => o.Timeouts.BackendConnect = v),
        SettingKey.Duration(BackendHeaders, (o, v) => o.Timeouts.BackendHeaders = v),
        SettingKey.Duration(BodyIdle, (o, v) => o.Timeouts.BodyIdle = v),
        SettingKey.Duration(Park, (o, v) => o.Timeouts.Park = v),
        SettingKey.Duration(DrainDelay, (o, v) => o.Timeouts.DrainDelay = v),
        SettingKey.Duration(Drain, (o, v) => o.Timeouts.Drain = v),
        SettingKey.Number(ParkingPerName, (o, v) => o.Parking.PerName = v),
        SettingKey.Number(ParkingTotal, (o, v) => o.Parking.Total = v),
        SettingKey.Number(ParkingMegabytes, (o, v) => o.Parking.Megabytes = v),
        SettingKey.Duration(RequestHead, (o, v) => o.Timeouts.RequestHead = v),
        SettingKey.Duration(KeepAlive, (o, v) => o.Timeouts.KeepAlive = v),
        SettingKey.Duration(HalfClosed, (o, v) => o.Timeouts.HalfClosed = v),
        Count(RequestHeadBytes, (o, v) => o.Limits.RequestHeadBytes = (int)v, int.MaxValue),
        Count(RequestFields, (o, v) => o.Limits.RequestFields = (int)v, int.MaxValue),
        Count(RequestLineBytes, (o, v) => o.Limits.RequestLineBytes = (int)v, int.MaxValue),
        new(BufferMegabytes, ApplyBufferMegabytes),
        new(RequestBodyBytes, ApplyRequestBody),
        SettingKey.NumberOrAuto(Connections, (o, v) => o.Limits.Connections = v),
        SettingKey.NumberOrAuto(ConnectionsPerAddress, (o, v) => o.Limits.ConnectionsPerAddress = v),
        new(LoggedFrom, ApplyLogLevel),
        Switch(Live, (o, v) => o.Live = v),
        Switch(LiveQuery, (o, v) => o.LiveQuery = v),
        Text(RingFile, (o, v) => o.Ring.File = v),
        SettingKey.Number(RingSlots, (o, v) => o.Ring.Slots = v),
        Text(RelayListen, (o, v) => o.Relay.Listen = v),
        Switch(RelayAllowRemote, (o, v) => o.Relay.AllowRemote = v),
        SettingKey.NumberOrAuto(HubMaxConnections, (o, v) => o.Hub.MaxConnections = v),
        SettingKey.Number(HubConnectionsPerAddress, (o, v) => o.Hub.ConnectionsPerAddress = v),
        .. AccessLogKeys.All,
        .. TelemetryKeys.All,
    ];

    /// <summary>Keys that earlier versions had, each with what is to be done now: left in a file, they would be a wish without effect.</summary>
    public static IReadOnlyDictionary<string, string> Removed { get; } = new Dictionary<string, string>(StringComparer.OrdinalIgnoreCase)
    {
        ["Transport"] = $"is not a setting any more; use {ProxyEntryOptions.SectionName}:{Engine} ({EngineSetup.Names}) and remove it.",
        ["Http1Front"] = "is not a setting any more: there is one front for HTTP/1.1, which was called own; remove it.",
    };

    /// <summary>The keys under <c>Agents:&lt;id&gt;</c>.</summary>
    public static IReadOnlyList<string> AgentKeys { get; } = [AgentTokenHash, AgentCertificateFingerprint, AgentCertificateName, AgentNames, AgentSessions, AgentTier];

    /// <summary>The keys under <c>Tiers:&lt;name&gt;</c>.</summary>
    public static IReadOnlyList<string> TierKeys { get; } = [TierRequestsPerSecond, TierBurst];

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

    private static string? ApplyFailuresPerMinute(ProxyEntryOptions options, string value)
    {
        if (!int.TryParse(value.Trim(), NumberStyles.None, CultureInfo.InvariantCulture, out var number) || number > 10_000)
        {
            return $"{SettingsErrorFormatter.Quote(value)} is not a number between 0 and 10000.";
        }

        options.Uplink.FailuresPerMinute = number;
        return null;
    }

    private static SettingKey Count(string path, Action<ProxyEntryOptions, long> set, long largest) => new(path, (options, value) =>
    {
        if (!long.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out var result) || result > largest)
        {
            return $"{SettingsErrorFormatter.Quote(value)} is not a whole number.";
        }

        set(options, result);
        return null;
    });

    private static string? ApplyBufferMegabytes(ProxyEntryOptions options, string value)
    {
        if (value.Equals("auto", StringComparison.OrdinalIgnoreCase))
        {
            options.Limits.BufferMegabytes = 0;
            return null;
        }

        // 0 means auto in code only.
        return int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out var megabytes) && megabytes > 0
            ? SettingKey.Number(BufferMegabytes, static (o, v) => o.Limits.BufferMegabytes = v).Apply(options, value)
            : $"{SettingsErrorFormatter.Quote(value)} is neither a number of MiB nor auto.";
    }

    private static string? ApplyRequestBody(ProxyEntryOptions options, string value)
    {
        if (value.Equals("off", StringComparison.OrdinalIgnoreCase))
        {
            options.Limits.RequestBodyBytes = -1;
            return null;
        }

        return Count(RequestBodyBytes, static (o, v) => o.Limits.RequestBodyBytes = v, long.MaxValue).Apply(options, value) is null
            ? null
            : $"{SettingsErrorFormatter.Quote(value)} is neither a number of bytes nor off.";
    }

    private static string? ApplyLogLevel(ProxyEntryOptions options, string value)
    {
        // The name only: a number would be taken too.
        if (!value.Trim().All(char.IsAsciiLetter) || !Enum.TryParse<LogLevel>(value, ignoreCase: true, out var level))
        {
            return $"{SettingsErrorFormatter.Quote(value)} is not a level; use debug, information, warning, error or none.";
        }

        options.LogLevel = level;
        return null;
    }

    private static string? ApplyEngine(ProxyEntryOptions options, string value)
    {
        var mistake = EngineSetup.FindMistake(value, out var engine);
        options.Engine = engine;
        return mistake is null ? null : $"{SettingsErrorFormatter.Quote(value)} {mistake}.";
    }
}
