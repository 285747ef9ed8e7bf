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

    /// <summary>
    /// How long a request waits for the agent of a known name to come back: 10 ms to 1 min, or off. Default 5 s. Off answers 503 at once;
    /// too long keeps visitors waiting for an agent that stays away.
    /// </summary>
    public TimeSpan Park { get; set; } = TimeSpan.FromSeconds(5);

    /// <summary>
    /// How long ProxyEntry goes on as before when it is asked to stop, so that load balancers see <c>/health/ready</c> fail first: 10 ms to
    /// 10 min, or off. Default off. Too short behind a balancer sends it visitors that find the door closed.
    /// </summary>
    public TimeSpan DrainDelay { get; set; } = Timeout.InfiniteTimeSpan;

    /// <summary>
    /// How long exchanges that are under way may take to finish when ProxyEntry is asked to stop: 10 ms to 1 day. Default 30 s. What is not
    /// finished by then is cut; a service manager must wait longer than this before it kills.
    /// </summary>
    public TimeSpan Drain { get; set; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// How long a visitor may take to send a request's head, from its first byte (on a new connection: from its beginning): 10 ms to
    /// 10 min, or off. Default 30 s. Beyond it 408, or a silent end when nothing was sent. Off lets idle connections stay for ever.
    /// </summary>
    public TimeSpan RequestHead { get; set; } = TimeSpan.FromSeconds(30);

    /// <summary>
    /// How long a visitor's connection may be idle between two requests: 10 ms to 1 day, or off. Default 130 s, longer than the
    /// minute or two of common proxies and balancers in front, so that theirs ends first. Then it is closed.
    /// </summary>
    public TimeSpan KeepAlive { get; set; } = TimeSpan.FromSeconds(130);

    /// <summary>
    /// How long nothing may reach a visitor that has ended its own direction behind its request, before it counts as gone: 10 ms to
    /// 1 day, or off. Default 500 ms: a visitor that ends its direction has nearly always left, and its request is better not gone on with.
    /// </summary>
    public TimeSpan HalfClosed { get; set; } = TimeSpan.FromMilliseconds(500);
}
