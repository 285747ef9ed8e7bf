using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Limits;

/// <summary>
/// One call to the board. A call that was given up may still run for a moment: from then on it decides nothing, and so reports nothing.
/// Thread-safe.
/// </summary>
internal sealed class ShareCall(Func<TimeSpan> now)
{
    private readonly Lock _gate = new();
    private bool _isOver;

    /// <summary>Decides the share of a name. What is less holds for requests from now on.</summary>
    /// <exception cref="OperationCanceledException">The call was given up.</exception>
    public double? Decide(SharedName shared, ShareView view)
    {
        lock (_gate)
        {
            if (_isOver)
            {
                throw new OperationCanceledException();
            }

            var decided = shared.Limit.Decide(now(), view);
            shared.Apply();
            return decided;
        }
    }

    /// <summary>The call has ended, or was given up.</summary>
    public void End()
    {
        lock (_gate)
        {
            _isOver = true;
        }
    }
}
