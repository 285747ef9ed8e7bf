namespace Tunnel2.ProxyEntry.Connections;

/// <summary>Visitors' connections that a front of our own serves, and that may end while they wait. Thread-safe.</summary>
internal interface IWaitingConnections
{
    /// <summary>Ends those that have waited longest, to make room.</summary>
    /// <param name="most">How many at most.</param>
    /// <param name="leastIdle">Only those that have waited this long for a request.</param>
    /// <param name="leastHead">Only those that have taken this long for a request's head.</param>
    /// <returns>How many were ended.</returns>
    int EndWaiting(int most, TimeSpan leastIdle, TimeSpan leastHead);
}
