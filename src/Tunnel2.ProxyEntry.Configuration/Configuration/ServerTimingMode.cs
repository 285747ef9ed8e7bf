namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Which responses say where their time went (<c>Server-Timing</c>).</summary>
public enum ServerTimingMode
{
    /// <summary>None: timings tell strangers about what is behind the tunnel.</summary>
    Off,

    /// <summary>Those to requests with the field <c>Tunnel2-Timing</c>, whatever its value.</summary>
    OnRequest,

    /// <summary>All.</summary>
    Always,
}
