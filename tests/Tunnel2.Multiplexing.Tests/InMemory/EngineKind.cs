namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>How the code under test is run.</summary>
public enum EngineKind
{
    /// <summary>One thread, continuations inline, the scheduler pumped by hand: the epoll engine.</summary>
    Inline,

    /// <summary>The thread pool: the portable engine.</summary>
    Pool,
}
