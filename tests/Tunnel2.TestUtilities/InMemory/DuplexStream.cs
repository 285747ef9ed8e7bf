namespace Tunnel2.TestUtilities;

/// <summary>
/// One end of a <see cref="DuplexStreamPair"/>. One reader and one writer at a time, each from any thread. Synchronous calls block.
/// </summary>
public sealed class DuplexStream : Stream
{
    private readonly BoundedByteQueue _input;
    private readonly BoundedByteQueue _output;

    internal DuplexStream(BoundedByteQueue input, BoundedByteQueue output)
    {
        _input = input;
        _output = output;
    }

    /// <summary>How many bytes were written by the other end and not yet read here.</summary>
    public int UnreadBytes => _input.Count;

    /// <inheritdoc/>
    public override bool CanRead => true;

    /// <inheritdoc/>
    public override bool CanWrite => true;

    /// <inheritdoc/>
    public override bool CanSeek => false;

    /// <inheritdoc/>
    public override long Length => throw new NotSupportedException();

    /// <inheritdoc/>
    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    /// <summary>Ends this side's direction (as FIN does): the other end reads what is left and then 0. Reading here continues.</summary>
    public void CompleteWrites() => _output.CompleteWriting();

    /// <summary>
    /// Breaks the connection (as RST does): reads and writes of both ends, waiting ones too, throw an <see cref="IOException"/> around
    /// <paramref name="exception"/>; what was under way is lost.
    /// </summary>
    public void Abort(Exception? exception = null)
    {
        exception ??= new IOException("The connection was reset.");
        _input.Fail(exception);
        _output.Fail(exception);
    }

    /// <inheritdoc/>
    public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default) =>
        _input.ReadAsync(buffer, cancellationToken);

    /// <inheritdoc/>
    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <inheritdoc/>
    public override int Read(byte[] buffer, int offset, int count) =>
        ReadAsync(buffer.AsMemory(offset, count)).AsTask().GetAwaiter().GetResult();

    /// <inheritdoc/>
    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default) =>
        _output.WriteAsync(buffer, cancellationToken);

    /// <inheritdoc/>
    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <inheritdoc/>
    public override void Write(byte[] buffer, int offset, int count) =>
        WriteAsync(buffer.AsMemory(offset, count)).AsTask().GetAwaiter().GetResult();

    /// <inheritdoc/>
    public override void Flush()
    {
        // Written bytes are at the other end at once.
    }

    /// <inheritdoc/>
    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override void SetLength(long value) => throw new NotSupportedException();

    /// <summary>Closes this end: the other end reads what is left and then 0; its writes fail.</summary>
    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _output.CompleteWriting();
            _input.CompleteReading();
        }

        base.Dispose(disposing);
    }
}
