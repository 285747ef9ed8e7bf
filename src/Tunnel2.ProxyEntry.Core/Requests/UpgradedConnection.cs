using System.IO.Pipelines;

namespace Tunnel2.ProxyEntry.Requests;

/// <summary>
/// A visitor's connection after a 101: raw bytes both ways. One reader and one sender at a time; whoever made it closes it.
/// </summary>
internal abstract class UpgradedConnection
{
    /// <summary>What the visitor sends, the bytes that came right behind its request first.</summary>
    public abstract PipeReader Input { get; }

    /// <summary>Sends bytes and waits while the visitor does not take them. They are borrowed until then.</summary>
    /// <returns>False when the visitor is gone.</returns>
    public abstract ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data);

    /// <summary>Says that nothing more will be sent, behind all that was, and leaves the other direction open.</summary>
    /// <returns>False where only both directions can be ended, which has not been done.</returns>
    public abstract ValueTask<bool> EndSendAsync();
}
