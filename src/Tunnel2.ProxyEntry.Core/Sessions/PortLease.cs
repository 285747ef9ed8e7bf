namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>The public port of a session of TCP, until it is disposed of. Thread-safe; a second disposal does nothing.</summary>
internal abstract class PortLease : IDisposable
{
    private int _isOver;

    /// <summary>The port.</summary>
    public abstract int Port { get; }

    /// <summary>Whether the session served, so that the port is kept for its owner for a while after it.</summary>
    public bool IsKept { get; set; }

    /// <inheritdoc/>
    public void Dispose()
    {
        if (Interlocked.Exchange(ref _isOver, 1) == 0)
        {
            End();
        }
    }

    /// <summary>The session is over. Called once.</summary>
    protected abstract void End();
}
