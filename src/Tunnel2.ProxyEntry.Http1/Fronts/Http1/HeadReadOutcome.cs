namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>What waiting for a request's head came to.</summary>
internal enum HeadReadOutcome
{
    /// <summary>More has to come.</summary>
    NeedMore,

    /// <summary>There is a request, or one to be refused.</summary>
    Request,

    /// <summary>The connection has ended or was idle for too long: nobody is to be told anything.</summary>
    End,

    /// <summary>The visitor speaks HTTP/2.</summary>
    Http2,
}
