using System.Runtime.CompilerServices;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Transports;

namespace Tunnel2.Transport.Tls;

/// <summary>
/// The encrypted side of an <see cref="System.Net.Security.SslStream"/>: the bytes of another transport. SslStream reads one record at a
/// time, with an empty read before each, and writes one record at a time. Here one receive takes all bytes that the kernel has, and the
/// records of a batch leave together. One read and one write at a time.
/// </summary>
internal sealed class TlsByteStream : Stream
{
    /// <summary>The first byte of a TLS handshake record (RFC 8446 section 5.1).</summary>
    public const byte HandshakeRecord = 0x16;

    /// <summary>The first byte of a TLS alert record.</summary>
    public const byte AlertRecord = 0x15;

    /// <summary>The buffer of an idle connection.</summary>
    private const int SmallBuffer = 16 * 1024;

    /// <summary>The buffer of a busy uplink grows up to this.</summary>
    private const int LargeBuffer = 256 * 1024;

    /// <summary>
    /// The buffer of other connections grows up to this: a record and more. Bytes that their reader does not take stay with the peer.
    /// </summary>
    private const int MediumBuffer = 32 * 1024;

    /// <summary>After this many small receives in a row the next buffer is small again.</summary>
    private const int ShrinkAfter = 64;

    /// <summary>Memory for records of one batch that leave together.</summary>
    private const int GatherBuffer = 128 * 1024;

    private const int FirstBytesKept = 8;

    /// <summary>States of <see cref="_use"/>.</summary>
    private const int Free = 0;
    private const int Reading = 1;
    private const int Closed = 2;

    private readonly IByteTransport _transport;
    private readonly BufferPool _buffers;
    private readonly bool _isUplink;
    private readonly byte[] _firstBytes = new byte[FirstBytesKept];
    private byte[]? _received;
    private int _offset;
    private int _available;
    private int _size = SmallBuffer;
    private int _smallReceives;
    private int _firstCount;
    private bool _ended;
    private byte[]? _gathered;
    private int _gatheredLength;
    private bool _isGathering;
    private volatile bool _isHandshake = true;

    /// <summary>
    /// Whether a read uses the receive buffer. An idle connection may be disposed of at the moment when its wait becomes a read.
    /// </summary>
    private int _use;

    /// <summary>Makes the encrypted side.</summary>
    /// <param name="transport">The transport of the encrypted bytes.</param>
    /// <param name="buffers">The pool for the buffers.</param>
    /// <param name="isUplink">
    /// Whether it belongs to an uplink, which is busy. Other connections hold no buffer while they wait, and only small ones at other
    /// times.
    /// </param>
    public TlsByteStream(IByteTransport transport, BufferPool buffers, bool isUplink = true)
    {
        _transport = transport;
        _buffers = buffers;
        _isUplink = isUplink;
    }

    /// <summary>The first bytes that the peer sent, up to 8.</summary>
    public ReadOnlyMemory<byte> FirstBytes => _firstBytes.AsMemory(0, _firstCount);

    /// <summary>Whether the peer has sent bytes that are not TLS.</summary>
    public bool IsForeign => _firstCount > 0 && _firstBytes[0] is not (HandshakeRecord or AlertRecord);

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

    /// <summary>
    /// The handshake is over: from now on the reader continues on the thread that completed the receive. During the handshake all work
    /// after a receive runs on the thread pool, because its cryptography would hold up all connections of an engine's thread.
    /// </summary>
    public void EndHandshake() => _isHandshake = false;

    /// <summary>Keeps written bytes until <see cref="SendGatheredAsync"/>, or until there are many.</summary>
    public void BeginGathering() => _isGathering = true;

    /// <summary>Sends the gathered bytes.</summary>
    public ValueTask SendGatheredAsync()
    {
        var length = _gatheredLength;
        _gatheredLength = 0;
        return length == 0 ? default : _transport.SendAsync(_gathered.AsMemory(0, length));
    }

    /// <summary>
    /// Gives the buffer of gathered bytes back. By the writer, also after a failure: no other thread knows when the transport has done
    /// with it.
    /// </summary>
    public void EndGathering()
    {
        _isGathering = false;
        _gatheredLength = 0;
        if (_gathered is { } buffer)
        {
            _gathered = null;
            _buffers.Return(buffer);
        }
    }

    /// <summary>
    /// Gives the buffer of received bytes back. Call it after the transport was aborted: a pending read gives its buffer back itself.
    /// </summary>
    public void ReturnBuffer()
    {
        if (Interlocked.Exchange(ref _use, Closed) == Free)
        {
            ReturnReceived();
        }
    }

    /// <inheritdoc/>
    public override ValueTask<int> ReadAsync(Memory<byte> buffer, CancellationToken cancellationToken = default)
    {
        if (Interlocked.CompareExchange(ref _use, Reading, Free) == Closed)
        {
            return ValueTask.FromException<int>(new IOException("The connection was aborted."));
        }

        if (_available > 0 || _ended)
        {
            return new ValueTask<int>(Take(buffer.Span));
        }

        if (buffer.IsEmpty && !_isUplink && !_isHandshake)
        {
            ReturnReceived();
            EndUse();
            return _transport.ReceiveAsync(Memory<byte>.Empty);
        }

        _received ??= _buffers.Rent(_size);
        var receive = _transport.ReceiveAsync(_received);
        if (_isHandshake)
        {
            return ReadInHandshakeAsync(receive, buffer);
        }

        if (!receive.IsCompletedSuccessfully)
        {
            return AwaitReadAsync(receive, buffer);
        }

        OnReceived(receive.Result);
        return new ValueTask<int>(Take(buffer.Span));
    }

    /// <inheritdoc/>
    public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
    {
        if (!_isGathering)
        {
            return _transport.SendAsync(buffer);
        }

        _gathered ??= _buffers.Rent(GatherBuffer);
        if (buffer.Length > _gathered.Length - _gatheredLength)
        {
            return SendAndGatherAsync(buffer);
        }

        Gather(buffer.Span);
        return default;
    }

    /// <inheritdoc/>
    public override Task<int> ReadAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        ReadAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <inheritdoc/>
    public override Task WriteAsync(byte[] buffer, int offset, int count, CancellationToken cancellationToken) =>
        WriteAsync(buffer.AsMemory(offset, count), cancellationToken).AsTask();

    /// <inheritdoc/>
    public override Task FlushAsync(CancellationToken cancellationToken) => Task.CompletedTask;

    /// <inheritdoc/>
    public override void Flush()
    {
    }

    /// <inheritdoc/>
    public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override void Write(byte[] buffer, int offset, int count) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

    /// <inheritdoc/>
    public override void SetLength(long value) => throw new NotSupportedException();

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<int> AwaitReadAsync(ValueTask<int> receive, Memory<byte> buffer)
    {
        try
        {
            OnReceived(await receive.ConfigureAwait(false));
        }
        catch
        {
            EndUse();
            throw;
        }

        return Take(buffer.Span);
    }

    private async ValueTask<int> ReadInHandshakeAsync(ValueTask<int> receive, Memory<byte> buffer)
    {
        try
        {
            OnReceived(await receive.ConfigureAwait(false));
            await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
            if (IsForeign)
            {
                throw new IOException("The peer does not speak TLS.");
            }
        }
        catch
        {
            EndUse();
            throw;
        }

        return Take(buffer.Span);
    }

    private void OnReceived(int count)
    {
        _offset = 0;
        _available = count;
        _ended = count == 0;
        if (_firstCount < FirstBytesKept)
        {
            var kept = Math.Min(FirstBytesKept - _firstCount, count);
            _received.AsSpan(0, kept).CopyTo(_firstBytes.AsSpan(_firstCount));
            _firstCount += kept;
        }

        if (count == _received!.Length)
        {
            _size = Math.Min(_isUplink ? LargeBuffer : MediumBuffer, count * 4);
            _smallReceives = 0;
        }
        else if (count > SmallBuffer / 2)
        {
            _smallReceives = 0;
        }
        else if (++_smallReceives > ShrinkAfter)
        {
            _size = SmallBuffer;
        }
    }

    /// <summary>Ends a read. An empty read only waits until there are bytes.</summary>
    private int Take(Span<byte> destination)
    {
        var count = Math.Min(destination.Length, _available);
        if (count > 0)
        {
            _received.AsSpan(_offset, count).CopyTo(destination);
            _offset += count;
            _available -= count;
            if (_available == 0 && (_received!.Length < _size || _received.Length > _size * 2))
            {
                ReturnReceived();
            }
        }

        EndUse();
        return count;
    }

    /// <summary>The read that used the receive buffer is over; if the stream was closed in that time, it gives the buffer back.</summary>
    private void EndUse()
    {
        if (Interlocked.CompareExchange(ref _use, Free, Reading) == Closed)
        {
            ReturnReceived();
        }
    }

    private void ReturnReceived()
    {
        if (_received is { } received)
        {
            _received = null;
            _available = 0;
            _buffers.Return(received);
        }
    }

    private void Gather(ReadOnlySpan<byte> bytes)
    {
        bytes.CopyTo(_gathered.AsSpan(_gatheredLength));
        _gatheredLength += bytes.Length;
    }

    private async ValueTask SendAndGatherAsync(ReadOnlyMemory<byte> buffer)
    {
        await SendGatheredAsync().ConfigureAwait(false);
        Gather(buffer.Span);
    }
}
