using System.Text;
using Tunnel2.ProxyEntry.Routing;

namespace Tunnel2.ProxyEntry.Tests.Routing;

public sealed class PathAddressParserTests
{
    private static readonly PathAddressParser _parser = new("e1");

    [Theory]
    [InlineData("/session/web/", "web", "/")]
    [InlineData("/session/web", "web", "/")]
    [InlineData("/session/web?x=1", "web", "/?x=1")]
    [InlineData("/session/web/a/b?x=/y", "web", "/a/b?x=/y")]
    [InlineData("/session/web//a/../b%2F%20?q=%zz", "web", "//a/../b%2F%20?q=%zz")]
    [InlineData("/session/WEB/A", "web", "/A")]
    [InlineData("/session/w/a", "w", "/a")]
    [InlineData("/session/0F8FAD5B-d9cb-469f-a165-70867728950e/x", "0f8fad5b-d9cb-469f-a165-70867728950e", "/x")]
    public void The_name_is_found_and_the_rest_kept_character_by_character(string target, string name, string rest)
    {
        Span<char> buffer = stackalloc char[PublicName.MaxLength];

        var address = _parser.Parse(target, buffer);

        Assert.Equal(PathAddressOutcome.Name, address.Outcome);
        Assert.Equal(name, buffer[..address.NameLength].ToString());
        Assert.Equal(rest, address.GetRest(target));
        Assert.Equal(address, _parser.Parse(Encoding.UTF8.GetBytes(target), buffer));
        Assert.Equal(name, buffer[..address.NameLength].ToString());
    }

    [Theory]
    [InlineData("/", nameof(PathAddressOutcome.NotASession))]
    [InlineData("", nameof(PathAddressOutcome.NotASession))]
    [InlineData("*", nameof(PathAddressOutcome.NotASession))]
    [InlineData("/session", nameof(PathAddressOutcome.NotASession))]
    [InlineData("/Session/web/", nameof(PathAddressOutcome.NotASession))]
    [InlineData("/sessions/web/", nameof(PathAddressOutcome.NotASession))]
    [InlineData("http://h/session/web/", nameof(PathAddressOutcome.NotASession))]
    [InlineData("/session/", nameof(PathAddressOutcome.Invalid))]
    [InlineData("/session//x", nameof(PathAddressOutcome.Invalid))]
    [InlineData("/session/-/x", nameof(PathAddressOutcome.Invalid))]
    [InlineData("/session/we%62/x", nameof(PathAddressOutcome.Invalid))]
    [InlineData("/session/web-e1/x", nameof(PathAddressOutcome.Invalid))]
    [InlineData("/session/\u212Aeb/x", nameof(PathAddressOutcome.Invalid))]
    [InlineData("/session/012345678901234567890123456789012345678901234567890/", nameof(PathAddressOutcome.Invalid))]
    public void Everything_else_is_refused(string target, string outcome)
    {
        Span<char> buffer = stackalloc char[PublicName.MaxLength];

        Assert.Equal(outcome, _parser.Parse(target, buffer).Outcome.ToString());
        Assert.Equal(outcome, _parser.Parse(Encoding.UTF8.GetBytes(target), buffer).Outcome.ToString());
    }

    [Fact]
    public void Random_targets_never_throw()
    {
        var seed = Environment.TickCount;
        var random = new Random(seed);
        Span<char> buffer = stackalloc char[PublicName.MaxLength];
        for (var i = 0; i < 50_000; i++)
        {
            var tail = new char[random.Next(60)];
            for (var n = 0; n < tail.Length; n++)
            {
                tail[n] = random.Next(3) == 0 ? (char)random.Next(char.MaxValue + 1) : "abc-/?%"[random.Next(7)];
            }

            var target = "/session/" + new string(tail);
            var address = _parser.Parse(target, buffer);
            Assert.True(
                address.Outcome != PathAddressOutcome.Name || address.GetRest(target).StartsWith('/'), $"seed {seed}, target {target}");
        }
    }
}
