using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// The bytes of a stream to another node, after the answer's head. <see cref="Stream.Dispose()"/> cuts it short, from any thread;
/// <see cref="Release"/> follows when neither a read nor a write is under way. One reader, one writer.
/// </summary>
internal sealed class NodeByteStream(TunnelStream stream) : Stream
{
    private int _isCut;

    /// <inheritdoc/>
    public override bool CanRead => true;

    /// <inheritdoc/>
    public override bool CanWrite => true;

    /// <inheritdoc/>
    public override bool CanSeek => false;

    /// <inheritdoc/>
    public override long Length => throw new NotSupportedException();

    /// <inheritdoc/>
    public override long Position { get => throw new NotSupportedException(); set => throw new NotSupportedException(); }

    /// <summary>Gives the stream back; the last call.</summary>
    public void Release()
    {
        Dispose();
        stream.Release();
    }

    /// <inheritdoc/>
    /// <remarks>Continues off the event loop: its caller parses whole messages.</remarks>
    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        while (true)
        {
            await stream.WaitToReadAsync().ConfigureAwait(false);
            await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
            if (!stream.TryRead(out var item))
            {
                continue;
            }

            switch (item.Kind)
            {
                case StreamItemKind.Data:
                    var length = Math.Min(buffer.Length, item.Memory.Length);
                    item.Memory[..length].CopyTo(buffer);
                    stream.ConsumeData(length);
                    return length;
                case StreamItemKind.End or StreamItemKind.Head:
                    return 0;
                default:
                    throw new IOException("The stream to the node was cut.");
            }
        }
    }

    /// <inheritdoc/>
    public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        if (await stream.WriteAsync(buffer, end: false).ConfigureAwait(false) != StreamSendStatus.Sent)
        {
            throw new IOException("The stream to the node was cut.");
        }
    }

    /// <inheritdoc/>
    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <inheritdoc/>
    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <inheritdoc/>
    public override void Flush()
    {
        // Every write leaves at once.
    }

    /// <inheritdoc/>
    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override void SetLength(long value) => throw new NotSupportedException();

    /// <inheritdoc/>
    protected override void Dispose(bool disposing)
    {
        if (Interlocked.Exchange(ref _isCut, 1) == 0)
        {
            stream.Reset(StreamResetReason.Cancel);
        }

        base.Dispose(disposing);
    }
}
