using System.Runtime.CompilerServices;
using Tunnel2.Http1.Syntax;

namespace Tunnel2.Http1;

/// <summary>Recognises field names and knows how a proxy must treat them.</summary>
internal static class KnownFields
{
    /// <summary>
    /// Which known field <paramref name="name"/> is, case-insensitively. Exact for any bytes, valid field name or not.
    /// The length picks the candidates, so that an unknown name usually costs one jump.
    /// </summary>
    public static KnownField Classify(ReadOnlySpan<byte> name)
    {
        KnownField known = name.Length switch
        {
            2 => Is(name, "te"u8) ? KnownField.Te : KnownField.None,
            3 => Is(name, "via"u8) ? KnownField.Via : KnownField.None,
            4 => Is(name, "host"u8) ? KnownField.Host : Is(name, "date"u8) ? KnownField.Date : KnownField.None,
            6 => OfSix(name),
            7 => Is(name, "upgrade"u8) ? KnownField.Upgrade : Is(name, "trailer"u8) ? KnownField.Trailer : KnownField.None,
            9 => Is(name, "forwarded"u8) ? KnownField.Forwarded : Is(name, "x-real-ip"u8) ? KnownField.XRealIp : KnownField.None,
            10 => OfTen(name),
            11 => Is(name, "traceparent"u8) ? KnownField.TraceParent : KnownField.None,
            12 => Is(name, "content-type"u8) ? KnownField.ContentType : Is(name, "proxy-status"u8) ? KnownField.ProxyStatus : KnownField.None,
            13 => Is(name, "authorization"u8) ? KnownField.Authorization : KnownField.None,
            14 => Is(name, "content-length"u8) ? KnownField.ContentLength
                : Is(name, "http2-settings"u8) ? KnownField.Http2Settings
                : IsWithUnderscore(name, 7, "content"u8, "length"u8) ? KnownField.FramingLookalike : KnownField.None,
            15 => Is(name, "x-forwarded-for"u8) ? KnownField.XForwardedFor : KnownField.None,
            16 => OfSixteen(name),
            17 => OfSeventeen(name),
            18 => Is(name, "proxy-authenticate"u8) ? KnownField.ProxyAuthenticate : KnownField.None,
            19 => Is(name, "proxy-authorization"u8) ? KnownField.ProxyAuthorization : KnownField.None,
            20 => Is(name, "sec-websocket-accept"u8) ? KnownField.SecWebSocketAccept : KnownField.None,
            21 => Is(name, "sec-websocket-version"u8) ? KnownField.SecWebSocketVersion : KnownField.None,
            22 => Is(name, "sec-websocket-protocol"u8) ? KnownField.SecWebSocketProtocol : KnownField.None,
            24 => Is(name, "sec-websocket-extensions"u8) ? KnownField.SecWebSocketExtensions : KnownField.None,
            _ => KnownField.None,
        };

        return known == KnownField.None && name.Length > 8 && Is(name[..8], "tunnel2-"u8) ? KnownField.Tunnel2 : known;
    }

    /// <summary>
    /// Whether the field belongs to one connection and must never be forwarded (RFC 9110 section 7.6.1, and the two Proxy-Auth fields,
    /// which are meant for whoever is asked). Trailer is not among them: trailers are forwarded, and so is their announcement.
    /// </summary>
    public static bool IsHopByHop(KnownField known) => known is KnownField.Connection or KnownField.TransferEncoding or KnownField.Upgrade
        or (>= KnownField.KeepAlive and <= KnownField.Http2Settings);

    /// <summary>Whether the field's value is evaluated while a head is parsed.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal static bool IsEvaluated(KnownField known) => (uint)(known - 1) < (uint)KnownField.Upgrade;

    private static KnownField OfSix(ReadOnlySpan<byte> name) => (name[0] | 0x20) switch
    {
        'a' when Is(name, "accept"u8) => KnownField.Accept,
        'c' when Is(name, "cookie"u8) => KnownField.Cookie,
        'e' when Is(name, "expect"u8) => KnownField.Expect,
        'o' when Is(name, "origin"u8) => KnownField.Origin,
        's' when Is(name, "server"u8) => KnownField.Server,
        _ => KnownField.None,
    };

    private static KnownField OfTen(ReadOnlySpan<byte> name) => (name[0] | 0x20) switch
    {
        'c' when Is(name, "connection"u8) => KnownField.Connection,
        'k' when Is(name, "keep-alive"u8) => KnownField.KeepAlive,
        's' when Is(name, "set-cookie"u8) => KnownField.SetCookie,
        'u' when Is(name, "user-agent"u8) => KnownField.UserAgent,
        _ => KnownField.None,
    };

    private static KnownField OfSixteen(ReadOnlySpan<byte> name) => (name[0] | 0x20) switch
    {
        'c' when Is(name, "content-encoding"u8) => KnownField.ContentEncoding,
        'p' when Is(name, "proxy-connection"u8) => KnownField.ProxyConnection,
        'x' when Is(name, "x-forwarded-host"u8) => KnownField.XForwardedHost,
        'x' when Is(name, "x-forwarded-port"u8) => KnownField.XForwardedPort,
        _ => KnownField.None,
    };

    private static KnownField OfSeventeen(ReadOnlySpan<byte> name) => (name[0] | 0x20) switch
    {
        's' when Is(name, "sec-websocket-key"u8) => KnownField.SecWebSocketKey,
        't' when Is(name, "transfer-encoding"u8) => KnownField.TransferEncoding,
        't' when IsWithUnderscore(name, 8, "transfer"u8, "encoding"u8) => KnownField.FramingLookalike,
        'x' when Is(name, "x-forwarded-proto"u8) => KnownField.XForwardedProto,
        _ => KnownField.None,
    };

    private static bool IsWithUnderscore(ReadOnlySpan<byte> name, int index, ReadOnlySpan<byte> before, ReadOnlySpan<byte> after) =>
        name[index] == (byte)'_' && Is(name[..index], before) && Is(name[(index + 1)..], after);

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool Is(ReadOnlySpan<byte> name, ReadOnlySpan<byte> lower) => AsciiCase.EqualsLower(name, lower);
}
