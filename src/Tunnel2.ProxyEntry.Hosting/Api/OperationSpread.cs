namespace Tunnel2.ProxyEntry.Api;

/// <summary>
/// Which nodes of a cluster an operation of the API asks. Nodes take calls of each other for those that are not <see cref="Here"/>.
/// </summary>
internal enum OperationSpread
{
    /// <summary>The node that was asked, and no other: another one refuses to answer it.</summary>
    Here,

    /// <summary>All: one list of their sessions.</summary>
    SessionList,

    /// <summary>The one that has the session.</summary>
    Session,

    /// <summary>All: one list of requests by time.</summary>
    RequestList,

    /// <summary>All that have the session: when its inspection ends, and switching it on and off.</summary>
    Inspection,

    /// <summary>All: one list of exchanges by time.</summary>
    ExchangeList,

    /// <summary>All, and that is all.</summary>
    EachNode,

    /// <summary>All that inspect the session: one file.</summary>
    ExchangeFile,

    /// <summary>The one that has the exchange, which its id names.</summary>
    Exchange,
}
