namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>
/// Settings that say nothing while another one is missing: without a word, a server would start and not do what was asked of it. Where the
/// other one is given as <c>off</c>, they may wait for the day when it is on.
/// </summary>
internal static class SettingsWithoutEffect
{
    private static readonly (string Needs, string Group, string[] Settings)[] _table =
    [
        ("AccessLog:Mode", "AccessLog:", ["SampleRate", "Format", "Path", "MaxFileBytes", "MaxFiles", "Query"]),
        ("AccessLog:Path", "AccessLog:", ["MaxFileBytes", "MaxFiles"]),
        ("Otlp:Endpoint", "", ["Otlp:Interval", "Tracing:MaxPerSecond"]),
        ("Acme:Directory", "Acme:",
        [
            "AcceptTerms", "Email", "Names", "OnDemand", "Challenge", "DnsHook", "DnsWait", "EabKeyId", "EabKey", "Ca", "PerHour",
            "MaxCertificates",
        ]),
        (SettingKeys.HttpsListen, "", [SettingKeys.PublicCertificate, SettingKeys.CertificateFolder]),
        (SettingKeys.RelayListen, "Relay:", ["Certificate", "AllowRemote"]),
        (SettingKeys.ClusterListen, "Cluster:", ["Advertise", "Certificate", "Ca", "LinkIdle"]),
        (SettingKeys.ClusterDatabase, "", [SettingKeys.ClusterUplink, SettingKeys.ClusterZone, SettingKeys.ClusterSecret]),
    ];

    /// <summary>Reports each of them once, unless something else is wrong with it.</summary>
    public static void Report(SettingsReader read)
    {
        foreach (var (needs, group, settings) in _table)
        {
            foreach (var name in settings)
            {
                var setting = group + name;
                if (read.HasValue(setting) && !read.HasValue(needs) && !read.HasError(setting) && !read.HasError(needs))
                {
                    read.Report(setting, $"has no effect without {SettingKeys.Section}:{needs}.");
                }
            }
        }
    }
}
