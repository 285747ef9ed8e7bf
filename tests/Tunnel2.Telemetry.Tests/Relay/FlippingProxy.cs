using System.Net;
using System.Net.Sockets;

namespace Tunnel2.Telemetry.Tests.Relay;

/// <summary>Passes bytes on both ways and, on its first connection only, flips a bit of one byte towards the client.</summary>
internal sealed class FlippingProxy : IDisposable
{
    private readonly Socket _listener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
    private readonly int _target;
    private readonly int _flipAt;
    private int _connections;

    internal FlippingProxy(int target, int flipAt)
    {
        _target = target;
        _flipAt = flipAt;
        _listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        _listener.Listen();
        EndPoint = (IPEndPoint)_listener.LocalEndPoint!;
        _ = AcceptAsync();
    }

    internal IPEndPoint EndPoint { get; }

    public void Dispose() => _listener.Dispose();

    private async Task AcceptAsync()
    {
        try
        {
            while (true)
            {
                Socket client = await _listener.AcceptAsync();
                var server = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
                await server.ConnectAsync(IPAddress.Loopback, _target);
                _ = PumpAsync(client, server, -1);
                _ = PumpAsync(server, client, Interlocked.Increment(ref _connections) == 1 ? _flipAt : -1);
            }
        }
        catch (SocketException)
        {
            // The listener was closed.
        }
        catch (ObjectDisposedException)
        {
            // The same.
        }
    }

    private static async Task PumpAsync(Socket from, Socket to, long flipAt)
    {
        byte[] buffer = new byte[4096];
        try
        {
            long total = 0;
            int read;
            while ((read = await from.ReceiveAsync(buffer)) > 0)
            {
                if (flipAt >= total && flipAt < total + read)
                {
                    buffer[flipAt - total] ^= 0x20;
                }

                total += read;
                await to.SendAsync(buffer.AsMemory(0, read));
            }
        }
        catch (SocketException)
        {
            // One side is gone; so is the other.
        }
        catch (ObjectDisposedException)
        {
            // The same.
        }

        from.Dispose();
        to.Dispose();
    }
}
