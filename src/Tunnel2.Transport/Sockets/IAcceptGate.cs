namespace Tunnel2.Transport.Sockets;

/// <summary>Decides whether a listener may accept; while it may not, the kernel keeps new connections. Thread-safe.</summary>
internal interface IAcceptGate
{
    /// <summary>Whether another connection may be accepted now.</summary>
    bool IsOpen { get; }

    /// <summary>A connection waits to be accepted while the gate is closed.</summary>
    /// <param name="resume">Called once when the gate is open, at once if it already is, on any thread.</param>
    void WhenOpen(Action resume);
}
