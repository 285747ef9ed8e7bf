using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Http1.Tests;

public sealed class KnownFieldsTests
{
    private static readonly Dictionary<KnownField, string> _names = new()
    {
        [KnownField.Host] = "Host",
        [KnownField.ContentLength] = "Content-Length",
        [KnownField.TransferEncoding] = "Transfer-Encoding",
        [KnownField.Connection] = "Connection",
        [KnownField.FramingLookalike] = "Content_Length",
        [KnownField.Expect] = "Expect",
        [KnownField.Upgrade] = "Upgrade",
        [KnownField.KeepAlive] = "Keep-Alive",
        [KnownField.ProxyConnection] = "Proxy-Connection",
        [KnownField.ProxyAuthenticate] = "Proxy-Authenticate",
        [KnownField.ProxyAuthorization] = "Proxy-Authorization",
        [KnownField.ProxyAuthenticationInfo] = "Proxy-Authentication-Info",
        [KnownField.Proxy] = "Proxy",
        [KnownField.HopByHopLookalike] = "Keep_Alive",
        [KnownField.Te] = "TE",
        [KnownField.Http2Settings] = "HTTP2-Settings",
        [KnownField.Trailer] = "Trailer",
        [KnownField.Forwarded] = "Forwarded",
        [KnownField.XForwardedFor] = "X-Forwarded-For",
        [KnownField.XForwardedHost] = "X-Forwarded-Host",
        [KnownField.XForwardedProto] = "X-Forwarded-Proto",
        [KnownField.XForwardedPort] = "X-Forwarded-Port",
        [KnownField.XForwardedOther] = "X-Forwarded-Prefix",
        [KnownField.XRealIp] = "X-Real-IP",
        [KnownField.ForwardingLookalike] = "X_Forwarded_For",
        [KnownField.Via] = "Via",
        [KnownField.Date] = "Date",
        [KnownField.Server] = "Server",
        [KnownField.ProxyStatus] = "Proxy-Status",
        [KnownField.ContentType] = "Content-Type",
        [KnownField.ContentEncoding] = "Content-Encoding",
        [KnownField.Accept] = "Accept",
        [KnownField.Authorization] = "Authorization",
        [KnownField.Cookie] = "Cookie",
        [KnownField.SetCookie] = "Set-Cookie",
        [KnownField.Origin] = "Origin",
        [KnownField.UserAgent] = "User-Agent",
        [KnownField.TraceParent] = "traceparent",
        [KnownField.TraceState] = "tracestate",
        [KnownField.SecWebSocketKey] = "Sec-WebSocket-Key",
        [KnownField.SecWebSocketAccept] = "Sec-WebSocket-Accept",
        [KnownField.SecWebSocketVersion] = "Sec-WebSocket-Version",
        [KnownField.SecWebSocketProtocol] = "Sec-WebSocket-Protocol",
        [KnownField.SecWebSocketExtensions] = "Sec-WebSocket-Extensions",
        [KnownField.XTunnel2] = "X-Tunnel2-User",
        [KnownField.Tunnel2] = "Tunnel2-Error",
    };

    [Fact]
    public void Every_known_field_is_recognised_in_any_case()
    {
        Assert.Equal(Enum.GetValues<KnownField>().Length - 1, _names.Count);
        foreach ((KnownField known, string name) in _names)
        {
            Assert.Equal(known, Classify(name));
            Assert.Equal(known, Classify(name.ToUpperInvariant()));
            Assert.Equal(known, Classify(name.ToLowerInvariant()));
        }
    }

    [Fact]
    public void A_name_that_differs_in_any_one_byte_is_another_field()
    {
        foreach ((KnownField known, string name) in _names)
        {
            int significant = known == KnownField.Tunnel2
                ? 8
                : known == KnownField.XTunnel2
                ? 10
                : known is KnownField.XForwardedOther or KnownField.ForwardingLookalike
                ? 12
                : name.Length;
            for (int i = 0; i < significant; i++)
            {
                for (int b = 0; b < 256; b++)
                {
                    char other = (char)b;
                    string changed = string.Concat(name.AsSpan(0, i), other.ToString(), name.AsSpan(i + 1));
                    bool same = char.ToLowerInvariant(other) == char.ToLowerInvariant(name[i]) && other < 0x80;
                    KnownField found = Classify(changed);
                    Assert.True(
                        same ? found == known : found != known || Plain(changed) == Plain(name), $"{name} with {b:x2} at {i}: {found}");
                }
            }
        }

        // Look-alikes: what is only another spelling of them stays one.
        static string Plain(string text) =>
            string.Concat(text.ToLowerInvariant().Select(static c => char.IsAsciiLetterOrDigit(c) ? c : '-'));
    }

    [Fact]
    public void Every_character_in_place_of_a_hyphen_makes_a_lookalike()
    {
        foreach (char sign in "_.~!#$%&'*+^`|")
        {
            Assert.Equal(KnownField.FramingLookalike, Classify($"Content{sign}Length"));
            Assert.Equal(KnownField.FramingLookalike, Classify($"TRANSFER{sign}encoding"));
            Assert.Equal(KnownField.ForwardingLookalike, Classify($"X{sign}Forwarded-For"));
            Assert.Equal(KnownField.ForwardingLookalike, Classify($"x-forwarded{sign}HOST"));
            Assert.Equal(KnownField.ForwardingLookalike, Classify($"X-Forwarded{sign}Anything"));
            Assert.Equal(KnownField.ForwardingLookalike, Classify($"X{sign}Real-IP"));
            Assert.Equal(KnownField.HopByHopLookalike, Classify($"Keep{sign}Alive"));
            Assert.Equal(KnownField.HopByHopLookalike, Classify($"Proxy{sign}Authorization"));
            Assert.Equal(KnownField.HopByHopLookalike, Classify($"proxy{sign}connection"));
            Assert.Equal(KnownField.HopByHopLookalike, Classify($"proxy-authentication{sign}info"));
            Assert.Equal(KnownField.HopByHopLookalike, Classify($"HTTP2{sign}Settings"));
            Assert.Equal(KnownField.Tunnel2, Classify($"Tunnel2{sign}Timing"));
            Assert.Equal(KnownField.XTunnel2, Classify($"X{sign}Tunnel2{sign}User"));
            Assert.Equal(KnownField.XTunnel2, Classify($"x-tunnel2{sign}USER"));
            Assert.Equal(KnownField.None, Classify($"User{sign}Agent"));
            Assert.Equal(KnownField.None, Classify($"Content{sign}Lengths"));
            Assert.Equal(KnownField.None, Classify($"x{sign}custom"));
        }
    }

    [Fact]
    public void Every_field_that_begins_with_x_forwarded_is_one_about_forwarding()
    {
        foreach (string name in new[]
        {
            "X-Forwarded-Ssl",
            "x-forwarded-prefix",
            "X-FORWARDED-SERVER",
            "X-Forwarded-X",
            "X-Forwarded-Something-Quite-Long-That-Goes-On",
        })
        {
            Assert.Equal(KnownField.XForwardedOther, Classify(name));
        }

        foreach (string name in new[] { "X-Forwarded", "X-Forwarded-", "X-Forwarder-For", "X-Forward-For", "XX-Forwarded-For" })
        {
            Assert.Equal(KnownField.None, Classify(name));
        }
    }

    [Fact]
    public void A_name_that_is_longer_or_shorter_is_another_field()
    {
        foreach ((KnownField known, string name) in _names)
        {
            if (known is not (KnownField.Tunnel2 or KnownField.XTunnel2 or KnownField.XForwardedOther or KnownField.ForwardingLookalike))
            {
                Assert.NotEqual(known, Classify(name + "x"));
                Assert.NotEqual(known, Classify(name[..^1]));
            }
        }

        Assert.Equal(KnownField.None, Classify(""));
        Assert.Equal(KnownField.None, Classify("Tunnel2-"));
        Assert.Equal(KnownField.None, Classify("X-Tunnel2-"));
        Assert.Equal(KnownField.None, Classify("X-Tunnel"));
        Assert.Equal(KnownField.Tunnel2, Classify("tunnel2-a"));
        Assert.Equal(KnownField.FramingLookalike, Classify("Transfer_Encoding"));
    }

    [Fact]
    public void Hop_by_hop_fields_are_those_of_the_specification()
    {
        KnownField[] hopByHop = [.. Enum.GetValues<KnownField>().Where(KnownFields.IsHopByHop)];
        Assert.Equal(
            [
                KnownField.TransferEncoding, KnownField.Connection, KnownField.Upgrade, KnownField.KeepAlive, KnownField.ProxyConnection,
                KnownField.ProxyAuthenticate, KnownField.ProxyAuthorization, KnownField.ProxyAuthenticationInfo, KnownField.Proxy,
                KnownField.HopByHopLookalike, KnownField.Te, KnownField.Http2Settings,
            ],
            hopByHop);
    }

    private static KnownField Classify(string name) => KnownFields.Classify(Latin1.Bytes(name));
}
