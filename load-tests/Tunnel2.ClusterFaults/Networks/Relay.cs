using System.Net;
using System.Net.Sockets;

namespace Tunnel2.ClusterFaults.Networks;

/// <summary>
/// Passes connections on: the balancer in front of the nodes for agents, and the way to the database. A connection that one side ends or
/// resets is ended at the other. Thread-safe.
/// </summary>
internal sealed class Relay : IAsyncDisposable
{
    private static readonly TimeSpan _patience = TimeSpan.FromSeconds(1);

    private readonly TcpListener _listener;
    private readonly Func<IReadOnlyList<IPEndPoint>> _targets;
    private readonly IPAddress? _source;
    private readonly CancellationTokenSource _stop = new();
    private readonly Task _running;
    private long _delay;

    /// <param name="address">Where it listens, at a port that the system chooses.</param>
    /// <param name="targets">Where a new connection may go, in the order in which they are tried.</param>
    /// <param name="source">The address that it connects from; null: any.</param>
    public Relay(IPAddress address, Func<IReadOnlyList<IPEndPoint>> targets, IPAddress? source = null)
    {
        _listener = new TcpListener(address, 0);
        _listener.Start(4096);
        _targets = targets;
        _source = source;
        _running = AcceptAsync();
    }

    /// <summary>Where it listens.</summary>
    public IPEndPoint EndPoint => (IPEndPoint)_listener.LocalEndpoint;

    /// <summary>How long each piece of the answers is held back.</summary>
    public TimeSpan Delay
    {
        get => TimeSpan.FromTicks(Interlocked.Read(ref _delay));
        set => Interlocked.Exchange(ref _delay, value.Ticks);
    }

    /// <inheritdoc/>
    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        _listener.Stop();
        await _running;
        _listener.Dispose();
    }

    private async Task AcceptAsync()
    {
        while (!_stop.IsCancellationRequested)
        {
            try
            {
                var socket = await _listener.AcceptSocketAsync(_stop.Token);
                _ = ServeAsync(socket);
            }
            catch (Exception exception) when (exception is SocketException or OperationCanceledException or ObjectDisposedException)
            {
                // Stopped, or the peer has left the queue.
            }
        }
    }

    private async Task ServeAsync(Socket near)
    {
        using (near)
        {
            if (await ConnectAsync() is not { } far)
            {
                near.Close(0);
                return;
            }

            using (far)
            {
                near.NoDelay = true;
                await Task.WhenAny(PumpAsync(near, far, static () => TimeSpan.Zero), PumpAsync(far, near, () => Delay));
                near.Close(0);
                far.Close(0);
            }
        }
    }

    private async Task<Socket?> ConnectAsync()
    {
        foreach (var target in _targets())
        {
            var socket = new Socket(target.AddressFamily, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
            try
            {
                if (_source is not null)
                {
                    socket.Bind(new IPEndPoint(_source, 0));
                }

                using var limit = CancellationTokenSource.CreateLinkedTokenSource(_stop.Token);
                limit.CancelAfter(_patience);
                await socket.ConnectAsync(target, limit.Token);
                return socket;
            }
            catch (Exception exception) when (exception is SocketException or OperationCanceledException)
            {
                socket.Dispose();
            }
        }

        return null;
    }

    private async Task PumpAsync(Socket from, Socket to, Func<TimeSpan> delay)
    {
        var buffer = new byte[16 * 1024];
        try
        {
            while (await from.ReceiveAsync(buffer, _stop.Token) is > 0 and var count)
            {
                if (delay() is { Ticks: > 0 } time)
                {
                    await Task.Delay(time, _stop.Token);
                }

                for (var sent = 0; sent < count;)
                {
                    sent += await to.SendAsync(buffer.AsMemory(sent, count - sent), _stop.Token);
                }
            }
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException or ObjectDisposedException)
        {
            // After an end of either side, both are closed.
        }
    }
}
