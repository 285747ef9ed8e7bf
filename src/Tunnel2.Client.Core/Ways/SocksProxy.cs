using System.Buffers.Binary;
using System.Net;
using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Multiplexing.Transports;

namespace Tunnel2.Client.Core.Ways;

/// <summary>
/// Asks a SOCKS proxy, version 5, to connect to the server (RFC 1928), with user and password where there are any (RFC 1929). The proxy
/// resolves the server's name.
/// </summary>
internal static class SocksProxy
{
    private const byte Version = 5;
    private const byte NoAuthentication = 0;
    private const byte UserAndPassword = 2;
    private const byte NoMethod = 0xFF;
    private const byte SubnegotiationVersion = 1;
    private const byte Connect = 1;
    private const byte IPv4 = 1;
    private const byte Name = 3;
    private const byte IPv6 = 4;

    /// <summary>Opens the tunnel: the connection leads to the server after it.</summary>
    /// <param name="transport">A connection to the proxy; the caller aborts it when the proxy takes too long.</param>
    /// <param name="proxy">The proxy.</param>
    /// <param name="server">The server.</param>
    /// <param name="way">What that port of the server is for; messages name it.</param>
    /// <returns>Why there is no tunnel; null: there is one.</returns>
    /// <exception cref="IOException">The connection failed or was aborted.</exception>
    public static async Task<ConnectFailure?> OpenAsync(
        IByteTransport transport, ProxyAddress proxy, ServerEndpoint server, UplinkWay way = UplinkWay.Direct)
    {
        try
        {
            return await NegotiateAsync(transport, proxy, server).ConfigureAwait(false) is var (reason, detail)
                ? ConnectFailure.AtProxy(server, way, proxy, reason, detail)
                : null;
        }
        catch (EndOfStreamException)
        {
            return ConnectFailure.AtProxy(
                server, way, proxy, ConnectFailureReason.ProxyFailed, "closed the connection within the SOCKS handshake");
        }
    }

    private static async Task<(ConnectFailureReason Reason, string Detail)?> NegotiateAsync(
        IByteTransport transport, ProxyAddress proxy, ServerEndpoint server)
    {
        // Not offered without a user: a proxy that chooses it would get an empty one.
        await transport.SendAsync(
            proxy.User is null
                ? (byte[])[Version, 1, NoAuthentication]
                : [Version, 2, NoAuthentication, UserAndPassword]).ConfigureAwait(false);
        var choice = await ReadAsync(transport, 2).ConfigureAwait(false);
        if (choice[0] != Version)
        {
            return (
                ConnectFailureReason.ProxyFailed,
                choice[0] == (byte)'H' ? "answers in HTTP, not in SOCKS 5: write it http://" : "does not answer in SOCKS 5");
        }

        switch (choice[1])
        {
            case NoAuthentication:
                break;
            case UserAndPassword when proxy.User is not null:
                await transport.SendAsync(Credentials(proxy)).ConfigureAwait(false);
                if ((await ReadAsync(transport, 2).ConfigureAwait(false))[1] != 0)
                {
                    return (ConnectFailureReason.ProxyAuthentication, "does not accept the user and password");
                }

                break;
            case NoMethod:
                return (
                    ConnectFailureReason.ProxyAuthentication,
                    proxy.User is null
                        ? "wants a user and password: --proxy socks5://user:password@host:port, better in TUNNEL2_PROXY"
                        : "takes neither a user and password nor a caller without");
            default:
                return (ConnectFailureReason.ProxyFailed, "chose a kind of authentication that was not offered");
        }

        await transport.SendAsync(Request(server)).ConfigureAwait(false);
        var answer = await ReadAsync(transport, 4).ConfigureAwait(false);
        if (answer[0] != Version)
        {
            return (ConnectFailureReason.ProxyFailed, "does not answer in SOCKS 5");
        }

        if (answer[1] != 0)
        {
            return (ConnectFailureReason.ProxyRefused, $"does not connect to the server: {WordsFor(answer[1])}");
        }

        // The address that the proxy uses; its length must be known to find its end.
        int? length = answer[3] switch
        {
            IPv4 => 4,
            IPv6 => 16,
            Name => (await ReadAsync(transport, 1).ConfigureAwait(false))[0],
            _ => null,
        };
        if (length is null)
        {
            return (ConnectFailureReason.ProxyFailed, "answers with an address of an unknown kind");
        }

        await ReadAsync(transport, length.Value + sizeof(ushort)).ConfigureAwait(false);
        return null;
    }

    private static byte[] Credentials(ProxyAddress proxy)
    {
        var user = Encoding.UTF8.GetBytes(proxy.User!);
        var password = Encoding.UTF8.GetBytes(proxy.Password ?? "");
        return [SubnegotiationVersion, (byte)user.Length, .. user, (byte)password.Length, .. password];
    }

    private static byte[] Request(ServerEndpoint server)
    {
        Span<byte> port = stackalloc byte[sizeof(ushort)];
        BinaryPrimitives.WriteUInt16BigEndian(port, (ushort)server.Port);
        if (IPAddress.TryParse(server.Host, out var address))
        {
            var bytes = address.GetAddressBytes();
            return [Version, Connect, 0, bytes.Length == 4 ? IPv4 : IPv6, .. bytes, .. port];
        }

        // A host name has at most 253 characters.
        var name = Encoding.ASCII.GetBytes(server.Host);
        return [Version, Connect, 0, Name, (byte)name.Length, .. name, .. port];
    }

    /// <summary>Reads exactly as many bytes: what follows belongs to the server.</summary>
    private static async Task<byte[]> ReadAsync(IByteTransport transport, int length)
    {
        var bytes = new byte[length];
        for (var filled = 0; filled < length;)
        {
            var received = await transport.ReceiveAsync(bytes.AsMemory(filled)).ConfigureAwait(false);
            filled += received > 0 ? received : throw new EndOfStreamException();
        }

        return bytes;
    }

    private static string WordsFor(byte code) => code switch
    {
        1 => "it failed",
        2 => "its rules do not allow it",
        3 => "it cannot reach the network",
        4 => "it cannot reach the host, or does not know its name",
        5 => "the connection was refused",
        6 => "it took too long",
        7 => "it knows no CONNECT",
        8 => "it does not know this kind of address",
        _ => $"code {code}",
    };
}
