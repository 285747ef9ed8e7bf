namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>How sockets and continuations are scheduled (setting <c>Tunnel2:Engine</c>).</summary>
public enum EngineMode
{
    /// <summary><see cref="EventLoop"/> on machines with at most two cores, <see cref="Portable"/> above.</summary>
    Auto,

    /// <summary>Continuations run inline on the socket engine's thread: least CPU per request; nothing may block that thread.</summary>
    EventLoop,

    /// <summary>Continuations run on the thread pool, as in any ASP.NET Core server.</summary>
    Portable,
}
