namespace Tunnel2.ProxyEntry.Connections;

/// <summary>Visitors' connections that our own front serves and that may be ended while they wait. Thread-safe.</summary>
internal interface IWaitingConnections
{
    /// <summary>Ends the connections that have waited longest, to make room.</summary>
    /// <param name="most">How many at most.</param>
    /// <param name="leastIdle">Only those that have waited this long for a request.</param>
    /// <param name="leastHead">Only those whose request's head has taken this long.</param>
    /// <returns>How many were ended.</returns>
    int EndWaiting(int most, TimeSpan leastIdle, TimeSpan leastHead);
}
