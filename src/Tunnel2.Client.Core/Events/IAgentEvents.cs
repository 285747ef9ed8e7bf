using Tunnel2.Client.Core.Configuration;

namespace Tunnel2.Client.Core.Events;

/// <summary>
/// What an agent reports to its user. Implementations are thread-safe, return at once and never throw: the callers are the reconnect loop
/// and, for <see cref="RequestCompleted"/>, the threads of the data plane.
/// </summary>
public interface IAgentEvents
{
    /// <summary>Whether <see cref="RequestCompleted"/> is of interest. Constant; ask before building a summary.</summary>
    bool WantsRequests { get; }

    /// <summary>An attempt to connect begins.</summary>
    void Connecting(ServerEndpoint server);

    /// <summary>The session is open: a request to any of <paramref name="publicUrls"/> reaches the backend.</summary>
    /// <param name="publicUrls">As the server gave them, such as <c>http://web.localhost:12000</c>; the first one is the main one.</param>
    /// <param name="upstream">Where requests go.</param>
    void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream);

    /// <summary>The same for a tunnel with several services. Called in place of the other where there are routes.</summary>
    /// <param name="publicUrls">The public URLs.</param>
    /// <param name="upstream">Where requests go that no route is for.</param>
    /// <param name="routes">Where the others go.</param>
    void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream, IReadOnlyList<ServiceRoute> routes) =>
        Ready(publicUrls, upstream);

    /// <summary>Comes before <c>Ready</c>: how the session's uplinks can be looked at.</summary>
    /// <param name="read">
    /// Returns their state at that moment; from any thread, at any time, also after the session's end. It does not wait.
    /// </param>
    void Uplinks(Func<UplinkReading> read)
    {
    }

    /// <summary>
    /// How the server is reached. Comes before each <c>Ready</c>, and when the way changes while the session lives.
    /// </summary>
    void Routed(UplinkRoute route)
    {
    }

    /// <summary>
    /// With several servers: with which of them there is a session. Comes when that changes while there is at least one;
    /// <see cref="ConnectionEnded"/> says it when the last one has ended.
    /// </summary>
    /// <param name="servers">All of them, in the order in which they were given.</param>
    void Servers(IReadOnlyList<ServerStatus> servers)
    {
    }

    /// <summary>
    /// A session ended, or an attempt to open one failed; the reason says which (unreachable, rejected, lost, superseded …).
    /// </summary>
    void ConnectionEnded(ConnectionEnd end);

    /// <summary>The next attempt begins after <paramref name="delay"/>.</summary>
    void Reconnecting(TimeSpan delay);

    /// <summary>No new requests are taken, those under way are finished: the agent or the server is about to stop.</summary>
    void Draining();

    /// <summary>The agent was asked to stop, and has.</summary>
    void Stopped();

    /// <summary>The backend cannot be reached. Reported once, until <see cref="BackendReachable"/>; the tunnel stays open.</summary>
    /// <param name="upstream">The backend.</param>
    /// <param name="message">One line for the user: what happens, and what to do.</param>
    void BackendUnreachable(BackendTarget upstream, string message)
    {
    }

    /// <summary>The backend, which could not be reached, can be.</summary>
    void BackendReachable(BackendTarget upstream)
    {
    }

    /// <summary>The agent of a pool checked its service, and finds it otherwise than before.</summary>
    /// <param name="upstream">The service.</param>
    /// <param name="isHealthy">Whether it works.</param>
    /// <param name="message">One line for the user.</param>
    void ServiceChecked(BackendTarget upstream, bool isHealthy, string message)
    {
    }

    /// <summary>The backend was caught sending bytes after its responses; its connections are not used again for a while.</summary>
    /// <param name="upstream">The backend.</param>
    /// <param name="message">One line for the user.</param>
    void BackendSurplus(BackendTarget upstream, string message)
    {
    }

    /// <summary>
    /// Requests wait because there may be no more connections to backends, or fail because there are no descriptors. At most once a second.
    /// </summary>
    /// <param name="limit">How many connections there may be.</param>
    /// <param name="waiting">How many requests wait.</param>
    /// <param name="message">One line for the user.</param>
    void BackendConnectionsShort(int limit, int waiting, string message)
    {
    }

    /// <summary>Uploads were cut, because services took nothing of them and memory was short. At most once a second.</summary>
    /// <param name="count">How many after the last report.</param>
    /// <param name="heldMegabytes">What the process holds, in MiB.</param>
    /// <param name="limitMegabytes">What it may hold, in MiB.</param>
    /// <param name="message">One line for the user.</param>
    void UploadsCut(int count, long heldMegabytes, long limitMegabytes, string message)
    {
    }

    /// <summary>
    /// A visitor got an error because the service or the agent failed. Called for each such request, and only when
    /// <see cref="WantsRequests"/> is false: otherwise <see cref="RequestCompleted"/> says it.
    /// </summary>
    /// <param name="leg">Where it failed: <c>agent</c> or <c>backend</c>.</param>
    /// <param name="error">What happened there; one of a few texts.</param>
    void RequestFailed(string leg, string error)
    {
    }

    /// <summary>A request is over. Only called when <see cref="WantsRequests"/> is true.</summary>
    void RequestCompleted(RequestSummary request);
}
