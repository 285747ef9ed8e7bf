namespace Tunnel2.ProxyEntry.Lifetime;

/// <summary>
/// Whether ProxyEntry has been asked to stop. The HTTP/1.1 fronts read it when they write a response head: after the signal each response
/// says <c>Connection: close</c>, so that visitors leave before their connections are closed. It is never reset. Thread-safe.
/// </summary>
internal sealed class DrainSignal
{
    private volatile bool _isDraining;

    /// <summary>Whether every response is the last of its connection. One volatile read, cheap enough for every request.</summary>
    public bool IsDraining => _isDraining;

    /// <summary>Begins the drain.</summary>
    public void Begin() => _isDraining = true;
}
