namespace Tunnel2.ProxyEntry.Lifetime;

/// <summary>
/// Whether ProxyEntry has been asked to stop. A front that serves HTTP/1.1 looks at it when it writes a response head: from then on each
/// response says <c>Connection: close</c>, so that visitors leave by themselves before the connections are closed. Thread-safe; never back.
/// </summary>
internal sealed class DrainSignal
{
    private volatile bool _isDraining;

    /// <summary>Whether every response is the last of its connection. A volatile read: fit for the path of every request.</summary>
    public bool IsDraining => _isDraining;

    /// <summary>Begins the drain.</summary>
    public void Begin() => _isDraining = true;
}
