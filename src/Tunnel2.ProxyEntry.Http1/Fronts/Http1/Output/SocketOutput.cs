using System.Diagnostics.CodeAnalysis;
using System.Net.Sockets;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Fronts.Http1.Output;

/// <summary>
/// Sends on the socket itself, without the transport's pipe: one buffer, held only while it has bytes; one system call per flush; and one
/// direction can be ended. The bytes have left when <see cref="FlushAsync"/> completes.
/// </summary>
[SuppressMessage("Design", "CA1001", Justification = "Disposed of by Release.")]
internal sealed class SocketOutput : VisitorOutput
{
    private const int SmallBuffer = 16 * 1024;
    private const int LargeBuffer = 128 * 1024;

    private readonly Socket _socket;
    private readonly SocketOperation _send = new();
    private readonly BufferPool _buffers;
    private byte[]? _buffer;
    private int _filled;
    private int _nextSize = SmallBuffer;
    private bool _isGone;

    /// <summary>Writes to a socket that another object owns and reads from.</summary>
    /// <param name="socket">The socket.</param>
    /// <param name="buffers">The pool for the buffer.</param>
    public SocketOutput(Socket socket, BufferPool buffers)
    {
        _socket = socket;
        _buffers = buffers;
    }

    /// <inheritdoc/>
    public override Span<byte> GetSpan(int size)
    {
        if (_buffer is null)
        {
            _buffer = _buffers.Rent(Math.Max(size, _nextSize));
        }
        else if (_buffer.Length - _filled < size)
        {
            var larger = _buffers.Rent(Math.Max(_filled + size, _buffer.Length * 2));
            _buffer.AsSpan(0, _filled).CopyTo(larger);
            _buffers.Return(_buffer);
            _buffer = larger;
        }

        return _buffer.AsSpan(_filled);
    }

    /// <inheritdoc/>
    public override void Advance(int count) => _filled += count;

    /// <inheritdoc/>
    public override void Write(ReadOnlySpan<byte> data)
    {
        data.CopyTo(GetSpan(data.Length));
        _filled += data.Length;
    }

    /// <inheritdoc/>
    public override ValueTask<bool> FlushAsync()
    {
        if (_filled == 0 || _isGone)
        {
            return new ValueTask<bool>(!_isGone);
        }

        var sending = SendOnce(_buffer.AsMemory(0, _filled));
        if (!sending.IsCompletedSuccessfully)
        {
            return FinishAsync(sending);
        }

        // A stream socket's send of System.Net.Sockets completes when all bytes were taken. The contract allows less, so the rest is sent
        // too.
        var sent = sending.Result;
        if (sent < _filled)
        {
            return FinishAsync(new ValueTask<int>(sent));
        }

        Sent();
        return new ValueTask<bool>(true);
    }

    /// <inheritdoc/>
    public override async ValueTask<bool> SendAsync(ReadOnlyMemory<byte> data) =>
        await FlushAsync().ConfigureAwait(false) && await SendAllAsync(data, SendOnce(data)).ConfigureAwait(false);

    /// <inheritdoc/>
    public override async ValueTask<bool> EndAsync()
    {
        if (!await FlushAsync().ConfigureAwait(false))
        {
            return false;
        }

        try
        {
            _socket.Shutdown(SocketShutdown.Send);
            return true;
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            _isGone = true;
            return false;
        }
    }

    /// <inheritdoc/>
    public override void Release()
    {
        _isGone = true;
        _send.Dispose();
        if (_buffer is { } buffer)
        {
            _buffer = null;
            _filled = 0;
            _buffers.Return(buffer);
        }
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<bool> FinishAsync(ValueTask<int> sending)
    {
        var isThere = await SendAllAsync(_buffer.AsMemory(0, _filled), sending).ConfigureAwait(false);
        Sent();
        return isThere;
    }

    [AsyncMethodBuilder(typeof(PoolingAsyncValueTaskMethodBuilder<>))]
    private async ValueTask<bool> SendAllAsync(ReadOnlyMemory<byte> data, ValueTask<int> first)
    {
        try
        {
            var sent = await first.ConfigureAwait(false);
            while (sent < data.Length)
            {
                sent += await SendOnce(data[sent..]).ConfigureAwait(false);
            }
        }
        catch (IOException)
        {
            _isGone = true;
        }

        return !_isGone;
    }

    private ValueTask<int> SendOnce(ReadOnlyMemory<byte> data)
    {
        try
        {
            _send.SetBuffer(MemoryMarshal.AsMemory(data));
            return _socket.SendAsync(_send) ? _send.Pending() : _send.CompletedNow();
        }
        catch (ObjectDisposedException exception)
        {
            return ValueTask.FromException<int>(new IOException("The connection was aborted.", exception));
        }
    }

    private void Sent()
    {
        // If a body fills its buffer, the next one is large from the start.
        _nextSize = _filled > SmallBuffer ? LargeBuffer : SmallBuffer;
        _filled = 0;
        _buffers.Return(_buffer!);
        _buffer = null;
    }
}
