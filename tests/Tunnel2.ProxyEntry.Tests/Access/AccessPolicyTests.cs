using System.Net;
using System.Text;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Limits;

namespace Tunnel2.ProxyEntry.Tests.Access;

public sealed class AccessPolicyTests
{
    private static readonly AccessUser _alice = User("alice", "secret");
    private static readonly AddressKey _here = AddressKey.Of(IPAddress.Parse("203.0.113.1"));
    private static readonly AddressKey _elsewhere = AddressKey.Of(IPAddress.Parse("198.51.100.1"));
    private readonly PasswordChecks _checks = new();

    [Theory]
    [InlineData("", "", "192.0.2.1", true)]
    [InlineData("10.0.0.0/8", "", "10.1.2.3", true)]
    [InlineData("10.0.0.0/8", "", "192.0.2.1", false)]
    [InlineData("", "10.0.0.0/8", "10.1.2.3", false)]
    [InlineData("", "10.0.0.0/8", "192.0.2.1", true)]
    [InlineData("10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", false)]
    [InlineData("10.0.0.0/8", "10.1.0.0/16", "10.2.2.3", true)]
    [InlineData("10.1.0.0/16", "10.0.0.0/8", "10.1.2.3", false)]
    [InlineData("10.0.0.0/8", "", "2001:db8::1", false)]
    [InlineData("", "10.0.0.0/8", null, false)]
    [InlineData("10.0.0.0/8", "", null, false)]
    public void Denied_counts_more_than_allowed_and_unknown_is_neither(string allowed, string denied, string? address, bool passes) =>
        Assert.Equal(
            passes,
            Policy(new AccessSet([], Networks(allowed), Networks(denied))).Allows(address is null ? null : IPAddress.Parse(address)));

    [Fact]
    public void Both_sides_have_to_allow()
    {
        var policy = Policy(new AccessSet([], Networks("10.0.0.0/8"), []), new AccessSet([], Networks("10.1.0.0/16"), []));
        Assert.True(policy.Allows(IPAddress.Parse("10.1.0.1")));
        Assert.False(policy.Allows(IPAddress.Parse("10.2.0.1")));
        Assert.False(policy.Allows(IPAddress.Parse("192.0.2.1")));
    }

    [Fact]
    public async Task A_login_is_checked_by_the_slow_hash_once()
    {
        var policy = Policy(new AccessSet([_alice], [], []));
        Assert.Equal(LoginState.Unknown, policy.Judge(Basic("alice:secret"), _here, out var user, out var login));
        Assert.Null(user);
        Assert.True(await policy.CheckAsync(login!, _checks)!);
        Assert.Equal("alice"u8.ToArray(), policy.UserOf(login!));
        Assert.Equal(LoginState.Right, policy.Judge(Basic("alice:secret"), _here, out user, out _));
        Assert.Equal("alice"u8.ToArray(), user);
        Assert.Equal(LoginState.Unknown, policy.Judge(Basic("alice:secreT"), _here, out _, out _));
        Assert.Equal(LoginState.Unknown, policy.Judge(Basic("Alice:secret"), _here, out _, out _));
    }

    [Fact]
    public async Task A_login_that_was_right_has_to_be_asked_for_at_each_other_address()
    {
        var policy = Policy(new AccessSet([_alice], [], []));
        Assert.True(await policy.CheckAsync(LoginOf(policy, "alice:secret"), _checks)!);
        Assert.Equal(LoginState.Right, policy.Judge(Basic("alice:secret"), _here, out _, out _));
        Assert.Equal(LoginState.Unknown, policy.Judge(Basic("alice:secret"), _elsewhere, out var user, out var login));
        Assert.Null(user);
        Assert.True(policy.Knows(login!));
        Assert.NotNull(policy.UserOf(login!));
        Assert.Equal(LoginState.Right, policy.Judge(Basic("alice:secret"), _elsewhere, out _, out _));
        policy.Judge(Basic("alice:other"), _elsewhere, out _, out login);
        Assert.False(policy.Knows(login!));
    }

    [Fact]
    public async Task The_addresses_of_a_login_are_bounded_and_the_oldest_makes_room()
    {
        var policy = Policy(new AccessSet([_alice], [], []));
        Assert.True(await policy.CheckAsync(LoginOf(policy, "alice:secret"), _checks)!);
        for (var i = 0; i < BasicUser.MostAddresses; i++)
        {
            Assert.Equal(LoginState.Right, policy.Judge(Basic("alice:secret"), _here, out _, out _));
            policy.Judge(Basic("alice:secret"), new AddressKey(1, (ulong)i), out _, out var login);
            policy.UserOf(login!);
        }

        Assert.Equal(LoginState.Unknown, policy.Judge(Basic("alice:secret"), _here, out _, out _));
        Assert.Equal(LoginState.Right, policy.Judge(Basic("alice:secret"), new AddressKey(1, 0), out _, out _));
    }

    [Theory]
    [InlineData("alice:wrong")]
    [InlineData("alice:")]
    [InlineData(":secret")]
    [InlineData("bob:secret")]
    [InlineData("alice :secret")]
    public async Task A_wrong_login_is_known_again_and_is_no_user(string pair)
    {
        var policy = Policy(new AccessSet([_alice], [], []));
        Assert.Equal(LoginState.Unknown, policy.Judge(Basic(pair), _here, out _, out var login));
        Assert.False(await policy.CheckAsync(login!, _checks)!);
        Assert.Null(policy.UserOf(login!));
        Assert.Equal(LoginState.Wrong, policy.Judge(Basic(pair), _here, out _, out _));
        Assert.Equal(LoginState.Unknown, policy.Judge(Basic("alice:secret"), _here, out _, out _));
    }

    [Fact]
    public async Task What_is_remembered_of_wrong_logins_is_bounded_and_the_latest()
    {
        var policy = Policy(new AccessSet([_alice], [], []));
        for (var i = 0; i < 200; i++)
        {
            policy.Judge(Basic($"alice:{i}"), _here, out _, out var login);
            Assert.False(await policy.CheckAsync(login!, _checks)!);
        }

        for (var i = 0; i < 200; i++)
        {
            Assert.Equal(i < 200 - 64 ? LoginState.Unknown : LoginState.Wrong, policy.Judge(Basic($"alice:{i}"), _here, out _, out _));
        }
    }

    [Fact]
    public async Task A_login_has_to_be_right_on_both_sides()
    {
        var policy = Policy(
            new AccessSet([_alice, User("bob", "b"), User("carol", "one")], [], []),
            new AccessSet([_alice, User("dave", "d"), User("carol", "other")], [], []));
        foreach (var (pair, isRight) in new[]
        {
            ("alice:secret", true), ("bob:b", false), ("dave:d", false), ("carol:one", false), ("carol:other", false),
        })
        {
            policy.Judge(Basic(pair), _here, out _, out var login);
            Assert.Equal(isRight, await policy.CheckAsync(login!, _checks)!);
            Assert.Equal(isRight ? LoginState.Right : LoginState.Wrong, policy.Judge(Basic(pair), _here, out _, out _));
        }
    }

    [Theory]
    [InlineData("")]
    [InlineData("Bearer abc")]
    [InlineData("Basic !")]
    public void What_is_no_login_is_missing(string value)
    {
        Assert.Equal(
            LoginState.Missing, Policy(new AccessSet([_alice], [], [])).Judge(Encoding.ASCII.GetBytes(value), _here, out _, out var login));
        Assert.Null(login);
    }

    [Fact]
    public async Task The_same_login_at_once_is_checked_once_and_too_many_others_are_not_checked()
    {
        // One check holds the only place of a set with one place; the rest of this test's checks wait for it.
        using var held = new ManualResetEventSlim();
        var blockers = Enumerable.Range(0, Math.Max(1, Environment.ProcessorCount / 2)).Select(_ => _checks.TryRun("other", () =>
        {
            held.Wait();
            return true;
        })!).ToList();
        var policy = Policy(new AccessSet([_alice], [], []));
        var running = new List<Task<bool?>>();
        for (var i = 0; i < 8; i++)
        {
            running.Add(policy.CheckAsync(LoginOf(policy, $"alice:{i}"), _checks)!);
        }

        Assert.Same(running[3], policy.CheckAsync(LoginOf(policy, "alice:3"), _checks));
        Assert.Same(running[3], policy.FindCheck(LoginOf(policy, "alice:3")));
        policy.Judge(Basic("alice:3"), _elsewhere, out _, out var other);
        Assert.Null(policy.FindCheck(other!));
        Assert.Same(running[3], policy.CheckAsync(other!, _checks));
        Assert.Null(policy.CheckAsync(LoginOf(policy, "alice:8"), _checks));
        held.Set();
        Assert.All(await Task.WhenAll(running), static isRight => Assert.False(isRight));
        Assert.Null(policy.FindCheck(LoginOf(policy, "alice:8")));
        Assert.True(await policy.CheckAsync(LoginOf(policy, "alice:secret"), _checks)!);
        await Task.WhenAll(blockers);
    }

    [Fact]
    public async Task Checks_that_run_or_wait_are_bounded()
    {
        using var held = new ManualResetEventSlim();
        var taken = new List<Task<bool?>>();
        while (_checks.TryRun("one", () => held.Wait(Timeout.Infinite)) is { } check)
        {
            taken.Add(check);
        }

        Assert.Equal(64, taken.Count);
        held.Set();
        await Task.WhenAll(taken);
        Assert.True(await _checks.TryRun("one", static () => true)!);
    }

    [Fact]
    public async Task An_owner_with_few_checks_gets_a_place_and_the_next_turn_while_another_takes_all()
    {
        using var held = new ManualResetEventSlim();
        var done = new List<string>();
        var taken = new List<Task<bool?>>();
        while (_checks.TryRun("taker", () => Note("taker")) is { } check)
        {
            taken.Add(check);
        }

        var other = _checks.TryRun("other", () => Note("other"))!;
        held.Set();

        Assert.Null(await taken[^1]);
        Assert.True(await other);
        Assert.All(await Task.WhenAll(taken[..^1]), static isRight => Assert.True(isRight));

        // Those that ran already, and as many that had their turn before or beside it.
        Assert.InRange(done.IndexOf("other"), 0, 2 * Math.Max(1, Environment.ProcessorCount / 2));
        Assert.True(await _checks.TryRun("taker", static () => true)!);

        bool Note(string owner)
        {
            held.Wait();
            lock (done)
            {
                done.Add(owner);
            }

            return true;
        }
    }

    [Fact]
    public async Task A_login_whose_place_went_to_another_owner_was_not_checked_and_is_no_wrong_one()
    {
        using var held = new ManualResetEventSlim();
        var policy = Policy(new AccessSet([_alice], [], []));
        var running = Math.Max(1, Environment.ProcessorCount / 2);
        var others = Enumerable.Range(0, running).Select(_ => _checks.TryRun("other", () => held.Wait(Timeout.Infinite))!).ToList();
        var waiting = Enumerable.Range(0, 8).Select(i => policy.CheckAsync(LoginOf(policy, $"alice:{i}"), _checks)!).ToList();
        for (var owner = running + waiting.Count; owner <= 64; owner++)
        {
            others.Add(_checks.TryRun($"owner-{owner}", static () => true)!);
        }

        Assert.Null(await waiting[^1]);
        Assert.Equal(LoginState.Unknown, policy.Judge(Basic("alice:7"), _here, out _, out var login));
        Assert.Null(policy.FindCheck(login!));
        held.Set();
        await Task.WhenAll([.. waiting, .. others]);
        Assert.Equal(LoginState.Wrong, policy.Judge(Basic("alice:0"), _here, out _, out _));
    }

    private static BasicLogin LoginOf(AccessPolicy policy, string pair)
    {
        policy.Judge(Basic(pair), _here, out _, out var login);
        return login!;
    }

    private static AccessPolicy Policy(params AccessSet[] sets) => new(sets, new LoginBudget());

    private static AccessUser User(string name, string password) =>
        new(name, PasswordHash.Create(password, PasswordHash.LeastIterations));

    private static byte[] Basic(string pair) => Encoding.ASCII.GetBytes("Basic " + Convert.ToBase64String(Encoding.UTF8.GetBytes(pair)));

    private static IPNetwork[] Networks(string text) => text.Length == 0 ? [] : [IPNetwork.Parse(text)];
}
