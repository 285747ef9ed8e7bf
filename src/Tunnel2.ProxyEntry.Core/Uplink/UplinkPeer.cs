using System.Net;
using System.Net.Sockets;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>What is known about a peer before its first frame. Immutable.</summary>
/// <param name="Address">Its address; null when there is none, as in a test.</param>
/// <param name="Certificate">The certificate it showed, or null.</param>
/// <param name="Connected">
/// When it connected, a timestamp of the time provider; the limit of the handshake counts from here. Null: from now.
/// </param>
/// <param name="Handshake">Its place among the handshakes, or null.</param>
/// <param name="NeedsToken">Whether it may not do without a token, also where agents at the uplink's own port may.</param>
internal readonly record struct UplinkPeer(
    IPAddress? Address, AgentCertificate? Certificate = null, long? Connected = null, HandshakeQueue.PendingHandshake? Handshake = null,
    bool NeedsToken = false)
{
    /// <summary>The peer of a socket that was just accepted.</summary>
    public static UplinkPeer Of(Socket socket, long connected)
    {
        try
        {
            return new UplinkPeer((socket.RemoteEndPoint as IPEndPoint)?.Address, null, connected);
        }
        catch (Exception exception) when (exception is SocketException or ObjectDisposedException)
        {
            // It has already left.
            return new UplinkPeer(null, null, connected);
        }
    }
}
