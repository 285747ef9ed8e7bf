namespace Tunnel2.Transport.Engine;

/// <summary>What runs the data plane (docs/decisions/0001-event-loop-engine.md).</summary>
public enum EngineMode
{
    /// <summary><see cref="Epoll"/> on Linux (x64, arm64), <see cref="Portable"/> elsewhere.</summary>
    Auto,

    /// <summary>One thread with an event loop over epoll: least CPU per request; nothing may block that thread.</summary>
    Epoll,

    /// <summary>The runtime's sockets, and continuations on the thread pool, as .NET does by default.</summary>
    Portable,
}
