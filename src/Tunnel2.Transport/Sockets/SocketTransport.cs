using System.Net.Sockets;
using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.Transport.Sockets;

/// <summary>
/// The bytes of a TCP socket of the runtime, without a pipe: an uplink's reader receives into its own large buffer, and its writer sends
/// its own batch. One reusable operation in each direction, so that nothing is allocated while it runs.
/// </summary>
internal sealed class SocketTransport : IUplinkTransport
{
    private readonly Socket _socket;
    private readonly SocketOperation _receive;
    private readonly SocketOperation _send = new();
    private int _aborted;

    /// <summary>Takes over a connected socket.</summary>
    /// <param name="socket">The socket.</param>
    /// <param name="isUplink">Whether to set the socket options of an uplink.</param>
    public SocketTransport(Socket socket, bool isUplink = true)
    {
        _socket = socket;
        _receive = new SocketOperation(_send);
        if (isUplink)
        {
            RemoteName = SocketTuning.RemoteNameOf(socket);
            SocketTuning.ApplyToUplink(socket);
        }
    }

    /// <inheritdoc/>
    public string RemoteName { get; } = "";

    /// <inheritdoc/>
    public long RetransmittedSegments => SocketTuning.ReadRetransmittedSegments(_socket);

    /// <inheritdoc/>
    public ValueTask<int> ReceiveAsync(Memory<byte> buffer)
    {
        try
        {
            _receive.SetBuffer(buffer);
            return _socket.ReceiveAsync(_receive) ? _receive.Pending() : _receive.CompletedNow();
        }
        catch (ObjectDisposedException exception)
        {
            return ValueTask.FromException<int>(new IOException("The connection was aborted.", exception));
        }
    }

    /// <inheritdoc/>
    public ValueTask SendAsync(ReadOnlyMemory<byte> buffer)
    {
        ValueTask<int> sent;
        try
        {
            sent = SendOnce(buffer);
        }
        catch (ObjectDisposedException exception)
        {
            return ValueTask.FromException(new IOException("The connection was aborted.", exception));
        }

        if (!sent.IsCompletedSuccessfully)
        {
            return SendRestAsync(buffer, sent);
        }

        // A stream socket's send of System.Net.Sockets completes when all bytes were taken. The contract allows less, so the rest is sent
        // too.
        var count = sent.Result;
        return count == buffer.Length ? default : SendRestAsync(buffer[count..], new ValueTask<int>(0));
    }

    /// <inheritdoc/>
    public void ShutdownSend()
    {
        try
        {
            _socket.Shutdown(SocketShutdown.Send);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // The connection has already gone, which is the purpose of this call.
        }
    }

    /// <inheritdoc/>
    public bool IsIdleAndOpen()
    {
        try
        {
            return !_socket.Poll(0, SelectMode.SelectRead);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            return false;
        }
    }

    /// <inheritdoc/>
    public bool HasBytes()
    {
        try
        {
            return _socket.Available > 0;
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            return false;
        }
    }

    /// <inheritdoc/>
    public void Abort()
    {
        if (Interlocked.Exchange(ref _aborted, 1) == 0)
        {
            _socket.Dispose();
        }
    }

    /// <inheritdoc/>
    public void Discard()
    {
        try
        {
            _socket.LingerState = new LingerOption(true, 0);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // It has already gone.
        }

        Abort();
    }

    /// <inheritdoc/>
    public ValueTask DisposeAsync()
    {
        Abort();
        _receive.Dispose();
        _send.Dispose();
        return default;
    }

    private ValueTask<int> SendOnce(ReadOnlyMemory<byte> buffer)
    {
        _send.SetBuffer(System.Runtime.InteropServices.MemoryMarshal.AsMemory(buffer));
        return _socket.SendAsync(_send) ? _send.Pending() : _send.CompletedNow();
    }

    private async ValueTask SendRestAsync(ReadOnlyMemory<byte> buffer, ValueTask<int> first)
    {
        var sent = await first.ConfigureAwait(false);
        while (sent < buffer.Length)
        {
            sent += await SendOnce(buffer[sent..]).ConfigureAwait(false);
        }
    }
}
