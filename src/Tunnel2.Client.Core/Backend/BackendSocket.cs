using System.Net.Sockets;

namespace Tunnel2.Client.Core.Backend;

/// <summary>What the runtime's sockets say of themselves, and how they end; a socket that is gone is neither quiet nor full.</summary>
internal static class BackendSocket
{
    /// <summary>Whether neither bytes nor an end have arrived.</summary>
    public static bool IsQuiet(this Socket socket)
    {
        try
        {
            return !socket.Poll(0, SelectMode.SelectRead);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            return false;
        }
    }

    /// <summary>Whether bytes have arrived that nobody has received.</summary>
    public static bool HasBytes(this Socket socket)
    {
        try
        {
            return socket.Available > 0;
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            return false;
        }
    }

    /// <summary>Makes the close that follows a reset.</summary>
    public static void ResetOnClose(this Socket socket)
    {
        try
        {
            socket.LingerState = new LingerOption(true, 0);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // It is gone already.
        }
    }
}
