using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Telemetry.Relay;

/// How a connection becomes a client: TLS handshake, hello, token, and then a place.
internal sealed partial class EventRelayServer
{
    private async Task AcceptAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                Socket socket = await _listener.AcceptAsync(_stop.Token).ConfigureAwait(false);
                _ = ServeAsync(socket);
            }
            catch (Exception e) when (e is OperationCanceledException or ObjectDisposedException)
            {
                return;
            }
            catch (Exception exception)
            {
                if (exception is not SocketException)
                {
                    _options.OnFault?.Invoke(exception);
                }

                // A client that left before it was accepted, or too many open files: neither ends the relay.
                await Task.Delay(TimeSpan.FromMilliseconds(10), _time, CancellationToken.None).ConfigureAwait(false);
            }
        }
    }

    private async Task ServeAsync(Socket socket)
    {
        // A socket's completion may run inline on a thread that must not be held, and the next steps read the ring, which takes time.
        await Task.CompletedTask.ConfigureAwait(ConfigureAwaitOptions.ForceYielding);
        using Socket accepted = socket;
        if (AddressOf(socket) is not { } address || !_strangers.TryEnter(address))
        {
            // Connections that only wait must not use up the server's sockets, nor keep other addresses out.
            Metrics.ClientLeft(RelayCloseReason.Refused, welcomed: false);
            return;
        }

        RelayConnection? connection = null;
        bool isStranger = true;
        try
        {
            socket.NoDelay = true;
            socket.Blocking = false;
            if (_options.SendBuffer > 0)
            {
                socket.SendBufferSize = _options.SendBuffer;
            }

            ulong ringId;
            long from;
            using (var limit = CancellationTokenSource.CreateLinkedTokenSource(_stop.Token))
            {
                limit.CancelAfter(_options.HelloTimeout);
                (RelayTransport? transport, bool sentPlaintext) = _options.Encrypt is { } encrypt
                    ? await encrypt(socket, limit.Token).ConfigureAwait(false)
                    : (new PlainRelayTransport(socket), false);
                connection = new RelayConnection(
                    transport ?? throw new IOException("The TLS handshake failed."), Metrics, _time);
                RelayHello hello = sentPlaintext
                    ? RelayHello.Refused(RelayStatus.TlsRequired)
                    : await connection.ReceiveHelloAsync(limit.Token).ConfigureAwait(false);
                (ringId, from) = (hello.RingId, hello.From);
                RelayStatus status = hello.Status == RelayStatus.Accepted ? LetIn(connection, address, hello.Token) : hello.Status;
                if (status != RelayStatus.Accepted)
                {
                    byte[] refusal = new byte[64];
                    await connection.SendAsync(
                        refusal.AsMemory(0, RelayFrame.WriteWelcome(refusal, status, 0, 0)), limit.Token).ConfigureAwait(false);
                    connection.Close(RelayCloseReason.Refused);
                    return;
                }
            }

            _strangers.Leave(address);
            isStranger = false;
            await CatchUpFromRingAsync(connection, ringId, from).ConfigureAwait(false);
            await connection.CatchUpAsync().ConfigureAwait(false);
            await connection.WatchAsync().ConfigureAwait(false);
        }
        catch (OperationCanceledException)
        {
            Close(connection, _stop.IsCancellationRequested ? RelayCloseReason.ServerStopped : RelayCloseReason.Refused);
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException or IOException)
        {
            Close(connection, RelayCloseReason.ClientGone);
        }
        catch (Exception exception)
        {
            _options.OnFault?.Invoke(exception);
            Close(connection, RelayCloseReason.ClientGone);
        }
        finally
        {
            if (isStranger)
            {
                _strangers.Leave(address);
            }

            if (connection is not null)
            {
                Remove(connection);
                await connection.DisposeAsync().ConfigureAwait(false);
            }
        }
    }

    private static IPAddress? AddressOf(Socket socket)
    {
        try
        {
            return (socket.RemoteEndPoint as IPEndPoint)?.Address;
        }
        catch (Exception e) when (e is SocketException or ObjectDisposedException)
        {
            return null; // It has left already.
        }
    }

    private void Close(RelayConnection? connection, RelayCloseReason reason)
    {
        if (connection is not null)
        {
            connection.Close(reason);
        }
        else
        {
            Metrics.ClientLeft(reason, welcomed: false);
        }
    }

    private RelayStatus LetIn(RelayConnection connection, IPAddress address, ReadOnlyMemory<byte> token)
    {
        RelayStatus status = _options.Admit?.Invoke(address, token) ?? RelayStatus.Accepted;
        return status != RelayStatus.Accepted || TryAdd(connection) ? status : RelayStatus.TooManyClients;
    }

    private bool TryAdd(RelayConnection connection)
    {
        lock (_connectionsLock)
        {
            if (_connections.Length >= _options.MaxClients)
            {
                return false;
            }

            _connections = [.. _connections, connection];
            return true;
        }
    }

    private void Remove(RelayConnection connection)
    {
        lock (_connectionsLock)
        {
            _connections = [.. _connections.Where(c => c != connection)];
        }
    }
}
