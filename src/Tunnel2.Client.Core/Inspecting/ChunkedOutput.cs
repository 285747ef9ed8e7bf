using System.Text;

namespace Tunnel2.Client.Core.Inspecting;

/// <summary>A body of unknown length, in chunks. A body that was cut off lacks the last one, so that it never looks complete.</summary>
internal sealed class ChunkedOutput(Stream connection) : Stream
{
    public override bool CanRead => false;

    public override bool CanSeek => false;

    public override bool CanWrite => true;

    public override long Length => throw new NotSupportedException();

    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        if (!buffer.IsEmpty)
        {
            await connection.WriteAsync(Encoding.ASCII.GetBytes($"{buffer.Length:x}\r\n"), cancellationToken).ConfigureAwait(false);
            await connection.WriteAsync(buffer, cancellationToken).ConfigureAwait(false);
            await connection.WriteAsync("\r\n"u8.ToArray(), cancellationToken).ConfigureAwait(false);
        }
    }

    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <summary>Ends the body.</summary>
    public Task EndAsync(CancellationToken cancellationToken) =>
        connection.WriteAsync("0\r\n\r\n"u8.ToArray(), cancellationToken).AsTask();

    public override Task FlushAsync(CancellationToken cancellationToken) => connection.FlushAsync(cancellationToken);

    public override void Flush()
    {
        // What is written is sent; nothing waits here.
    }

    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    public override void SetLength(long value) => throw new NotSupportedException();

    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();
}
