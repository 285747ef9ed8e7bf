namespace Tunnel2.TestBackend;

/// <summary>Who runs the handler of a request.</summary>
public enum TestBackendEngine
{
    /// <summary>The thread pool, as Kestrel does by default.</summary>
    Portable,

    /// <summary>
    /// The thread that saw the socket become ready. Fastest on few cores. As a program, the runtime's sockets are set to one engine
    /// thread with inline completions too; in a test process (where sockets exist already) only Kestrel's part is set.
    /// </summary>
    EventLoop,
}
