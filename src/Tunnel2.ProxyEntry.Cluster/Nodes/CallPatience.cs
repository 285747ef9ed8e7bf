namespace Tunnel2.ProxyEntry.Cluster.Nodes;

/// <summary>
/// How long a call may take before it is taken for lost: somewhat longer than calls took until now, so that one that is lost is repeated
/// soon. While calls are lost it doubles. Thread-safe.
/// </summary>
/// <param name="least">The shortest time: a pause of the process is no loss.</param>
/// <param name="most">The longest time, and that of the first call.</param>
internal sealed class CallPatience(TimeSpan least, TimeSpan most)
{
    private readonly Lock _gate = new();
    private TimeSpan? _mean;
    private TimeSpan _deviation;
    private int _lost;

    /// <summary>How long the next call may take.</summary>
    public TimeSpan Next
    {
        get
        {
            lock (_gate)
            {
                var next = _mean is { } mean ? (mean + (4 * _deviation)) * (1 << _lost) : most;
                return next < least ? least : next < most ? next : most;
            }
        }
    }

    /// <summary>A call has ended.</summary>
    public void Took(TimeSpan time)
    {
        lock (_gate)
        {
            _lost = 0;
            if (_mean is not { } mean)
            {
                (_mean, _deviation) = (time, time / 2);
                return;
            }

            _deviation += ((time - mean).Duration() - _deviation) / 4;
            _mean = mean + ((time - mean) / 8);
        }
    }

    /// <summary>A call was given up, or has failed.</summary>
    public void Lost()
    {
        lock (_gate)
        {
            _lost = Math.Min(_lost + 1, 4);
        }
    }
}
