using System.IO.Pipelines;

namespace Tunnel2.Multiplexing.Transports;

/// <summary>
/// The bytes of one connection, of an uplink or to a backend, over any carrier. One receive and one send may be pending at a time;
/// <see cref="Abort"/> and <see cref="Discard"/> may come from any thread.
/// </summary>
internal interface IByteTransport : IAsyncDisposable
{
    /// <summary>The event loop whose thread its operations continue on; null where there is none. An uplink's is the same for its whole
    /// life.</summary>
    PipeScheduler? Home => null;

    /// <summary>
    /// Moves to another event loop. Only while nothing is under way but a receive into an empty buffer, which ends there then.
    /// </summary>
    /// <returns>False where it cannot: it stays, and users on another thread are served all the same; or it has just
    /// failed.</returns>
    bool TryMoveTo(PipeScheduler home) => false;

    /// <summary>Whether a receive into an empty buffer costs nothing, so that a wait of any length can do without a buffer.</summary>
    bool WaitsFreely => false;

    /// <summary>
    /// Receives at least one byte. With an empty buffer it receives nothing and completes when there is something to receive, or when the
    /// connection ended or failed: so an idle connection waits without holding memory. One that completes too early only costs that memory.
    /// </summary>
    /// <returns>Bytes received; 0 when the peer closed its side in order, and always with an empty buffer.</returns>
    /// <exception cref="IOException">The connection failed or was aborted.</exception>
    ValueTask<int> ReceiveAsync(Memory<byte> buffer);

    /// <summary>Whether <see cref="TryReportArrival"/> works; otherwise a receive into an empty buffer says the same.</summary>
    bool ReportsArrivals => false;

    /// <summary>
    /// Has an observer called once, when there is something to receive, or when the connection has ended or failed: what a receive into an
    /// empty buffer says, for a connection that waits so after each exchange. No receive may be pending, nor begin before the call.
    /// </summary>
    /// <returns>False: there may be something already, and no callback will be called.</returns>
    bool TryReportArrival(IArrivalObserver observer) => false;

    /// <summary>Sends everything. The memory belongs to the transport until the task has completed.</summary>
    /// <exception cref="IOException">The connection failed or was aborted; some of the bytes may have been sent.</exception>
    ValueTask SendAsync(ReadOnlyMemory<byte> buffer);

    /// <summary>Sends an orderly end after what was sent. Called once, after the last send.</summary>
    void ShutdownSend();

    /// <summary>
    /// Whether nothing has arrived on an idle connection, not even its end, also of what the pending wait does not know yet. May cost
    /// a system call. One that cannot find out is not idle.
    /// </summary>
    bool IsIdleAndOpen() => false;

    /// <summary>
    /// As <see cref="IsIdleAndOpen"/>, of a millisecond ago at the earliest: where another caller has looked after that, this costs no
    /// system call.
    /// </summary>
    bool WasIdleAndOpen() => IsIdleAndOpen();

    /// <summary>
    /// Whether bytes have arrived on an idle connection, and not only its end. Asked when its wait has ended, or when it is not idle any
    /// more; the connection is not used again.
    /// </summary>
    bool HasBytes() => false;

    /// <summary>Ends the connection at once; pending operations fail. May be called more than once.</summary>
    void Abort();

    /// <summary>
    /// Ends a connection on which nothing is under way by a reset: no address stays taken for a minute, as it would where a connection
    /// serves one request each.
    /// </summary>
    void Discard() => Abort();
}
