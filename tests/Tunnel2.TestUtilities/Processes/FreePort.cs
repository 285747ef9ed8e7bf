using System.Net;
using System.Net.Sockets;

namespace Tunnel2.TestUtilities;

/// <summary>
/// Finds loopback ports that no process uses. Another process may take one before the test does, so let servers listen on port 0 where they
/// can report their port. Thread-safe; a process never gets the same port twice.
/// </summary>
public static class FreePort
{
    /// <summary>Below those that Linux gives to sockets that ask for none: no program's outgoing connection has one of them.</summary>
    private const int First = 13_000;

    private const int Count = 7_000;

    private static readonly Lock _lock = new();
    private static readonly HashSet<int> _given = [];

    /// <summary>A TCP port on 127.0.0.1 that is free now.</summary>
    public static int Next()
    {
        while (true)
        {
            // Not one after the other: another process looks for ports at the same time.
            var port = First + Random.Shared.Next(Count);
            lock (_lock)
            {
                if (_given.Add(port) && IsFree(port))
                {
                    return port;
                }
            }
        }
    }

    /// <summary>Whether no process listens on a TCP port of 127.0.0.1.</summary>
    public static bool IsFree(int port)
    {
        using var socket = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        try
        {
            socket.Bind(new IPEndPoint(IPAddress.Loopback, port));
            socket.Listen();
            return true;
        }
        catch (SocketException)
        {
            return false;
        }
    }
}
