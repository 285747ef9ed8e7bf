using System.Net;
using System.Net.Sockets;

namespace Tunnel2.ProxyEntry.Limits;

/// <summary>
/// Accepts on a listening <see cref="Socket"/> within a <see cref="ConnectionLimit"/>. An error of one connection, or a shortage of
/// descriptors or memory, neither ends it nor makes it spin. One caller at a time.
/// </summary>
internal sealed class LimitedAcceptor
{
    /// <summary>The pause after an accept that failed because descriptors or memory were short. Then it tries again, without end.</summary>
    private static readonly TimeSpan _pause = TimeSpan.FromMilliseconds(100);

    private readonly Socket _listener;
    private readonly Func<CancellationToken, ValueTask<Socket>> _accept;
    private readonly ConnectionLimit _limit;
    private readonly Action<SocketError> _failed;
    private readonly TimeProvider _timeProvider;

    /// <param name="listener">The listening socket.</param>
    /// <param name="limit">The limit of connections.</param>
    /// <param name="failed">Called when descriptors or memory were short.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="accept">How to accept; tests replace it.</param>
    public LimitedAcceptor(
        Socket listener, ConnectionLimit limit, Action<SocketError> failed, TimeProvider timeProvider,
        Func<CancellationToken, ValueTask<Socket>>? accept = null)
    {
        _accept = accept ?? listener.AcceptAsync;
        _listener = listener;
        _limit = limit;
        _failed = failed;
        _timeProvider = timeProvider;
    }

    /// <summary>Waits for the next connection that may enter.</summary>
    /// <returns>The connection and its place, which the caller gives back; null once the listener is closed.</returns>
    public async ValueTask<(Socket Socket, ConnectionPlace Place)?> AcceptAsync(CancellationToken stopping)
    {
        while (true)
        {
            Socket socket;
            try
            {
                socket = await _accept(stopping).ConfigureAwait(false);
            }
            catch (Exception exception) when (exception is OperationCanceledException or ObjectDisposedException)
            {
                return null;
            }
            catch (SocketException exception)
            {
                if (stopping.IsCancellationRequested || _listener.SafeHandle.IsClosed)
                {
                    return null;
                }

                if (!IsOneConnections(exception.SocketErrorCode))
                {
                    _failed(exception.SocketErrorCode);
                    await Task.Delay(_pause, _timeProvider, CancellationToken.None).ConfigureAwait(false);
                }

                continue;
            }

            // Accepted before there is room: one more than the limit. So it is known that a connection waits, and from which address.
            var address = (socket.RemoteEndPoint as IPEndPoint)?.Address;
            if (!_limit.IsOpen && !_limit.IsAddressFull(address) && !await WaitForRoomAsync(stopping).ConfigureAwait(false))
            {
                Reset(socket);
                return null;
            }

            if (!_limit.TryEnter(address, out var place))
            {
                Reset(socket);
                continue;
            }

            return (socket, place);
        }
    }

    /// <summary>Closes a connection with a reset, so that its peer notices at once and the system keeps nothing of it.</summary>
    private static void Reset(Socket socket)
    {
        try
        {
            socket.LingerState = new LingerOption(true, 0);
        }
        catch (SocketException)
        {
            // The peer has already gone.
        }

        socket.Dispose();
    }

    private static bool IsOneConnections(SocketError error) =>
        error is SocketError.ConnectionAborted or SocketError.ConnectionReset or SocketError.Interrupted
        or SocketError.NetworkDown or SocketError.NetworkUnreachable or SocketError.HostDown
        or SocketError.HostUnreachable or SocketError.TimedOut;

    private async ValueTask<bool> WaitForRoomAsync(CancellationToken stopping)
    {
        var room = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        _limit.WhenOpen(() => room.TrySetResult());
        using var stop = stopping.UnsafeRegister(static room => ((TaskCompletionSource)room!).TrySetCanceled(), room);
        await room.Task.ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        return room.Task.IsCompletedSuccessfully;
    }
}
