using System.Net;
using System.Net.Sockets;

namespace Tunnel2.TestUtilities;

/// <summary>
/// A TCP relay on loopback that cuts, holds up, swallows and slows down connections on command. Thread-safe; settings apply at once, to
/// present and later connections.
/// </summary>
public sealed class CuttingProxy : IAsyncDisposable
{
    private readonly Lock _lock = new();
    private readonly Socket _listener;
    private readonly List<ProxiedConnection> _connections = [];
    private readonly List<Task> _running = [];
    private readonly RelayLink _toTarget = new();
    private readonly RelayLink _toClient = new();
    private readonly Action<ProxiedConnection>? _onAccepted;
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _accepting;
    private volatile IPEndPoint _target;
    private volatile bool _refuseConnections;

    private CuttingProxy(IPEndPoint target, Action<ProxiedConnection>? onAccepted)
    {
        _target = target;
        _onAccepted = onAccepted;
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

    /// <summary>Where later connections are relayed to.</summary>
    public IPEndPoint Target
    {
        get => _target;
        set => _target = value;
    }

    /// <summary>Resets later connections instead of relaying them.</summary>
    public bool RefuseConnections
    {
        get => _refuseConnections;
        set => _refuseConnections = value;
    }

    /// <summary>Counts the connections that are relayed (not the refused ones), each when it is joined to the target.</summary>
    public AsyncCounter ConnectionsAccepted { get; } = new("connections accepted by the proxy");

    /// <summary>Counts the connections that were refused, on command or because the target could not be reached.</summary>
    public AsyncCounter ConnectionsRefused { get; } = new("connections refused by the proxy");

    /// <summary>All connections so far, closed ones too, in the order in which they were accepted.</summary>
    public IReadOnlyList<ProxiedConnection> Connections
    {
        get
        {
            lock (_lock)
            {
                return [.. _connections];
            }
        }
    }

    /// <summary>Starts a relay to <paramref name="target"/> on a free port of 127.0.0.1.</summary>
    /// <param name="target">Where connections are relayed to.</param>
    /// <param name="onAccepted">Called for each connection before its first byte is relayed.</param>
    public static CuttingProxy Start(IPEndPoint target, Action<ProxiedConnection>? onAccepted = null) => new(target, onAccepted);

    /// <summary>Waits for the connection with this number (from 1).</summary>
    /// <exception cref="TimeoutException">It was not accepted within <paramref name="timeout"/> (default:
    /// <see cref="AsyncCounter.DefaultTimeout"/>).</exception>
    public async Task<ProxiedConnection> WaitForConnectionAsync(int number = 1, TimeSpan? timeout = null)
    {
        await ConnectionsAccepted.WaitForAsync(number, timeout).ConfigureAwait(false);
        return Connections[number - 1];
    }

    /// <summary>Cuts all connections.</summary>
    public void CutAll(CutMode mode)
    {
        foreach (var connection in Connections)
        {
            connection.Cut(mode);
        }
    }

    /// <summary>Stops reading in <paramref name="direction"/>, so that the sender's buffers fill; nothing is lost.</summary>
    public void Pause(RelayDirection direction) => Change(direction, settings => settings with { IsPaused = true });

    /// <summary>Ends <see cref="Pause"/>.</summary>
    public void Resume(RelayDirection direction) => Change(direction, settings => settings with { IsPaused = false });

    /// <summary>Swallows everything in <paramref name="direction"/>, ends of streams too; both sides believe that all is well.</summary>
    public void BlackHole(RelayDirection direction) => Change(direction, settings => settings with { IsBlackHole = true });

    /// <summary>Ends <see cref="BlackHole"/>; what was swallowed is lost.</summary>
    public void EndBlackHole(RelayDirection direction) => Change(direction, settings => settings with { IsBlackHole = false });

    /// <summary>Holds each byte back by <paramref name="delay"/>; for a round trip of d, delay both directions by d ÷ 2.</summary>
    public void SetDelay(RelayDirection direction, TimeSpan delay) => Change(direction, settings => settings with { Delay = delay });

    /// <summary>Passes at most <paramref name="bytesPerSecond"/> bytes per second and connection; 0: no limit.</summary>
    public void SetBandwidth(RelayDirection direction, long bytesPerSecond) =>
        Change(direction, settings => settings with { BytesPerSecond = bytesPerSecond });

    /// <summary>Stops listening and closes all connections.</summary>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync().ConfigureAwait(false);
        _listener.Dispose();
        await _accepting.ConfigureAwait(false);
        foreach (var connection in Connections)
        {
            connection.Stop();
        }

        Task[] running;
        lock (_lock)
        {
            running = [.. _running];
        }

        await Task.WhenAll(running).ConfigureAwait(false);
        _stop.Dispose();
    }

    private void Change(RelayDirection direction, Func<LinkSettings, LinkSettings> change)
    {
        if (direction.HasFlag(RelayDirection.ToTarget))
        {
            _toTarget.Change(change);
        }

        if (direction.HasFlag(RelayDirection.ToClient))
        {
            _toClient.Change(change);
        }
    }

    private async Task AcceptAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                var client = await _listener.AcceptAsync(_stop.Token).ConfigureAwait(false);
                await JoinAsync(client).ConfigureAwait(false);
            }
            catch (Exception e) when (e is SocketException or OperationCanceledException or ObjectDisposedException)
            {
                // Disposed, or the client went away before it was accepted.
            }
        }
    }

    private async Task JoinAsync(Socket client)
    {
        var target = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            if (RefuseConnections)
            {
                throw new SocketException((int)SocketError.ConnectionRefused);
            }

            await target.ConnectAsync(Target, _stop.Token).ConfigureAwait(false);
        }
        catch (Exception e) when (e is SocketException or OperationCanceledException)
        {
            // Counted first: who has seen the reset finds it counted.
            ConnectionsRefused.Increment();
            client.LingerState = new LingerOption(true, 0);
            client.Dispose();
            target.Dispose();
            return;
        }

        client.NoDelay = true;
        target.NoDelay = true;
        lock (_lock)
        {
            var connection = new ProxiedConnection(_connections.Count + 1, client, target, _toTarget, _toClient);
            _connections.Add(connection);
            _onAccepted?.Invoke(connection);
            // Listed and counted before its first byte is relayed: who has had an answer through it finds it counted.
            ConnectionsAccepted.Increment();
            _running.Add(Task.Run(connection.RunAsync));
        }
    }
}
