namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>
/// How long is waited: keys <c>Tunnel2:Timeouts:*</c>, written as <c>500ms</c>, <c>10s</c>, <c>5m</c>, <c>1h</c>, <c>00:00:10</c> or
/// <c>off</c> (<see cref="Timeout.InfiniteTimeSpan"/> in code).
/// </summary>
public sealed class TimeoutOptions
{
    /// <summary>
    /// How long an agent tries to connect to its backend: 10 ms to 10 min. Default 10 s. Too short fails slow backends with 504, too long
    /// keeps visitors waiting for one that is down.
    /// </summary>
    public TimeSpan BackendConnect { get; set; } = TimeSpan.FromSeconds(10);

    /// <summary>
    /// How long a backend may take from the request's end to its response head: 10 ms to 1 day, or off. Default off. Too short breaks
    /// long polling and slow reports with 504.
    /// </summary>
    public TimeSpan BackendHeaders { get; set; } = Timeout.InfiniteTimeSpan;

    /// <summary>
    /// How long a body may stand still in either direction before the stream is aborted: 10 ms to 1 day, or off. Default 5 min. Upgraded
    /// streams (WebSocket) have no such limit. Too short cuts event streams; off lets dead streams hold their slot.
    /// </summary>
    public TimeSpan BodyIdle { get; set; } = TimeSpan.FromMinutes(5);
}
