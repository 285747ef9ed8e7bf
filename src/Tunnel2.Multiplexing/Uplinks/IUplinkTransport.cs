using System.IO.Pipelines;

namespace Tunnel2.Multiplexing.Uplinks;

/// <summary>
/// The byte connection under an uplink. One receive and one send may be pending at a time, each started by its own loop;
/// <see cref="Abort"/> may come from any thread.
/// </summary>
internal interface IUplinkTransport : IAsyncDisposable
{
    /// <summary>The peer's address, for people; never used for decisions.</summary>
    string RemoteName { get; }

    /// <summary>
    /// The event loop whose thread its operations continue on, for everything of the uplink to be there too; null where there is none. The same for the
    /// transport's whole life.
    /// </summary>
    PipeScheduler? Home => null;

    /// <summary>Segments that had to be sent again so far, as the operating system counts them; 0 where it does not. May cost a system call.</summary>
    long RetransmittedSegments => 0;

    /// <summary>
    /// Receives at least one byte. With an empty buffer it receives nothing and completes when there is something to receive, or when the
    /// connection ended or failed: so an idle uplink waits without holding memory. One that completes too early only costs that memory.
    /// </summary>
    /// <returns>Bytes received; 0 when the peer closed its side in order, and always with an empty buffer.</returns>
    /// <exception cref="IOException">The connection failed or was aborted.</exception>
    ValueTask<int> ReceiveAsync(Memory<byte> buffer);

    /// <summary>Sends everything. The memory belongs to the transport until the task has completed.</summary>
    /// <exception cref="IOException">The connection failed or was aborted; some of the bytes may have been sent.</exception>
    ValueTask SendAsync(ReadOnlyMemory<byte> buffer);

    /// <summary>Sends an orderly end behind what was sent. Called once, by the write loop, after its last send.</summary>
    void ShutdownSend();

    /// <summary>Ends the connection at once; pending operations fail. May be called more than once.</summary>
    void Abort();
}
