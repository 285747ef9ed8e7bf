using System.Text;
using Tunnel2.ProxyEntry.Routing;

namespace Tunnel2.ProxyEntry.Tests.Routing;

public sealed class HostAddressParserTests
{
    private static readonly HostAddressParser _parser = new("tunnel.example.com", "e1");

    [Theory]
    [InlineData("web.tunnel.example.com", "web")]
    [InlineData("web.tunnel.example.com:12000", "web")]
    [InlineData("web.tunnel.example.com:", "web")]
    [InlineData("web.tunnel.example.com.", "web")]
    [InlineData("web.tunnel.example.com.:65535", "web")]
    [InlineData("WEB.Tunnel.Example.COM", "web")]
    [InlineData("web-e1.tunnel.example.com", "web")]
    [InlineData("Web-E1.tunnel.example.com:80", "web")]
    [InlineData("web-e2.tunnel.example.com", "web-e2")]
    [InlineData("a.tunnel.example.com", "a")]
    [InlineData("A-E1.tunnel.example.com", "a")]
    [InlineData("e1.tunnel.example.com", "e1")]
    [InlineData("e1-e1.tunnel.example.com", "e1")]
    [InlineData("0f8fad5b-d9cb-469f-a165-70867728950e-e1.tunnel.example.com", "0f8fad5b-d9cb-469f-a165-70867728950e")]
    public void The_name_is_found(string host, string name)
    {
        Assert.Equal((HostAddressOutcome.Name, name), Parse(host));
    }

    [Theory]
    [InlineData("tunnel.example.com")]
    [InlineData(".tunnel.example.com")]
    [InlineData("example.com")]
    [InlineData("webtunnel.example.com")]
    [InlineData("web.tunnel.example.org")]
    [InlineData("web.tunnel.example.com.evil.org")]
    [InlineData("a.web.tunnel.example.com")]
    [InlineData("-.tunnel.example.com")]
    [InlineData("-e1.tunnel.example.com")]
    [InlineData("web-e1-e1.tunnel.example.com")]
    [InlineData("-web.tunnel.example.com")]
    [InlineData("we_b.tunnel.example.com")]
    [InlineData("web%20.tunnel.example.com")]
    [InlineData("web.tunnel.example.com..")]
    [InlineData("127.0.0.1:12000")]
    [InlineData("[::1]")]
    [InlineData("[2001:db8::1]:12000")]
    [InlineData("localhost")]
    public void A_host_that_no_session_can_have_is_not_ours(string host)
    {
        Assert.Equal((HostAddressOutcome.NotOurDomain, ""), Parse(host));
    }

    [Theory]
    [InlineData("")]
    [InlineData(":80")]
    [InlineData("web.tunnel.example.com:x")]
    [InlineData("web.tunnel.example.com:65536")]
    [InlineData("web.tunnel.example.com:99999999999")]
    [InlineData("web.tunnel.example.com:80:80")]
    [InlineData("user@web.tunnel.example.com")]
    [InlineData("web.tunnel.example.com/")]
    [InlineData("web tunnel.example.com")]
    [InlineData("web\t.tunnel.example.com")]
    [InlineData("web,.tunnel.example.com\r\n")]
    [InlineData("wéb.tunnel.example.com")]
    [InlineData("web.tunnel.example.com\0")]
    [InlineData("[::1")]
    [InlineData("[]")]
    [InlineData("[")]
    [InlineData("[::1]x")]
    [InlineData("[::1]:x")]
    [InlineData("[web.tunnel.example.com]")]
    public void What_is_no_host_is_invalid(string host)
    {
        Assert.Equal((HostAddressOutcome.Invalid, ""), Parse(host));
    }

    [Fact]
    public void Characters_that_only_look_alike_in_unicode_do_not_match()
    {
        // The Kelvin sign lowers to k, the long s rises to S.
        Assert.Equal(HostAddressOutcome.Invalid, Parse("\u212Aeb.tunnel.example.com").Outcome);
        Assert.Equal(HostAddressOutcome.Invalid, Parse("we\u017F.tunnel.example.com").Outcome);
    }

    [Fact]
    public void A_host_longer_than_any_is_invalid()
    {
        Assert.Equal(HostAddressOutcome.Invalid, Parse(new string('a', 100_000)).Outcome);
    }

    [Fact]
    public void Random_hosts_never_throw_and_give_only_valid_names()
    {
        var seed = Environment.TickCount;
        var random = new Random(seed);
        string[] parts = ["web", "-", "e1", ".", "tunnel.example.com", ":", "80", "[", "]", "A", "é", "\0", " ", "xn--", "_", "%"];
        for (var i = 0; i < 100_000; i++)
        {
            var text = new StringBuilder();
            for (var n = random.Next(8); n >= 0; n--)
            {
                text.Append(random.Next(10) == 0 ? ((char)random.Next(char.MaxValue + 1)).ToString() : parts[random.Next(parts.Length)]);
            }

            var host = text.ToString();
            var (outcome, name) = Parse(host);
            Assert.True(
                (outcome == HostAddressOutcome.Name) == (name.Length > 0)
                    && (name.Length == 0 || PublicName.Check(name, "e1") == PublicNameProblem.None),
                $"seed {seed}, host {host}");
        }
    }

    // Every case goes through both forms, which must agree.
    private static (HostAddressOutcome Outcome, string Name) Parse(string host)
    {
        Span<char> buffer = stackalloc char[PublicName.MaxLength];
        var outcome = _parser.Parse(host, buffer, out var length);
        var name = buffer[..length].ToString();

        var outcomeOfBytes = _parser.Parse(Encoding.UTF8.GetBytes(host), buffer, out var lengthOfBytes);
        Assert.Equal(outcome, outcomeOfBytes);
        Assert.Equal(name, buffer[..lengthOfBytes].ToString());
        return (outcome, name);
    }
}
