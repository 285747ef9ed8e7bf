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
        [KnownField.Te] = "TE",
        [KnownField.Http2Settings] = "HTTP2-Settings",
        [KnownField.Trailer] = "Trailer",
        [KnownField.Forwarded] = "Forwarded",
        [KnownField.XForwardedFor] = "X-Forwarded-For",
        [KnownField.XForwardedHost] = "X-Forwarded-Host",
        [KnownField.XForwardedProto] = "X-Forwarded-Proto",
        [KnownField.XForwardedPort] = "X-Forwarded-Port",
        [KnownField.XRealIp] = "X-Real-IP",
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
        [KnownField.SecWebSocketKey] = "Sec-WebSocket-Key",
        [KnownField.SecWebSocketAccept] = "Sec-WebSocket-Accept",
        [KnownField.SecWebSocketVersion] = "Sec-WebSocket-Version",
        [KnownField.SecWebSocketProtocol] = "Sec-WebSocket-Protocol",
        [KnownField.SecWebSocketExtensions] = "Sec-WebSocket-Extensions",
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
            int significant = known == KnownField.Tunnel2 ? 8 : name.Length;
            for (int i = 0; i < significant; i++)
            {
                for (int b = 0; b < 256; b++)
                {
                    char other = (char)b;
                    bool same = other < 0x80 && char.ToLowerInvariant(other) == char.ToLowerInvariant(name[i]);
                    string changed = string.Concat(name.AsSpan(0, i), other.ToString(), name.AsSpan(i + 1));
                    bool isOtherSpelling = (known, changed.ToLowerInvariant()) is (KnownField.ContentLength, "content_length")
                        or (KnownField.FramingLookalike, "content-length") or (KnownField.TransferEncoding, "transfer_encoding");
                    Assert.True(same == (Classify(changed) == known) || isOtherSpelling, $"{name} with {b:x2} at {i}");
                }
            }
        }
    }

    [Fact]
    public void A_name_that_is_longer_or_shorter_is_another_field()
    {
        foreach ((KnownField known, string name) in _names)
        {
            if (known != KnownField.Tunnel2)
            {
                Assert.NotEqual(known, Classify(name + "x"));
                Assert.NotEqual(known, Classify(name[..^1]));
            }
        }

        Assert.Equal(KnownField.None, Classify(""));
        Assert.Equal(KnownField.None, Classify("Tunnel2-"));
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
                KnownField.ProxyAuthenticate, KnownField.ProxyAuthorization, KnownField.Te, KnownField.Http2Settings,
            ],
            hopByHop);
    }

    private static KnownField Classify(string name) => KnownFields.Classify(Latin1.Bytes(name));
}
