namespace Tunnel2.Transport.Engine;

/// <summary>The engine of the data plane (docs/decisions/0001-event-loop-engine.md).</summary>
public enum EngineMode
{
    /// <summary><see cref="Epoll"/> on Linux (x64, arm64), <see cref="Portable"/> elsewhere.</summary>
    Auto,

    /// <summary>Event loops over epoll, a thread each: the least CPU per request. No code may block those threads.</summary>
    Epoll,

    /// <summary>The runtime's sockets, and continuations on the thread pool, as .NET does by default.</summary>
    Portable,
}
