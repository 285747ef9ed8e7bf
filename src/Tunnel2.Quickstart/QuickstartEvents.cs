using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;

namespace Tunnel2.Quickstart;

/// <summary>
/// Passes on what the agent tells, except for the words that the quick start says itself, and signals that it is ready. Thread-safe.
/// </summary>
internal sealed class QuickstartEvents : IAgentEvents
{
    private readonly IAgentEvents _next;
    private readonly TaskCompletionSource<Uri> _ready = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public QuickstartEvents(IAgentEvents next) => _next = next;

    /// <summary>Ends with the public URL. Those that wait continue in the pool, where writing to the console holds nobody up.</summary>
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
