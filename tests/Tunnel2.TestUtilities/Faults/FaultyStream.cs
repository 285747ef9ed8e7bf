namespace Tunnel2.TestUtilities;

/// <summary>
/// A stream that fails, stalls or tears on command and otherwise passes everything to another one. The settings are made before use;
/// counters may be read from any thread.
/// </summary>
public sealed class FaultyStream : Stream
{
    private readonly Stream _inner;
    private int _readCalls;
    private int _writeCalls;
    private int _flushCalls;
    private long _bytesRead;
    private long _bytesWritten;

    /// <param name="inner">The stream underneath; disposed with this one.</param>
    public FaultyStream(Stream inner)
    {
        _inner = inner;
    }

    /// <summary>The first read that fails, counted from 1; this and all later ones throw.</summary>
    public int? FailReadsFrom { get; init; }

    /// <summary>The first write that fails, counted from 1; this and all later ones throw.</summary>
    public int? FailWritesFrom { get; init; }

    /// <summary>How many bytes of the first failing write still reach the stream underneath (0: none).</summary>
    public int BytesBeforeWriteFailure { get; init; }

    /// <summary>Makes what a failing call throws; default: an <see cref="IOException"/>.</summary>
    public Func<Exception> Failure { get; init; } = static () => new IOException("This failure was asked for.");

    /// <summary>Reads wait for this signal before they begin.</summary>
    public WaitSignal? StallReadsUntil { get; init; }

    /// <summary>Writes wait for this signal before they begin.</summary>
    public WaitSignal? StallWritesUntil { get; init; }

    /// <summary>The first write that <see cref="StallWritesUntil"/> holds up, counted from 1.</summary>
    public int StallWritesFrom { get; init; } = 1;

    /// <summary>The first read that <see cref="StallReadsUntil"/> holds up, counted from 1.</summary>
    public int StallReadsFrom { get; init; } = 1;

    /// <summary>How long a stall may last before the call fails.</summary>
    public TimeSpan StallLimit { get; init; } = TimeSpan.FromMinutes(1);

    /// <summary>Tears each write into pieces of 1 to <see cref="LongestPiece"/> bytes, and shortens reads in the same way.</summary>
    public Random? Tear { get; init; }

    /// <summary>The longest piece that <see cref="Tear"/> makes, in bytes.</summary>
    public int LongestPiece { get; init; } = 7;

    /// <summary>Signals each call that has begun to stall.</summary>
    public AsyncCounter Stalled { get; } = new("calls that stalled");

    /// <summary>How many reads were begun.</summary>
    public int ReadCalls => Volatile.Read(ref _readCalls);

    /// <summary>How many writes were begun (before tearing).</summary>
    public int WriteCalls => Volatile.Read(ref _writeCalls);

    /// <summary>How many flushes were begun.</summary>
    public int FlushCalls => Volatile.Read(ref _flushCalls);

    /// <summary>How many bytes were read.</summary>
    public long BytesRead => Interlocked.Read(ref _bytesRead);

    /// <summary>How many bytes reached the stream underneath.</summary>
    public long BytesWritten => Interlocked.Read(ref _bytesWritten);

    /// <inheritdoc/>
    public override bool CanRead => _inner.CanRead;

    /// <inheritdoc/>
    public override bool CanWrite => _inner.CanWrite;

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

    /// <inheritdoc/>
    public override async ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        var call = Interlocked.Increment(ref _readCalls);
        await StallAsync(StallReadsUntil, call, StallReadsFrom, cancellationToken).ConfigureAwait(false);
        if (call >= FailReadsFrom)
        {
            throw Failure();
        }

        var count = await _inner.ReadAsync(buffer[..NextPiece(buffer.Length)], cancellationToken).ConfigureAwait(false);
        Interlocked.Add(ref _bytesRead, count);
        return count;
    }

    /// <inheritdoc/>
    public override async ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        var call = Interlocked.Increment(ref _writeCalls);
        await StallAsync(StallWritesUntil, call, StallWritesFrom, cancellationToken).ConfigureAwait(false);
        if (call >= FailWritesFrom)
        {
            if (call == FailWritesFrom && BytesBeforeWriteFailure > 0)
            {
                await WritePiecesAsync(buffer[..Math.Min(BytesBeforeWriteFailure, buffer.Length)], cancellationToken).ConfigureAwait(false);
            }

            throw Failure();
        }

        await WritePiecesAsync(buffer, cancellationToken).ConfigureAwait(false);
    }

    /// <inheritdoc/>
    public override Task FlushAsync(CancellationToken cancellationToken)
    {
        Interlocked.Increment(ref _flushCalls);
        return _inner.FlushAsync(cancellationToken);
    }

    /// <inheritdoc/>
    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <inheritdoc/>
    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <inheritdoc/>
    public override int Read(byte[] buffer, int offset, int count) =>
        ReadAsync(buffer.AsMemory(offset, count)).AsTask().GetAwaiter().GetResult();

    /// <inheritdoc/>
    public override void Write(byte[] buffer, int offset, int count) =>
        WriteAsync(buffer.AsMemory(offset, count)).AsTask().GetAwaiter().GetResult();

    /// <inheritdoc/>
    public override void Flush() => FlushAsync(CancellationToken.None).GetAwaiter().GetResult();

    /// <inheritdoc/>
    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override void SetLength(long value) => throw new NotSupportedException();

    /// <inheritdoc/>
    protected override void Dispose(bool disposing)
    {
        if (disposing)
        {
            _inner.Dispose();
        }

        base.Dispose(disposing);
    }

    private async ValueTask StallAsync(WaitSignal? signal, int call, int firstCall, CancellationToken cancellationToken)
    {
        if (signal is { IsSet: false } && call >= firstCall)
        {
            var wait = signal.WaitAsync(StallLimit, cancellationToken);
            Stalled.Increment();
            await wait.ConfigureAwait(false);
        }
    }

    private async ValueTask WritePiecesAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken)
    {
        do
        {
            var piece = buffer[..NextPiece(buffer.Length)];
            await _inner.WriteAsync(piece, cancellationToken).ConfigureAwait(false);
            Interlocked.Add(ref _bytesWritten, piece.Length);
            buffer = buffer[piece.Length..];
        }
        while (!buffer.IsEmpty);
    }

    private int NextPiece(int length)
    {
        if (Tear is not { } random || length == 0)
        {
            return length;
        }

        // A reader and a writer may tear at the same time, and Random is not thread-safe.
        lock (random)
        {
            return random.Next(1, Math.Min(length, LongestPiece) + 1);
        }
    }
}
