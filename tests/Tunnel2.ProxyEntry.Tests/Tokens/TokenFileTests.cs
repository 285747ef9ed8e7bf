using System.Text;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Tokens;

namespace Tunnel2.ProxyEntry.Tests.Tokens;

public sealed class TokenFileTests
{
    private const string Hash = "\"hash\":\"sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"";
    private const string Rest = "\"agent\":\"a\",\"created\":\"2026-01-01T00:00:00Z\"," + Hash;

    [Fact]
    public void What_is_written_is_read()
    {
        Assert.True(NamePattern.TryParse("web-*", out var name));
        var token = new StoredToken
        {
            Name = "ci.1",
            Agent = "Build",
            Names = [name!],
            Tier = "pro",
            Created = new DateTimeOffset(2026, 1, 2, 3, 4, 5, TimeSpan.FromHours(1)),
            Expires = new DateTimeOffset(2027, 1, 2, 3, 4, 5, TimeSpan.Zero),
            Hash = TokenHash.FromToken("secret"),
        };
        var read = TokenFile.Read(TokenFile.Write(token), "ci.1", out var reason)!;
        Assert.Equal("", reason);
        Assert.Equal((token.Name, token.Agent, token.Tier), (read.Name, read.Agent, read.Tier));
        Assert.Equal((token.Created, token.Expires), (read.Created, read.Expires));
        Assert.Equal("web-*", Assert.Single(read.Names).ToString());
        Assert.True(read.Hash.IsSameAs(token.Hash));
        Assert.Null(TokenFile.Read(TokenFile.Write(token with { Tier = null, Expires = null }), "ci.1", out _)!.Expires);
    }

    [Theory]
    [InlineData("")]
    [InlineData("null")]
    [InlineData("[]")]
    [InlineData("{}")]
    [InlineData("{\"name\":\"ci\",\"names\":[\"a\"]," + Rest)]
    [InlineData("{\"name\":\"other\",\"names\":[\"a\"]," + Rest + "}")]
    [InlineData("{\"name\":\"ci\",\"names\":[]," + Rest + "}")]
    [InlineData("{\"name\":\"ci\",\"names\":[1]," + Rest + "}")]
    [InlineData("{\"name\":\"ci\",\"names\":\"a\"," + Rest + "}")]
    [InlineData("{\"name\":\"ci\",\"names\":[\"a b\"]," + Rest + "}")]
    [InlineData("{\"name\":\"ci\",\"names\":[\"a\"],\"allow\":\"10.0.0.0/8\"," + Rest + "}")]
    [InlineData("{\"name\":\"ci\",\"name\":\"ci\",\"names\":[\"a\"]," + Rest + "}")]
    [InlineData("{\"name\":\"ci\",\"names\":[\"a\"],\"expires\":\"never\"," + Rest + "}")]
    [InlineData("{\"name\":\"ci\",\"names\":[\"a\"],\"expires\":null," + Rest + "}")]
    [InlineData("{\"name\":\"ci\",\"names\":[\"a\"],\"tier\":\"a\\r\\nb\"," + Rest + "}")]
    [InlineData("{\"name\":\"ci\",\"names\":[\"a\"],\"agent\":\"a\",\"created\":\"2026-01-01T00:00:00Z\"}")]
    [InlineData("{\"name\":\"ci\",\"names\":[\"a\"],\"agent\":\"a/b\",\"created\":\"2026-01-01T00:00:00Z\"," + Hash + "}")]
    public void A_file_that_is_not_as_it_was_written_is_refused_without_its_content(string text)
    {
        Assert.Null(TokenFile.Read(Encoding.UTF8.GetBytes(text), "ci", out var reason));
        Assert.NotEqual("", reason);
        Assert.DoesNotContain("aaaa", reason, StringComparison.Ordinal);
    }

    [Fact]
    public void The_same_with_nothing_wrong_is_read() => Assert.NotNull(
        TokenFile.Read(Encoding.UTF8.GetBytes("{\"name\":\"ci\",\"names\":[\"a\"]," + Rest + "}"), "ci", out _));
}
