using System.Net;
using System.Net.Sockets;

namespace Tunnel2.TestUtilities;

/// <summary>
/// A backend that does to each connection exactly what the test says. The connection is closed when the test's code returns; a failure of
/// that code (other than the connection's end) is thrown by <see cref="DisposeAsync"/>.
/// </summary>
public sealed class RawTcpServer : IAsyncDisposable
{
    private readonly Lock _lock = new();
    private readonly Socket _listener;
    private readonly Func<RawConnection, Task> _onConnection;
    private readonly List<RawConnection> _connections = [];
    private readonly List<Task> _running = [];
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _accepting;

    private RawTcpServer(Func<RawConnection, Task> onConnection)
    {
        _onConnection = onConnection;
        _listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen(512);
        EndPoint = (IPEndPoint)_listener.LocalEndPoint!;
        _accepting = Task.Run(AcceptAsync);
    }

    /// <summary>Where it listens.</summary>
    public IPEndPoint EndPoint { get; }

    /// <summary>The port it listens on.</summary>
    public int Port => EndPoint.Port;

    /// <summary>Counts the accepted connections.</summary>
    public AsyncCounter ConnectionsAccepted { get; } = new("connections accepted by the raw server");

    /// <summary>Counts the connections that the test's code is done with.</summary>
    public AsyncCounter ConnectionsDone { get; } = new("connections done at the raw server");

    /// <summary>Starts one on a free port of 127.0.0.1.</summary>
    /// <param name="onConnection">What to do with a connection; several run at the same time.</param>
    public static RawTcpServer Start(Func<RawConnection, Task> onConnection) => new(onConnection);

    /// <summary>
    /// Starts one that reads a request's head on each connection, answers with <paramref name="response"/> (Latin-1) and closes.
    /// </summary>
    public static RawTcpServer StartAnswering(string response) => Start(async connection =>
    {
        await connection.ReadHeadAsync().ConfigureAwait(false);
        await connection.WriteAsync(response).ConfigureAwait(false);
        await connection.CloseAsync().ConfigureAwait(false);
    });

    /// <summary>Stops listening, closes all connections and throws what the test's code threw.</summary>
    /// <exception cref="AggregateException">The test's code failed.</exception>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync().ConfigureAwait(false);
        _listener.Dispose();
        await _accepting.ConfigureAwait(false);
        Task[] running;
        lock (_lock)
        {
            running = [.. _running];
            foreach (var connection in _connections)
            {
                connection.Socket.Dispose();
            }
        }

        _stop.Dispose();
        await Task.WhenAll(running).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        var failures = running.Where(task => task.IsFaulted).SelectMany(task => task.Exception!.InnerExceptions).ToList();
        if (failures.Count > 0)
        {
            throw new AggregateException("The code behind the raw server failed.", failures);
        }
    }

    private async Task AcceptAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                var socket = await _listener.AcceptAsync(_stop.Token).ConfigureAwait(false);
                socket.NoDelay = true;
                var connection = new RawConnection(socket);

                // Before the test's code can answer on it, so that a client with an answer finds it counted.
                ConnectionsAccepted.Increment();
                lock (_lock)
                {
                    _connections.Add(connection);
                    _running.Add(Task.Run(() => ServeAsync(connection)));
                }
            }
            catch (Exception e) when (e is SocketException or OperationCanceledException or ObjectDisposedException)
            {
                // Disposed, or the caller went away before it was accepted.
            }
        }
    }

    private async Task ServeAsync(RawConnection connection)
    {
        try
        {
            await _onConnection(connection).ConfigureAwait(false);
        }
        catch (Exception e) when (e is IOException or SocketException or ObjectDisposedException)
        {
            // The other side has gone, or the server was disposed.
        }
        finally
        {
            await connection.DisposeAsync().ConfigureAwait(false);
            ConnectionsDone.Increment();
        }
    }
}
