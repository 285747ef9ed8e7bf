using System.Net;
using System.Text;
using Tunnel2.Http1;
using Tunnel2.Http1.Syntax;
using Tunnel2.Protocol;
using Tunnel2.Transport.Sockets;
using Tunnel2.Transport.WebSockets;

namespace Tunnel2.ProxyEntry.Fronts.Http1;

/// <summary>
/// An agent's request to open an uplink over WebSocket. Path, upgrade and subprotocol together make one, with any Host: so no name that an
/// agent registers can take the path away, and a service may have a page of its own at this path.
/// </summary>
/// <param name="Key">The key of the handshake; null when the handshake is not complete.</param>
/// <param name="Host">The request's Host.</param>
/// <param name="HasOrigin">Whether a browser sent it.</param>
/// <param name="WasForwarded">Whether a field says that a proxy has passed it on.</param>
/// <param name="ForwardedProto">The scheme that the last proxy names; null: none.</param>
/// <param name="ForwardedFor">The address that the last proxy names; null: none.</param>
internal sealed record UplinkRequest(
    string? Key, string Host, bool HasOrigin, bool WasForwarded, string? ForwardedProto, IPAddress? ForwardedFor)
{
    private const int Version = 13;

    /// <summary>Whether a request to switch protocols asks for an uplink.</summary>
    /// <param name="parser">The request.</param>
    /// <param name="head">Its head.</param>
    public static bool IsMeant(RequestHeadParser parser, ReadOnlySpan<byte> head)
    {
        if (!parser.PathAndQuery.Of(head).SequenceEqual(WebSocketBinding.Path) || parser.KnownMethod != KnownMethod.Get)
        {
            return false;
        }

        var (isWebSocket, isOurs) = (false, false);
        foreach (ref readonly var field in parser.Fields)
        {
            isWebSocket |= field.Known == KnownField.Upgrade && Lists(field.Value(head), "websocket"u8);
            isOurs |= Is(field.Name(head), "Sec-WebSocket-Protocol"u8) && Lists(field.Value(head), WebSocketBinding.Subprotocol);
        }

        return isWebSocket && isOurs;
    }

    /// <summary>Reads the rest of what the request says.</summary>
    /// <param name="parser">The request.</param>
    /// <param name="head">Its head.</param>
    public static UplinkRequest Read(RequestHeadParser parser, ReadOnlySpan<byte> head)
    {
        string? key = null;
        var (keys, version, hasOrigin, wasForwarded) = (0, 0, false, false);
        string? proto = null;
        string? forwardedFor = null;
        foreach (ref readonly var field in parser.Fields)
        {
            var value = field.Value(head);
            wasForwarded |= field.Known == KnownField.Via || FieldRules.OfRequest(field.Known) == FieldRule.Forwarding;
            switch (field.Known)
            {
                case KnownField.Origin:
                    hasOrigin = true;
                    break;
                case KnownField.XForwardedProto:
                    proto = LastOf(value);
                    break;
                case KnownField.XForwardedFor:
                    forwardedFor = LastOf(value);
                    break;
                default:
                    if (Is(field.Name(head), "Sec-WebSocket-Key"u8))
                    {
                        keys++;
                        key = Encoding.Latin1.GetString(value);
                    }
                    else if (Is(field.Name(head), "Sec-WebSocket-Version"u8))
                    {
                        version = version == 0 && value.SequenceEqual("13"u8) ? Version : -1;
                    }

                    break;
            }
        }

        var isComplete = keys == 1 && version == Version && WebSocketKey.IsValid(key!) && parser.HostCount == 1
            && parser.Version == Http1Version.Http11;
        var address = AddressText.ReadForwarded(forwardedFor);
        var host = parser.HostCount == 1 ? Encoding.Latin1.GetString(parser.Host.Of(head)) : "";
        return new UplinkRequest(isComplete ? key : null, host, hasOrigin, wasForwarded, proto, address);
    }

    /// <summary>Whether the Host is a name or an address of this machine, as an agent beside the server writes it.</summary>
    public bool NamesThisMachine()
    {
        var host = Host.AsSpan();
        if (host.StartsWith('['))
        {
            var end = host.IndexOf(']');
            host = end < 0 ? default : host[1..end];
        }
        else if (host.LastIndexOf(':') is >= 0 and var colon)
        {
            host = host[..colon];
        }

        return host.Equals("localhost", StringComparison.OrdinalIgnoreCase)
            || host.EndsWith(".localhost", StringComparison.OrdinalIgnoreCase)
            || (IPAddress.TryParse(host, out var address) && IPAddress.IsLoopback(address));
    }

    private static bool Is(ReadOnlySpan<byte> name, ReadOnlySpan<byte> other) => Ascii.EqualsIgnoreCase(name, other);

    private static bool Lists(ReadOnlySpan<byte> value, ReadOnlySpan<byte> word)
    {
        var list = new ListReader(value);
        while (list.TryRead(out var element))
        {
            if (Ascii.EqualsIgnoreCase(element, word))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>The element that the nearest proxy has added.</summary>
    private static string LastOf(ReadOnlySpan<byte> value) =>
        Encoding.Latin1.GetString(value[(value.LastIndexOf((byte)',') + 1)..]).Trim();
}
