namespace Tunnel2.Transport.Sockets;

/// <summary>Says whether a listener may accept: while it may not, the kernel keeps those who come. Thread-safe.</summary>
internal interface IAcceptGate
{
    /// <summary>Whether another connection may be accepted now.</summary>
    bool IsOpen { get; }

    /// <summary>Somebody waits to be accepted while it is closed.</summary>
    /// <param name="resume">Called once it is open, at once where it is, on any thread.</param>
    void WhenOpen(Action resume);
}
