using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Protocol.Tests.Handshake;

public sealed class AccessRulesTests
{
    private static readonly PasswordHash _hash = new(10_000, new byte[16], new byte[32]);

    [Fact]
    public void Rules_survive_a_round_trip()
    {
        var rules = new AccessRules
        {
            Users = [new AccessUser("alice", _hash), new AccessUser("bob@example.com", _hash)],
            Allowed = [AccessNetwork.Create([10, 0, 0, 0], 8)!, AccessNetwork.Create(new byte[16], 0)!],
            Denied = [AccessNetwork.Create([10, 1, 2, 3], 32)!],
        };
        var read = AccessRules.TryRead(rules.ToBytes())!;
        Assert.Equal(["alice", "bob@example.com"], read.Users.Select(static user => user.Name));
        Assert.Equal([8, 0], read.Allowed.Select(static network => (int)network.PrefixLength));
        Assert.Equal("0a010203", Convert.ToHexStringLower(Assert.Single(read.Denied).Address));
        Assert.Equal((false, false, true), (read.HasUnknown, read.IsEmpty, read.Fits));
        Assert.Equal("2 users, 2 networks allowed, 1 denied", read.ToString());
    }

    [Fact]
    public void A_rule_about_tokens_survives_a_round_trip_and_counts_as_a_rule()
    {
        var rules = new AccessRules { Tokens = new AccessTokens("https://id.example/", "web") };
        Assert.Equal((false, true), (rules.IsEmpty, rules.Fits));
        Assert.Equal(rules.Tokens, AccessRules.TryRead(rules.ToBytes())!.Tokens);
        Assert.Equal("0 users, 0 networks allowed, 0 denied, tokens of https://id.example/", rules.ToString());
    }

    [Fact]
    public void A_long_issuer_with_many_networks_does_not_fit()
    {
        var networks = Enumerable.Range(0, 120).Select(static index => AccessNetwork.Create(new byte[16], (byte)0)!).ToArray();
        Assert.True(new AccessRules { Allowed = networks }.Fits);
        Assert.False(new AccessRules { Allowed = networks, Tokens = new AccessTokens(new string('a', 255), "a") }.Fits);
    }

    [Theory]
    [InlineData("", "web")]
    [InlineData("https://id.example", "")]
    [InlineData("https://id.example", "a b")]
    [InlineData("https://id.example", "a,b")]
    [InlineData("https://id.example/\n", "web")]
    [InlineData("https://id.ex\u00e4mple", "web")]
    public void Tokens_without_a_plain_issuer_and_audience_are_refused(string issuer, string audience) =>
        Assert.Null(AccessRules.TryRead(new AccessRules { Tokens = new AccessTokens(issuer, audience) }.ToBytes()));

    [Theory]
    [InlineData("staff", true)]
    [InlineData("a-1", true)]
    [InlineData("-a", false)]
    [InlineData("a-", false)]
    [InlineData("Staff", false)]
    [InlineData("a b", false)]
    [InlineData("abcdefghijklmnopqrstuvwxyz0123456", false)]
    public void A_gate_is_a_plain_name(string gate, bool isRight)
    {
        var rules = new AccessRules { Gate = gate };
        Assert.False(rules.IsEmpty);
        Assert.Equal(isRight ? gate : null, AccessRules.TryRead(rules.ToBytes())?.Gate);
    }

    [Fact]
    public void Two_rules_about_tokens_are_refused()
    {
        var one = new AccessRules { Tokens = new AccessTokens("https://id.example", "web") }.ToBytes();
        Assert.Null(AccessRules.TryRead([.. one, .. one]));
    }

    [Fact]
    public void No_item_is_no_rule() => Assert.True(AccessRules.TryRead([])!.IsEmpty);

    [Theory]
    [InlineData("63 00 00")]
    [InlineData("40 00 02 01 02")]
    [InlineData("01 00 04 01 61 02 00")]
    public void An_item_that_is_not_known_is_never_left_out(string hex)
    {
        var rules = AccessRules.TryRead(Bytes(hex + " 02 00 05 08 0a 00 00 00"))!;
        Assert.Equal((true, false, 1), (rules.HasUnknown, rules.IsEmpty, rules.Allowed.Count));
    }

    [Theory]
    [InlineData("02")]
    [InlineData("02 00")]
    [InlineData("02 00 05 08 0a 00 00")]
    [InlineData("02 00 00")]
    [InlineData("02 00 04 08 0a 00 00")]
    [InlineData("02 00 05 21 0a 00 00 00")]
    [InlineData("02 00 05 08 0a 01 00 00")]
    [InlineData("03 00 05 00 80 00 00 00")]
    [InlineData("01 00 00")]
    [InlineData("01 00 01 00")]
    [InlineData("01 00 03 01 61 01")]
    [InlineData("08 00 00")]
    [InlineData("09 00 00")]
    [InlineData("09 00 01 61 09 00 01 61")]
    [InlineData("08 00 02 01 61")]
    [InlineData("08 00 04 01 61 02 61")]
    public void A_malformed_item_is_refused(string hex) => Assert.Null(AccessRules.TryRead(Bytes(hex)));

    [Theory]
    [InlineData("a:b", 10_000, 16)]
    [InlineData("", 10_000, 16)]
    [InlineData("a b", 10_000, 16)]
    [InlineData("alice", 9_999, 16)]
    [InlineData("alice", 1_000_001, 16)]
    [InlineData("alice", 10_000, 15)]
    [InlineData("alice", 10_000, 33)]
    public void A_user_out_of_range_is_refused(string name, int iterations, int salt) => Assert.Null(AccessRules.TryRead(
        new AccessRules { Users = [new AccessUser(name, new PasswordHash(iterations, new byte[salt], new byte[32]))] }.ToBytes()));

    [Fact]
    public void A_policy_crosses_the_wire_once_and_within_its_limit()
    {
        var longest = new byte[AccessRules.MaxPolicyLength];
        var rules = new AccessRules { Policy = longest };
        Assert.True(rules is { IsEmpty: false, HasLists: false, Fits: true });
        var bytes = rules.ToBytes();
        Assert.Equal(longest, AccessRules.TryRead(bytes)!.Policy.ToArray());
        Assert.Equal("0 users, 0 networks allowed, 0 denied, 16384 bytes of policy", rules.ToString());
        Assert.False((rules with { Policy = new byte[AccessRules.MaxPolicyLength + 1] }).Fits);
        Assert.Null(AccessRules.TryRead((rules with { Policy = new byte[AccessRules.MaxPolicyLength + 1] }).ToBytes()));
        var small = new AccessRules { Policy = new byte[3] }.ToBytes();
        Assert.Null(AccessRules.TryRead([.. small, .. small]));
        Assert.Null(AccessRules.TryRead([4, 0, 0]));
    }

    [Theory]
    [InlineData(WebhookProvider.GitHub, 8, 1, true)]
    [InlineData(WebhookProvider.Standard, 255, 4, true)]
    [InlineData(WebhookProvider.GitHub, 7, 1, false)]
    [InlineData(WebhookProvider.GitHub, 8, 5, false)]
    [InlineData(WebhookProvider.GitHub, 8, 0, false)]
    public void A_rule_about_signatures_crosses_the_wire_within_its_limits(WebhookProvider provider, int length, int count, bool isGood)
    {
        var rule = new WebhookRule(provider, [.. Enumerable.Range(0, count).Select(_ => (ReadOnlyMemory<byte>)new byte[length])]);
        var rules = new AccessRules { Webhook = rule };
        Assert.Equal(isGood, rules.Fits);
        Assert.False(rules.IsEmpty);
        var read = AccessRules.TryRead(rules.ToBytes());
        Assert.Equal(isGood, read?.Webhook is { } same && same.Provider == provider && same.Secrets.Count == count);
        Assert.Equal(isGood, read is not null);
        Assert.DoesNotContain("00", rules.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public void A_provider_that_is_not_known_is_never_left_out()
    {
        var rules = AccessRules.TryRead(Bytes("05 00 0a 63 08 01 02 03 04 05 06 07 08"))!;
        Assert.True(rules is { HasUnknown: true, Webhook: null });
        Assert.Null(AccessRules.TryRead(Bytes("05 00 00")));
        Assert.Null(AccessRules.TryRead(Bytes("05 00 03 01 08 01")));
    }

    [Fact]
    public void A_user_twice_and_too_many_of_anything_are_refused()
    {
        Assert.Null(AccessRules.TryRead(With([.. Enumerable.Repeat("a", 2)], 0)));
        Assert.NotNull(AccessRules.TryRead(With([.. Enumerable.Range(0, 16).Select(static number => $"u{number}")], 0)));
        Assert.Null(AccessRules.TryRead(With([.. Enumerable.Range(0, 17).Select(static number => $"u{number}")], 0)));
        Assert.NotNull(AccessRules.TryRead(With([], 200)));
        Assert.Null(AccessRules.TryRead(With([], 201)));
        Assert.Null(AccessRules.TryRead(new byte[AccessRules.MaxLength + 1]));

        static byte[] With(string[] users, int networks) => new AccessRules
        {
            Users = [.. users.Select(static name => new AccessUser(name, _hash))],
            Denied = [.. Enumerable.Range(0, networks).Select(static index => AccessNetwork.Create([10, 0, 0, (byte)index], 32)!)],
        }.ToBytes();
    }

    [Fact]
    public void Rules_that_do_not_fit_say_so()
    {
        AccessNetwork[] ipv6 = [.. Enumerable.Range(0, 129).Select(static index => AccessNetwork.Create(new byte[16], index % 2)!)];
        Assert.True(new AccessRules { Allowed = ipv6[..128] }.Fits);
        Assert.False(new AccessRules { Allowed = ipv6 }.Fits);
    }

    [Theory]
    [InlineData("alice", true)]
    [InlineData("bob@example.com", true)]
    [InlineData("", false)]
    [InlineData("a:b", false)]
    [InlineData("a,b", false)]
    [InlineData("a b", false)]
    [InlineData("a\"b", false)]
    [InlineData("a\\b", false)]
    [InlineData("\u00e4", false)]
    [InlineData("a\nb", false)]
    public void A_name_can_be_the_value_of_a_field(string name, bool isGood) => Assert.Equal(isGood, AccessUser.IsName(name));

    [Fact]
    public void A_name_has_at_most_64_characters()
    {
        Assert.True(AccessUser.IsName(new string('a', 64)));
        Assert.False(AccessUser.IsName(new string('a', 65)));
    }

    private static byte[] Bytes(string hex) => Convert.FromHexString(hex.Replace(" ", "", StringComparison.Ordinal));
}
