using System.Buffers;
using System.Runtime.CompilerServices;
using Tunnel2.Http1.Syntax;

namespace Tunnel2.Http1;

/// <summary>Recognises field names and knows how a proxy must treat them.</summary>
internal static class KnownFields
{
    private const int Slots = 128;
    private const int LongestLookalike = 25; // Proxy-Authentication-Info

    private static readonly SearchValues<byte> _plainName = SearchValues.Create("-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"u8);

    // A perfect hash: no two names fall into one slot, which the type initializer makes sure of. So any name, known or not, costs one
    // look-up and at most one comparison.
    private static readonly Entry[] _slots = Fill(
        (KnownField.Host, "host"),
        (KnownField.ContentLength, "content-length"),
        (KnownField.TransferEncoding, "transfer-encoding"),
        (KnownField.Connection, "connection"),
        (KnownField.Expect, "expect"),
        (KnownField.Upgrade, "upgrade"),
        (KnownField.KeepAlive, "keep-alive"),
        (KnownField.ProxyConnection, "proxy-connection"),
        (KnownField.ProxyAuthenticate, "proxy-authenticate"),
        (KnownField.ProxyAuthorization, "proxy-authorization"),
        (KnownField.ProxyAuthenticationInfo, "proxy-authentication-info"),
        (KnownField.Proxy, "proxy"),
        (KnownField.Te, "te"),
        (KnownField.Http2Settings, "http2-settings"),
        (KnownField.Trailer, "trailer"),
        (KnownField.Forwarded, "forwarded"),
        (KnownField.XForwardedFor, "x-forwarded-for"),
        (KnownField.XForwardedHost, "x-forwarded-host"),
        (KnownField.XForwardedProto, "x-forwarded-proto"),
        (KnownField.XForwardedPort, "x-forwarded-port"),
        (KnownField.XRealIp, "x-real-ip"),
        (KnownField.Via, "via"),
        (KnownField.Date, "date"),
        (KnownField.Server, "server"),
        (KnownField.ProxyStatus, "proxy-status"),
        (KnownField.ContentType, "content-type"),
        (KnownField.ContentEncoding, "content-encoding"),
        (KnownField.Accept, "accept"),
        (KnownField.Authorization, "authorization"),
        (KnownField.Cookie, "cookie"),
        (KnownField.SetCookie, "set-cookie"),
        (KnownField.Origin, "origin"),
        (KnownField.UserAgent, "user-agent"),
        (KnownField.TraceParent, "traceparent"),
        (KnownField.SecWebSocketKey, "sec-websocket-key"),
        (KnownField.SecWebSocketAccept, "sec-websocket-accept"),
        (KnownField.SecWebSocketVersion, "sec-websocket-version"),
        (KnownField.SecWebSocketProtocol, "sec-websocket-protocol"),
        (KnownField.SecWebSocketExtensions, "sec-websocket-extensions"));

    private static ReadOnlySpan<byte> Tunnel2Prefix => "tunnel2-"u8;

    private static ReadOnlySpan<byte> XForwardedPrefix => "x-forwarded-"u8;

    /// <summary>Which known field <paramref name="name"/> is, case-insensitively. Exact for any bytes, valid field name or not.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static KnownField Classify(ReadOnlySpan<byte> name)
    {
        if (name.Length < 2)
        {
            return KnownField.None;
        }

        ref readonly Entry entry = ref _slots[SlotOf(name)];
        return entry.Lower.Length == name.Length && AsciiCase.EqualsLower(name, entry.Lower) ? entry.Known : ClassifyRare(name);
    }

    /// <summary>
    /// Whether the field belongs to one connection and must never be forwarded (RFC 9110 section 7.6.1, and the Proxy-Auth fields, which are
    /// meant for whoever is asked), or could be taken for one that does. Trailer is not among them: trailers are forwarded, and so is their
    /// announcement.
    /// </summary>
    public static bool IsHopByHop(KnownField known) => known is KnownField.Connection or KnownField.TransferEncoding or KnownField.Upgrade
        or (>= KnownField.KeepAlive and <= KnownField.Http2Settings);

    /// <summary>Whether the field says who forwarded what, as far as ProxyEntry promises to overwrite it.</summary>
    public static bool IsForwarding(KnownField known) => known is >= KnownField.Forwarded and <= KnownField.XRealIp;

    /// <summary>Whether the field's value is evaluated while a head is parsed.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool IsEvaluated(KnownField known) => (uint)(known - 1) < (uint)KnownField.Upgrade;

    // The two factors were found by trying; a name that collides is found out when the first test runs.
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int SlotOf(ReadOnlySpan<byte> name) => ((name.Length * 12) + (name[0] | 0x20) + ((name[^2] | 0x20) * 49)) & (Slots - 1);

    private static KnownField ClassifyRare(ReadOnlySpan<byte> name) => (name[0] | 0x20) switch
    {
        't' when name.Length > Tunnel2Prefix.Length && IsPrefix(name, Tunnel2Prefix, out _) => KnownField.Tunnel2,
        't' when name.Length == 17 => ClassifyLookalike(name),
        'c' when name.Length == 14 => ClassifyLookalike(name),
        'k' when name.Length == 10 => ClassifyLookalike(name),
        'h' when name.Length == 14 => ClassifyLookalike(name),
        'p' when name.Length is 16 or 18 or 19 or 25 => ClassifyLookalike(name),
        'x' when name.Length == 9 => ClassifyLookalike(name),
        'x' when name.Length > XForwardedPrefix.Length && IsPrefix(name, XForwardedPrefix, out bool isExact) =>
            isExact && ClassifyLookalike(name) == KnownField.None ? KnownField.XForwardedOther : KnownField.ForwardingLookalike,
        _ => KnownField.None,
    };

    /// <summary>What <paramref name="name"/> would be if each sign in it that is no letter and no digit were a hyphen.</summary>
    private static KnownField ClassifyLookalike(ReadOnlySpan<byte> name)
    {
        if (name.Length > LongestLookalike || !name.ContainsAnyExcept(_plainName))
        {
            return KnownField.None;
        }

        Span<byte> plain = stackalloc byte[LongestLookalike];
        plain = plain[..name.Length];
        for (int i = 0; i < name.Length; i++)
        {
            plain[i] = char.IsAsciiLetterOrDigit((char)name[i]) ? name[i] : (byte)'-';
        }

        ref readonly Entry entry = ref _slots[SlotOf(plain)];
        return !AsciiCase.EqualsLower(plain, entry.Lower) ? KnownField.None
            : entry.Known is KnownField.ContentLength or KnownField.TransferEncoding ? KnownField.FramingLookalike
            : IsForwarding(entry.Known) ? KnownField.ForwardingLookalike
            : IsHopByHop(entry.Known) ? KnownField.HopByHopLookalike
            : KnownField.None;
    }

    /// <summary>Whether <paramref name="name"/> begins with <paramref name="prefix"/>, any sign standing for its hyphens.</summary>
    private static bool IsPrefix(ReadOnlySpan<byte> name, ReadOnlySpan<byte> prefix, out bool isExact)
    {
        isExact = true;
        for (int i = 0; i < prefix.Length; i++)
        {
            if (prefix[i] == (byte)'-' ? char.IsAsciiLetterOrDigit((char)name[i]) : char.ToLowerInvariant((char)name[i]) != prefix[i])
            {
                return false;
            }

            isExact &= prefix[i] != (byte)'-' || name[i] == (byte)'-';
        }

        return true;
    }

    // An array and not a span: for that the compiler makes a struct of 39 elements, which takes the JIT longer than all of the filling.
    private static Entry[] Fill(params (KnownField Known, string Lower)[] fields)
    {
        var slots = new Entry[Slots];
        for (int i = 0; i < slots.Length; i++)
        {
            slots[i] = new Entry(KnownField.None, []);
        }

        foreach ((KnownField known, string lower) in fields)
        {
            byte[] name = System.Text.Encoding.ASCII.GetBytes(lower);
            ref Entry slot = ref slots[SlotOf(name)];
            slot = slot.Known == KnownField.None
                ? new Entry(known, name)
                : throw new InvalidOperationException($"{known} and {slot.Known} have the same slot: other factors are needed.");
        }

        return slots;
    }

    private readonly record struct Entry(KnownField Known, byte[] Lower);
}
