using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Quickstart;

/// <summary>
/// Passes on the agent's events, except those that the quick start prints itself, and signals that the agent is ready. Thread-safe.
/// </summary>
internal sealed class QuickstartEvents : IAgentEvents
{
    private readonly IAgentEvents _next;
    private readonly TaskCompletionSource<Uri> _ready = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public QuickstartEvents(IAgentEvents next) => _next = next;

    /// <summary>
    /// Completes with the public URL. Its waiters continue in the pool, where writing to the console holds up no connection.
    /// </summary>
    public Task<Uri> PublicUrl => _ready.Task;

    /// <inheritdoc/>
    public bool WantsRequests => _next.WantsRequests;

    /// <inheritdoc/>
    public void Connecting(ServerEndpoint server)
    {
    }

    /// <inheritdoc/>
    public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream)
    {
        if (!_ready.TrySetResult(new Uri(publicUrls[0])))
        {
            _next.Ready(publicUrls, upstream);
        }
    }

    /// <inheritdoc/>
    public void ConnectionEnded(ConnectionEnd end)
    {
        if (end.Reason != ConnectionEndReason.Stopped)
        {
            _ready.TrySetException(new IOException(end.Message));
            _next.ConnectionEnded(end);
        }
    }

    /// <inheritdoc/>
    public void Reconnecting(TimeSpan delay) => _next.Reconnecting(delay);

    /// <inheritdoc/>
    public void Draining() => _next.Draining();

    /// <inheritdoc/>
    public void Stopped() => _next.Stopped();

    /// <inheritdoc/>
    public void RequestFailed(string leg, string error) => _next.RequestFailed(leg, error);

    /// <inheritdoc/>
    public void RequestCompleted(RequestSummary request) => _next.RequestCompleted(request);
}
