namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>Who serves HTTP/1.1 visitors (setting <c>Tunnel2:Http1Front</c>).</summary>
public enum Http1FrontMode
{
    /// <summary>Tunnel2's own front: keeps order, case, duplicates, trailers and interim responses.</summary>
    Own,

    /// <summary>Kestrel's HttpContext, as for HTTP/2.</summary>
    Kestrel,
}
