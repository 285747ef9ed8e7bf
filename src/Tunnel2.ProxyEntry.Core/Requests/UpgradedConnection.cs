using System.IO.Pipelines;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// A visitor's connection after a 101: raw bytes both ways. One reader and one sender at a time. The exchange that made it closes it.
/// </summary>
internal abstract class UpgradedConnection
{
    /// <summary>The visitor's bytes, beginning with those that arrived directly after its request.</summary>
    public abstract PipeReader Input { get; }

    /// <summary>Sends bytes, and waits while the visitor does not read. The bytes are borrowed until then.</summary>
    /// <returns>False when the visitor is gone.</returns>
    public abstract ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data);

    /// <summary>Ends this direction after all bytes that were sent; the other direction stays open.</summary>
    /// <returns>False when only both directions can be ended together; then nothing was done.</returns>
    public abstract ValueTask<bool> EndSendAsync();
}
