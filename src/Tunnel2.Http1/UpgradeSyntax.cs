using Tunnel2.Http1.Syntax;

namespace Tunnel2.Http1;

/// <summary>
/// The value of Upgrade. Protocols that only change how this one connection carries HTTP (<c>h2c</c>, <c>TLS/1.0</c>, <c>HTTP/2.0</c>) are
/// offers to the next server. If they reached the service, they would hide all later bytes from the proxy.
/// </summary>
internal static class UpgradeSyntax
{
    /// <summary>Whether a protocol of the list may be forwarded to the service.</summary>
    public static bool HasForwardable(ReadOnlySpan<byte> value)
    {
        var list = new ListReader(value);
        while (list.TryRead(out ReadOnlySpan<byte> protocol))
        {
            if (IsForwardable(protocol))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>The list without the protocols that must not be forwarded; the value itself if there are none.</summary>
    public static ReadOnlySpan<byte> Forwardable(ReadOnlySpan<byte> value)
    {
        var list = new ListReader(value);
        while (list.TryRead(out ReadOnlySpan<byte> protocol))
        {
            if (!IsForwardable(protocol))
            {
                return Gather(value);
            }
        }

        return value;
    }

    private static ReadOnlySpan<byte> Gather(ReadOnlySpan<byte> value)
    {
        // Rare, and never for a WebSocket, so it may allocate.
        byte[] kept = new byte[value.Length];
        int length = 0;
        var list = new ListReader(value);
        while (list.TryRead(out ReadOnlySpan<byte> protocol))
        {
            if (!IsForwardable(protocol))
            {
                continue;
            }

            if (length > 0)
            {
                kept[length++] = (byte)',';
            }

            protocol.CopyTo(kept.AsSpan(length));
            length += protocol.Length;
        }

        return kept.AsSpan(0, length);
    }

    private static bool IsForwardable(ReadOnlySpan<byte> protocol)
    {
        int slash = protocol.IndexOf((byte)'/');
        ReadOnlySpan<byte> name = slash < 0 ? protocol : protocol[..slash];
        return name.Length switch
        {
            0 => false,
            2 => !AsciiCase.EqualsLower(name, "h2"u8),
            3 => !AsciiCase.EqualsLower(name, "h2c"u8) && !AsciiCase.EqualsLower(name, "tls"u8),
            4 => !AsciiCase.EqualsLower(name, "http"u8),
            _ => true,
        };
    }
}
