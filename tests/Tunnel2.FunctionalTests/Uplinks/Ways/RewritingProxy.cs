using System.Net;
using System.Net.Sockets;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks.Ways;

/// <summary>
/// A middlebox before a public port. What it relays it cuts into pieces of random lengths, and when the test says so it adds bytes of its
/// own to what one of the two sends.
/// </summary>
internal sealed class RewritingProxy : IAsyncDisposable
{
    private readonly RawTcpServer _server;
    private readonly IPEndPoint _target;
    private NetworkStream? _toAgent;
    private NetworkStream? _toServer;

    private RewritingProxy(IPEndPoint target)
    {
        _target = target;
        _server = RawTcpServer.Start(RelayAsync);
    }

    public int Port => _server.Port;

    public static RewritingProxy Start(IPEndPoint target) => new(target);

    /// <summary>Adds bytes to what the server, or the agent, sends on the last connection: no frame begins with them.</summary>
    public void RewritesNext(bool isOfServer) => Volatile.Read(ref isOfServer ? ref _toAgent : ref _toServer)!.Write([0xFF, 0xFF]);

    public ValueTask DisposeAsync() => _server.DisposeAsync();

    private async Task RelayAsync(RawConnection connection)
    {
        using var target = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await target.ConnectAsync(_target);
        using var there = new NetworkStream(target);
        using var here = new NetworkStream(connection.Socket);
        Volatile.Write(ref _toAgent, here);
        Volatile.Write(ref _toServer, there);
        await Task.WhenAny(CopyAsync(here, there), CopyAsync(there, here));
    }

    private static async Task CopyAsync(NetworkStream from, NetworkStream to)
    {
        var buffer = new byte[20_000];
        try
        {
            while (await from.ReadAsync(buffer.AsMemory(0, Random.Shared.Next(1, buffer.Length))) is > 0 and var count)
            {
                await to.WriteAsync(buffer.AsMemory(0, count));
            }
        }
        catch (Exception exception) when (exception is IOException or ObjectDisposedException)
        {
            // One of the two has left.
        }
    }
}
