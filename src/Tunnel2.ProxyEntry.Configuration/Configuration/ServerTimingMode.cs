namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Which responses report where their time went (<c>Server-Timing</c>).</summary>
public enum ServerTimingMode
{
    /// <summary>No response, because timings show strangers what is behind the tunnel.</summary>
    Off,

    /// <summary>Responses to requests with the field <c>Tunnel2-Timing</c>, with any value.</summary>
    OnRequest,

    /// <summary>All.</summary>
    Always,
}
