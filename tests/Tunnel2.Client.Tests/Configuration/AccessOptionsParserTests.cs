using System.Net;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Client.Tests.Configuration;

public sealed class AccessOptionsParserTests
{
    private static readonly AgentOptionsInput _minimal = new AgentOptionsInput().Give("<upstream>", "3000");
    private static readonly string _hash = PasswordHash.Create("secret", PasswordHash.LeastIterations).ToText();

    [Fact]
    public void A_password_is_hashed_and_a_hash_is_taken()
    {
        AccessRules rules = Accepted("--basic-auth", $"alice:a:b\nbob:{_hash}");
        Assert.Equal(["alice", "bob"], rules.Users.Select(static user => user.Name));
        Assert.True(rules.Users[0].Hash.Matches("a:b"u8));
        Assert.Equal(_hash, rules.Users[1].Hash.ToText());
    }

    [Theory]
    [InlineData("10.0.0.0/8", "10.0.0.0/8")]
    [InlineData("192.0.2.7", "192.0.2.7/32")]
    [InlineData("2001:db8::/32,::1", "2001:db8::/32 ::1/128")]
    [InlineData("10.0.0.0/8, 11.0.0.0/8\n0.0.0.0/0,", "10.0.0.0/8 11.0.0.0/8 0.0.0.0/0")]
    [InlineData("::ffff:10.0.0.0/104", "::ffff:10.0.0.0/104")]
    public void Networks_are_read(string text, string networks) => Assert.Equal(
        networks,
        string.Join(' ', Accepted("--allow-ip", text).Allowed.Select(
            static network => $"{new IPAddress(network.Address)}/{network.PrefixLength}")));

    [Theory]
    [InlineData("--allow-ip", "")]
    [InlineData("--allow-ip", ",")]
    [InlineData("--allow-ip", "host")]
    [InlineData("--allow-ip", "10")]
    [InlineData("--allow-ip", "10.1")]
    [InlineData("--allow-ip", "010.0.0.1")]
    [InlineData("--allow-ip", "0x0a.0.0.1")]
    [InlineData("--allow-ip", "10.0.0.0/33")]
    [InlineData("--allow-ip", "10.0.0.0/-1")]
    [InlineData("--allow-ip", "10.0.0.0/+8")]
    [InlineData("--allow-ip", "10.0.0.0/")]
    [InlineData("--allow-ip", "10.0.0.0/8/8")]
    [InlineData("--allow-ip", "10.0.0.1/8")]
    [InlineData("--deny-ip", "::1/129")]
    [InlineData("--deny-ip", "[::1]")]
    [InlineData("--deny-ip", "fe80::1%eth0")]
    [InlineData("--basic-auth", "")]
    [InlineData("--basic-auth", "topsecret")]
    [InlineData("--basic-auth", ":topsecret")]
    [InlineData("--basic-auth", "a b:topsecret")]
    [InlineData("--basic-auth", "alice:")]
    [InlineData("--basic-auth", "alice:topsecret\u0007")]
    [InlineData("--basic-auth", "alice:pbkdf2-sha256:topsecret")]
    [InlineData("--verify-webhook", "github")]
    [InlineData("--verify-webhook", "github:")]
    [InlineData("--verify-webhook", "github:short")]
    [InlineData("--verify-webhook", "gitub:topsecret")]
    public void A_mistake_names_the_flag_and_shows_no_password(string flag, string text)
    {
        OptionMistake mistake = Assert.Single(AgentOptionsParser.Parse(_minimal.Give(flag, text)).Mistakes);
        Assert.Equal(flag, mistake.Flag);
        Assert.DoesNotContain("topsecret", mistake.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void A_user_twice_and_too_many_users_are_mistakes()
    {
        Assert.Single(AgentOptionsParser.Parse(_minimal.Give("--basic-auth", $"a:{_hash}\na:{_hash}")).Mistakes);
        string users = string.Join('\n', Enumerable.Range(0, 17).Select(static number => $"u{number}:{_hash}"));
        Assert.Single(AgentOptionsParser.Parse(_minimal.Give("--basic-auth", users)).Mistakes);
    }

    [Fact]
    public void More_networks_than_an_agent_can_send_are_a_mistake()
    {
        string networks = string.Join(',', Enumerable.Range(0, 201).Select(static number => $"10.0.0.{number}"));
        Assert.Contains(
            "at most 200 networks",
            Assert.Single(AgentOptionsParser.Parse(_minimal.Give("--deny-ip", networks)).Mistakes).ToString(),
            StringComparison.Ordinal);
    }

    [Fact]
    public void Options_show_no_password_and_no_hash()
    {
        AgentOptions options = AgentOptionsParser.Parse(_minimal.Give("--basic-auth", "alice:topsecret")).Options!;
        Assert.DoesNotContain("topsecret", options.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("pbkdf2", options.ToString(), StringComparison.Ordinal);
        Assert.Contains("Access = 1 users", options.ToString(), StringComparison.Ordinal);
    }

    private static AccessRules Accepted(string flag, string text)
    {
        AgentOptionsParseResult result = AgentOptionsParser.Parse(_minimal.Give(flag, text));
        Assert.Empty(result.Mistakes);
        return result.Options!.Access!;
    }
}
