using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Http1.Tests;

public sealed class FieldRulesTests
{
    [Theory]
    [InlineData("Accept", FieldRule.Pass, FieldRule.Pass, FieldRule.Pass)]
    [InlineData("X-Anything", FieldRule.Pass, FieldRule.Pass, FieldRule.Pass)]
    [InlineData("Host", FieldRule.Keep, FieldRule.Pass, FieldRule.Refuse)]
    [InlineData("Content-Length", FieldRule.Keep, FieldRule.Length, FieldRule.Refuse)]
    [InlineData("Content_Length", FieldRule.Refuse, FieldRule.Drop, FieldRule.Refuse)]
    [InlineData("transfer.encoding", FieldRule.Refuse, FieldRule.Drop, FieldRule.Refuse)]
    [InlineData("Transfer-Encoding", FieldRule.Drop, FieldRule.Drop, FieldRule.Refuse)]
    [InlineData("Connection", FieldRule.Drop, FieldRule.Drop, FieldRule.Drop)]
    [InlineData("Proxy", FieldRule.Drop, FieldRule.Drop, FieldRule.Drop)]
    [InlineData("Proxy_Authorization", FieldRule.Drop, FieldRule.Drop, FieldRule.Drop)]
    [InlineData("Tunnel2-Timing", FieldRule.Drop, FieldRule.Drop, FieldRule.Drop)]
    [InlineData("X-Tunnel2-User", FieldRule.Identity, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("x_tunnel2_user", FieldRule.Identity, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("X_Forwarded_For", FieldRule.Drop, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("X-Forwarded-For", FieldRule.Forwarding, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("X-Real-IP", FieldRule.TrustedForwarding, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("X-Forwarded-Prefix", FieldRule.TrustedForwarding, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("TE", FieldRule.Trailers, FieldRule.Drop, FieldRule.Drop)]
    [InlineData("Upgrade", FieldRule.Protocols, FieldRule.Protocols, FieldRule.Drop)]
    [InlineData("Expect", FieldRule.Keep, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("traceparent", FieldRule.Trace, FieldRule.Pass, FieldRule.Pass)]
    [InlineData("TraceState", FieldRule.Trace, FieldRule.Pass, FieldRule.Pass)]
    [InlineData("set_cookie", FieldRule.Pass, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("Authorization", FieldRule.Credentials, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("Set-Cookie", FieldRule.Pass, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("CACHE-CONTROL", FieldRule.Pass, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("cache_control", FieldRule.Pass, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("If-Unmodified-Since", FieldRule.Pass, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("Content-Type", FieldRule.Pass, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("Content-Digest", FieldRule.Pass, FieldRule.Pass, FieldRule.Pass)]
    [InlineData("Proxy-Status", FieldRule.Pass, FieldRule.Pass, FieldRule.Pass)]
    [InlineData("Trailer", FieldRule.Pass, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("a", FieldRule.Pass, FieldRule.Pass, FieldRule.Pass)]
    internal void A_field_has_one_rule_per_place(string name, FieldRule request, FieldRule response, FieldRule trailer)
    {
        byte[] bytes = Latin1.Bytes(name);
        KnownField known = KnownFields.Classify(bytes);
        Assert.Equal(
            (request, response, trailer), (FieldRules.OfRequest(known), FieldRules.OfResponse(known), FieldRules.OfTrailer(known, bytes)));
    }

    [Theory]
    [InlineData("Connection", true)]
    [InlineData("keep-alive", true)]
    [InlineData("Proxy-Connection", true)]
    [InlineData("Transfer-Encoding", true)]
    [InlineData("Upgrade", true)]
    [InlineData("TE", false)]
    [InlineData("HTTP2-Settings", false)]
    [InlineData("X-Anything", false)]
    internal void Http2_has_no_field_of_a_connection(string name, bool isRefused)
    {
        byte[] bytes = Latin1.Bytes(name);
        KnownField known = KnownFields.Classify(bytes);
        Assert.Equal(isRefused ? FieldRule.Refuse : FieldRules.OfRequest(known), FieldRules.OfHttp2Request(known));
        Assert.Equal(isRefused ? FieldRule.Refuse : FieldRules.OfTrailer(known, bytes), FieldRules.OfHttp2Trailer(known, bytes));
    }

    [Theory]
    [InlineData(KnownField.None, 200, false, true)]
    [InlineData(KnownField.Connection, 200, true, false)]
    [InlineData(KnownField.ContentLength, 200, false, true)]
    [InlineData(KnownField.ContentLength, 304, false, true)]
    [InlineData(KnownField.ContentLength, 204, false, false)]
    [InlineData(KnownField.ContentLength, 103, false, false)]
    [InlineData(KnownField.Upgrade, 101, true, true)]
    [InlineData(KnownField.Upgrade, 200, false, false)]
    [InlineData(KnownField.Upgrade, 426, false, true)]
    internal void A_length_and_an_upgrade_pass_with_some_responses(KnownField known, int status, bool switches, bool passes) =>
        Assert.Equal(passes, FieldRules.PassesInResponse(known, status, switches));

    [Theory]
    [InlineData("ETag", "x", true)]
    [InlineData("ETag", "", true)]
    [InlineData("Set-Cookie", "x", false)]
    [InlineData("X Y", "x", false)]
    [InlineData("ETag", "a\nb", false)]
    public void A_trailer_of_a_response_passes_when_it_is_one(string name, string value, bool passes) =>
        Assert.Equal(passes, FieldRules.PassesInTrailers(Latin1.Bytes(name), Latin1.Bytes(value)));

    [Fact]
    public void What_is_hop_by_hop_never_just_passes()
    {
        foreach (KnownField known in Enum.GetValues<KnownField>().Where(KnownFields.IsHopByHop))
        {
            Assert.True(FieldRules.OfRequest(known) is FieldRule.Drop or FieldRule.Trailers or FieldRule.Protocols, $"{known}");
            Assert.True(FieldRules.OfResponse(known) is FieldRule.Drop or FieldRule.Protocols, $"{known}");
            Assert.True(FieldRules.OfTrailer(known, default) is FieldRule.Drop or FieldRule.Refuse, $"{known}");
        }
    }

    [Theory]
    [InlineData("trailers", true)]
    [InlineData("gzip;q=0.5 ,\tTrailers", true)]
    [InlineData("trailers;q=1", false)]
    [InlineData("gzip", false)]
    [InlineData("", false)]
    public void Te_names_trailers(string value, bool wants) => Assert.Equal(wants, TeSyntax.WantsTrailers(Latin1.Bytes(value)));

    [Theory]
    [InlineData("websocket", "websocket")]
    [InlineData("foo, bar/2", "foo, bar/2")]
    [InlineData("  foo ,bar", "  foo ,bar")]
    [InlineData("h2c", "")]
    [InlineData("H2C", "")]
    [InlineData("h2", "")]
    [InlineData("TLS/1.0", "")]
    [InlineData("tls/1.3, HTTP/2.0, http", "")]
    [InlineData("h2c, websocket", "websocket")]
    [InlineData("websocket,h2c", "websocket")]
    [InlineData("a, h2c, b", "a,b")]
    [InlineData("h2cx, xtls", "h2cx, xtls")]
    [InlineData("", "")]
    [InlineData(" , ,", "")]
    public void Of_an_upgrade_what_only_changes_how_http_is_carried_ends_here(string value, string kept)
    {
        byte[] bytes = Latin1.Bytes(value);
        Assert.Equal(kept, System.Text.Encoding.Latin1.GetString(UpgradeSyntax.Forwardable(bytes)));
        Assert.Equal(kept.Length > 0, UpgradeSyntax.HasForwardable(bytes));
    }
}
