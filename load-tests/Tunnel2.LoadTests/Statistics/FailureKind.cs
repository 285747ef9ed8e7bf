namespace Tunnel2.LoadTests.Statistics;

/// <summary>Why a request did not count.</summary>
internal enum FailureKind
{
    /// <summary>It did.</summary>
    None,

    /// <summary>No process listened.</summary>
    ConnectRefused,

    /// <summary>No connection for another reason (no port, no route, no descriptor).</summary>
    ConnectFailed,

    /// <summary>The connection was reset.</summary>
    Reset,

    /// <summary>The connection ended in order before the first byte of the answer.</summary>
    ClosedUnanswered,

    /// <summary>The connection ended in the middle of the answer, or the answer said less than it announced.</summary>
    Truncated,

    /// <summary>Not the status that was expected.</summary>
    WrongStatus,

    /// <summary>Complete, but other bytes, or more of them.</summary>
    WrongBody,

    /// <summary>Not HTTP, or not the protocol that was agreed on.</summary>
    Malformed,

    /// <summary>Not complete in time; the time starts at the intended start.</summary>
    Timeout,

    /// <summary>Never sent: no connection was free in time, or the queue for one was full.</summary>
    NotSent,
}
