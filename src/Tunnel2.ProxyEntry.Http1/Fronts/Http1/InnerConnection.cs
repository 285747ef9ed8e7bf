using System.Diagnostics.CodeAnalysis;
using System.IO.Pipelines;
using System.Net;
using Tunnel2.ProxyEntry.Fronts.Http1.Output;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>
/// A visitor's connection that begins and ends in this process, for requests that ProxyEntry itself makes. It needs no listener, and what
/// it says about TLS is what the request says. Its two directions are used by one caller each; ends when it is disposed of.
/// </summary>
[SuppressMessage(
    "Design", "CA1001:Types that own disposable fields should be disposable",
    Justification = "It is a stream; the source has no timer and no wait handle, and the front may still look at it.")]
internal sealed class InnerConnection : Stream
{
    /// <summary>How many bytes wait at most in each direction.</summary>
    private const int Waiting = 64 * 1024;

    private const int Piece = 16 * 1024;

    private static readonly PipeOptions _options = new(
        pauseWriterThreshold: Waiting, resumeWriterThreshold: Waiting / 2, useSynchronizationContext: false);

    private readonly Lock _gate = new(); // For what is sent and its end.
    private readonly Pipe _toFront = new(_options);
    private readonly Pipe _fromFront = new(_options);
    private readonly Stream _input;
    private readonly CancellationTokenSource _left = new();
    private bool _hasEnded;

    /// <summary>Begins the connection.</summary>
    /// <param name="front">Serves it.</param>
    /// <param name="isTls">Whether its requests count as sent with TLS.</param>
    /// <param name="port">The port that they count as sent to.</param>
    public InnerConnection(Http1Front front, bool isTls, int port)
    {
        _input = _fromFront.Reader.AsStream();
        var transport = new VisitorTransport
        {
            Input = _toFront.Reader,
            OutputPipe = _fromFront.Writer,
            Output = new PipeOutput(_fromFront.Writer, tls: null, endsByCompletion: true),
            Id = "inner",
            IsTls = isTls,
            Remote = new IPEndPoint(IPAddress.Loopback, 0),
            Local = new IPEndPoint(IPAddress.Loopback, port),
            ReadAhead = Waiting,
            InputEnded = _left.Token,
            Abort = Abort,
        };

        // It contains its own faults.
        _ = new Http1Connection(front, transport).RunAsync();
    }

    /// <inheritdoc/>
    public override bool CanRead => true;

    /// <inheritdoc/>
    public override bool CanSeek => false;

    /// <inheritdoc/>
    public override bool CanWrite => true;

    /// <inheritdoc/>
    public override long Length => throw new NotSupportedException();

    /// <inheritdoc/>
    public override long Position
    {
        get => throw new NotSupportedException();
        set => throw new NotSupportedException();
    }

    /// <inheritdoc/>
    public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default) =>
        _input.ReadAsync(buffer, cancellationToken);

    /// <inheritdoc/>
    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        _input.ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <inheritdoc/>
    public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        while (!buffer.IsEmpty)
        {
            var length = Math.Min(buffer.Length, Piece);
            ValueTask<FlushResult> flushing;
            lock (_gate)
            {
                if (_hasEnded)
                {
                    throw new IOException("The connection has ended.");
                }

                flushing = _toFront.Writer.WriteAsync(buffer[..length], cancellationToken);
            }

            if (await flushing.ConfigureAwait(false) is { IsCompleted: true } or { IsCanceled: true })
            {
                throw new IOException("The connection has ended.");
            }

            buffer = buffer[length..];
        }
    }

    /// <inheritdoc/>
    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <inheritdoc/>
    public override void Flush()
    {
        // What is written is sent; nothing waits here.
    }

    /// <inheritdoc/>
    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override void SetLength(long value) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    /// <inheritdoc/>
    protected override void Dispose(bool disposing)
    {
        if (disposing && !_left.IsCancellationRequested)
        {
            // The visitor leaves: the front ends what it still does.
            _left.Cancel();
            EndInput(null);
            _fromFront.Reader.Complete();
        }

        base.Dispose(disposing);
    }

    private void Abort()
    {
        var exception = new IOException("The exchange was cut off.");
        _fromFront.Writer.CancelPendingFlush();
        _fromFront.Writer.Complete(exception);
        EndInput(exception);
    }

    private void EndInput(Exception? exception)
    {
        lock (_gate)
        {
            _hasEnded = true;
            _toFront.Writer.CancelPendingFlush();
            _toFront.Writer.Complete(exception);
        }
    }
}
