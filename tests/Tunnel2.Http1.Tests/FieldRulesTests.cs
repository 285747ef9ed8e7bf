using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Http1.Tests;

public sealed class FieldRulesTests
{
    [Theory]
    [InlineData("Accept", FieldRule.Pass, FieldRule.Pass, FieldRule.Pass)]
    [InlineData("X-Anything", FieldRule.Pass, FieldRule.Pass, FieldRule.Pass)]
    [InlineData("Host", FieldRule.Pass, FieldRule.Pass, FieldRule.Refuse)]
    [InlineData("Content-Length", FieldRule.Pass, FieldRule.Pass, FieldRule.Refuse)]
    [InlineData("Content_Length", FieldRule.Refuse, FieldRule.Drop, FieldRule.Refuse)]
    [InlineData("transfer.encoding", FieldRule.Refuse, FieldRule.Drop, FieldRule.Refuse)]
    [InlineData("Transfer-Encoding", FieldRule.Drop, FieldRule.Drop, FieldRule.Refuse)]
    [InlineData("Connection", FieldRule.Drop, FieldRule.Drop, FieldRule.Drop)]
    [InlineData("Proxy", FieldRule.Drop, FieldRule.Drop, FieldRule.Drop)]
    [InlineData("Proxy_Authorization", FieldRule.Drop, FieldRule.Drop, FieldRule.Drop)]
    [InlineData("Tunnel2-Timing", FieldRule.Drop, FieldRule.Drop, FieldRule.Drop)]
    [InlineData("X_Forwarded_For", FieldRule.Drop, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("X-Forwarded-For", FieldRule.Pass, FieldRule.Pass, FieldRule.Drop)]
    [InlineData("Authorization", FieldRule.Pass, FieldRule.Pass, FieldRule.Drop)]
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
        Assert.Equal((request, response, trailer), (FieldRules.OfRequest(known), FieldRules.OfResponse(known), FieldRules.OfTrailer(known, bytes)));
    }

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
