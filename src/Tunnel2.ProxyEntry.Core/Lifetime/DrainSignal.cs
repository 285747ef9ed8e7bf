namespace Tunnel2.ProxyEntry.Lifetime;

/// <summary>
/// Whether ProxyEntry has been asked to stop, or was taken out of service. The HTTP/1.1 fronts read it when they write a response head:
/// after the signal each response says <c>Connection: close</c>, so that visitors leave before their connections are closed. No agent is
/// taken. A stop is never reset. Thread-safe.
/// </summary>
internal sealed class DrainSignal
{
    private volatile bool _isStopping;
    private volatile bool _isDrained;

    /// <summary>Whether every response is the last of its connection. One volatile read, cheap enough for every request.</summary>
    public bool IsDraining => _isStopping || _isDrained;

    /// <summary>Whether it was taken out of service, whether it stops or not.</summary>
    public bool IsDrained => _isDrained;

    /// <summary>Whether it has been asked to stop.</summary>
    public bool IsStopping => _isStopping;

    /// <summary>What agents hear, as a sentence.</summary>
    public string Reason => _isStopping ? "The server is stopping." : "The server was taken out of service for a while.";

    /// <summary>Begins the drain of a stop.</summary>
    public void Begin() => _isStopping = true;

    /// <summary>Takes the server out of service, or back into it.</summary>
    /// <returns>Whether that changed something.</returns>
    public bool SetDrained(bool isDrained)
    {
        var changed = _isDrained != isDrained;
        _isDrained = isDrained;
        return changed;
    }
}
