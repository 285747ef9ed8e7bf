namespace Tunnel2.ProxyEntry.Requests;

/// <summary>How a visitor's request ended (metric tag <c>outcome</c>).</summary>
internal enum RequestOutcome
{
    /// <summary>The visitor got the backend's whole answer.</summary>
    Completed,

    /// <summary>The connection was upgraded and has ended.</summary>
    Upgraded,

    /// <summary>ProxyEntry answered with an error of its own.</summary>
    Error,

    /// <summary>The visitor left before the end.</summary>
    VisitorAborted,

    /// <summary>Aborted after the response head had been sent, because agent or backend failed.</summary>
    Aborted,
}
