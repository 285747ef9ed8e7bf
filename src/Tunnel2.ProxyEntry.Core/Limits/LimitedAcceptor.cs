using System.Net;
using System.Net.Sockets;

namespace Tunnel2.ProxyEntry.Limits;

/// <summary>
/// Accepts on a listening <see cref="Socket"/> within a <see cref="ConnectionLimit"/>. Nothing that goes wrong with one connection, and no
/// shortage of the system, ends it or makes it spin. One caller at a time.
/// </summary>
internal sealed class LimitedAcceptor
{
    /// <summary>After an accept that failed for want of descriptors or memory: a moment, and then again, for ever.</summary>
    private static readonly TimeSpan _pause = TimeSpan.FromMilliseconds(100);

    private readonly Socket _listener;
    private readonly Func<CancellationToken, ValueTask<Socket>> _accept;
    private readonly ConnectionLimit _limit;
    private readonly Action<SocketError> _failed;
    private readonly TimeProvider _timeProvider;

    /// <param name="listener">The socket, which listens.</param>
    /// <param name="limit">How many there may be.</param>
    /// <param name="failed">Told where the system was out of something.</param>
    /// <param name="timeProvider">The clock.</param>
    /// <param name="accept">How to accept; for tests.</param>
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

    /// <summary>Waits for the next connection that may come in.</summary>
    /// <returns>The connection and its place, which is to be given back; null once the listener is closed.</returns>
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

            // Accepted before there is room for it, so that it is known that somebody waits, and who: one more than there may be.
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

    /// <summary>Closes a connection so that its peer knows at once and nothing of it is left here.</summary>
    private static void Reset(Socket socket)
    {
        try
        {
            socket.LingerState = new LingerOption(true, 0);
        }
        catch (SocketException)
        {
            // It is gone already.
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
