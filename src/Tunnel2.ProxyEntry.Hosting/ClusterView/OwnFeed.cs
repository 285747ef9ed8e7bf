using System.IO.Pipelines;

namespace Tunnel2.ProxyEntry.ClusterView;

/// <summary>This node's own feed, in memory: in the cluster's view it is a node as the others are. <c>Dispose</c> ends it.</summary>
internal sealed class OwnFeed : Stream
{
    private readonly Pipe _there = new();
    private readonly Pipe _back = new();
    private readonly Stream _reading;
    private readonly Stream _writing;

    public OwnFeed(LinkFeeds feeds)
    {
        _reading = _back.Reader.AsStream();
        _writing = _there.Writer.AsStream();
        Serving = ServeAsync(feeds);
    }

    /// <summary>Ends when nothing is left of it.</summary>
    public Task Serving { get; }

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

    /// <inheritdoc/>
    public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default) =>
        _reading.ReadAsync(buffer, cancellationToken);

    /// <inheritdoc/>
    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <inheritdoc/>
    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default) =>
        _writing.WriteAsync(buffer, cancellationToken);

    /// <inheritdoc/>
    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <inheritdoc/>
    public override void Flush()
    {
        // Every write is there at once.
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
        _there.Writer.Complete();
        _back.Reader.CancelPendingRead();
        _back.Writer.CancelPendingFlush();
        base.Dispose(disposing);
    }

    private async Task ServeAsync(LinkFeeds feeds)
    {
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        await feeds.ServeAsync(_there.Reader, async data =>
            await _back.Writer.WriteAsync(data).ConfigureAwait(false) is { IsCompleted: false, IsCanceled: false }).ConfigureAwait(false);
        await _back.Writer.CompleteAsync().ConfigureAwait(false);
        await _there.Reader.CompleteAsync().ConfigureAwait(false);
    }
}
