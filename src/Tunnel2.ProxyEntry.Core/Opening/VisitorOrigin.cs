using System.Buffers;
using System.Net;
using System.Text;
using Tunnel2.Protocol;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.ProxyEntry.Opening;

/// <summary>
/// Finds the address of the visitor of a request: the peer's or, behind trusted proxies, the last one in their <c>X-Forwarded-For</c> that
/// is no trusted proxy. What is before it is the visitor's own word.
/// </summary>
internal static class VisitorOrigin
{
    /// <summary>Enough for the field as proxies write it.</summary>
    private const int UsualLength = 512;

    /// <summary>The address; null: a trusted proxy says something that is no address.</summary>
    public static IPAddress? Find(VisitorExchange exchange, TrustedProxySet trusted)
    {
        Span<byte> usual = stackalloc byte[UsualLength];
        var length = exchange.CopyForwardedFor(usual);
        if (length < UsualLength)
        {
            return length == 0 ? exchange.RemoteAddress : Last(usual[..length], trusted);
        }

        // The end counts, and a visitor can make the field long. It is never longer than a head.
        var whole = ArrayPool<byte>.Shared.Rent(2 * ProtocolLimits.MaxHeaderBlockLength);
        try
        {
            length = exchange.CopyForwardedFor(whole);
            return length < whole.Length ? Last(whole.AsSpan(0, length), trusted) : null;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(whole);
        }
    }

    private static IPAddress? Last(ReadOnlySpan<byte> list, TrustedProxySet trusted)
    {
        IPAddress? address = null;
        while (!list.IsEmpty)
        {
            var comma = list.LastIndexOf((byte)',');
            var element = list[(comma + 1)..].Trim(" \t"u8);
            list = comma < 0 ? default : list[..comma];
            if (element.IsEmpty)
            {
                continue;
            }

            address = Read(element);
            if (address is null || !trusted.Contains(address))
            {
                return address;
            }
        }

        // All are proxies of ours: the first of them asks by itself.
        return address;
    }

    /// <summary>An address, also with a port as some proxies write it.</summary>
    private static IPAddress? Read(ReadOnlySpan<byte> element)
    {
        const int Longest = 64;
        Span<char> text = stackalloc char[Longest];
        return element.Length > Longest ? null : AddressText.ReadForwarded(text[..Encoding.Latin1.GetChars(element, text)]);
    }
}
