namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>The result of waiting for a request's head.</summary>
internal enum HeadReadOutcome
{
    /// <summary>The head is not complete.</summary>
    NeedMore,

    /// <summary>A request, valid or to be refused.</summary>
    Request,

    /// <summary>The connection has ended or was idle for too long; no answer is sent.</summary>
    End,

    /// <summary>The visitor speaks HTTP/2.</summary>
    Http2,
}
