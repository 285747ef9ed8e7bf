namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>What visitors without TLS get, and what browsers remember of it. Immutable.</summary>
internal sealed class HttpsSettings(SettingsReader read)
{
    private const string RedirectKey = "Https:Redirect";
    private const string HstsKey = "Https:Hsts";

    /// <summary>The port of <see cref="Redirect"/> for that of the listener.</summary>
    public const int ListenersPort = 0;

    /// <summary>
    /// The port that visitors without TLS are sent to; <see cref="ListenersPort"/>: that of the listener; null: they are served.
    /// </summary>
    public int? Redirect { get; } = read.Value<int?>(
        RedirectKey, "off", "on, off, a port",
        "answers visitors of `Public:HttpListen` who call a name below `Domain` with 308 and the same address over HTTPS; `on`: at the "
        + "port of an https `Public:Url`, else of `Public:HttpsListen`; a port: where visitors reach HTTPS, if that is another one. Agents "
        + "over WebSocket are served as before. A request that a trusted proxy took over HTTPS is not redirected",
        ParseRedirect);

    /// <summary>How long browsers remember to use HTTPS; <see cref="Timeout.InfiniteTimeSpan"/>: they are not asked to.</summary>
    public TimeSpan Hsts { get; } = read.DurationOrOff(
        HstsKey, "off", "1s", "17600h",
        "adds `Strict-Transport-Security` with this time to answers over HTTPS, unless the service sends one itself; `365d` is a year. A "
        + "browser that has seen it calls the name over HTTPS only, until that time is over: begin with `1h`");

    /// <summary>Reports a redirect that leads nowhere, and a word for browsers that none of them gets.</summary>
    public void Check(SettingsReader read, bool hasHttps)
    {
        // Requests over HTTPS come to this listener, or from a proxy or another node that took them.
        if (Hsts != Timeout.InfiniteTimeSpan && !read.HasValue(SettingKeys.HttpsListen) && !read.HasValue(SettingKeys.TrustedProxies)
            && !read.HasValue(SettingKeys.ClusterListen))
        {
            read.Report(
                HstsKey,
                $"has no effect without {SettingKeys.Section}:{SettingKeys.HttpsListen}, or {SettingKeys.Section}:"
                + $"{SettingKeys.TrustedProxies} that take HTTPS.");
        }

        if (Redirect == ListenersPort && !hasHttps && !read.HasError(RedirectKey) && !read.HasError(SettingKeys.HttpsListen)
            && !read.HasError(SettingKeys.VisitorUrl))
        {
            read.Report(
                RedirectKey, "is on, but Tunnel2:Public:HttpsListen is off: set that, or the port where visitors reach HTTPS.");
        }
    }

    private static string? ParseRedirect(string text, out int? value)
    {
        value = text.Equals("on", StringComparison.OrdinalIgnoreCase) ? ListenersPort : null;
        if (value is not null || text.Equals("off", StringComparison.OrdinalIgnoreCase))
        {
            return null;
        }

        if (SettingValues.ParseNumber(text, 1, 65_535, out var port) is not null)
        {
            return "is not on, off or a port from 1 to 65535.";
        }

        value = port;
        return null;
    }
}
