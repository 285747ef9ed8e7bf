using System.Net;
using System.Text;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Access;

namespace Tunnel2.ProxyEntry.Tests.Access;

public sealed class AccessPolicyTests : IDisposable
{
    private static readonly AccessUser _alice = User("alice", "secret");
    private readonly PasswordChecks _checks = new();

    public void Dispose() => _checks.Dispose();

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
        Assert.Equal(LoginState.Unknown, policy.Judge(Basic("alice:secret"), out var user, out var login));
        Assert.Null(user);
        Assert.True(await policy.CheckAsync(login!, _checks)!);
        Assert.Equal("alice"u8.ToArray(), policy.UserOf(login!));
        Assert.Equal(LoginState.Right, policy.Judge(Basic("alice:secret"), out user, out _));
        Assert.Equal("alice"u8.ToArray(), user);
        Assert.Equal(LoginState.Unknown, policy.Judge(Basic("alice:secreT"), out _, out _));
        Assert.Equal(LoginState.Unknown, policy.Judge(Basic("Alice:secret"), out _, out _));
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
        Assert.Equal(LoginState.Unknown, policy.Judge(Basic(pair), out _, out var login));
        Assert.False(await policy.CheckAsync(login!, _checks)!);
        Assert.Null(policy.UserOf(login!));
        Assert.Equal(LoginState.Wrong, policy.Judge(Basic(pair), out _, out _));
        Assert.Equal(LoginState.Unknown, policy.Judge(Basic("alice:secret"), out _, out _));
    }

    [Fact]
    public async Task What_is_remembered_of_wrong_logins_is_bounded_and_the_latest()
    {
        var policy = Policy(new AccessSet([_alice], [], []));
        for (var i = 0; i < 200; i++)
        {
            policy.Judge(Basic($"alice:{i}"), out _, out var login);
            Assert.False(await policy.CheckAsync(login!, _checks)!);
        }

        for (var i = 0; i < 200; i++)
        {
            Assert.Equal(i < 200 - 64 ? LoginState.Unknown : LoginState.Wrong, policy.Judge(Basic($"alice:{i}"), out _, out _));
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
            policy.Judge(Basic(pair), out _, out var login);
            Assert.Equal(isRight, await policy.CheckAsync(login!, _checks)!);
            Assert.Equal(isRight ? LoginState.Right : LoginState.Wrong, policy.Judge(Basic(pair), out _, out _));
        }
    }

    [Theory]
    [InlineData("")]
    [InlineData("Bearer abc")]
    [InlineData("Basic !")]
    public void What_is_no_login_is_missing(string value)
    {
        Assert.Equal(
            LoginState.Missing, Policy(new AccessSet([_alice], [], [])).Judge(Encoding.ASCII.GetBytes(value), out _, out var login));
        Assert.Null(login);
    }

    [Fact]
    public async Task The_same_login_at_once_is_checked_once_and_too_many_others_are_not_checked()
    {
        // One check holds the only place of a set with one place; the rest of this test's checks wait for it.
        using var held = new ManualResetEventSlim();
        var blockers = Enumerable.Range(0, Math.Max(1, Environment.ProcessorCount / 2)).Select(_ => _checks.TryRun(() =>
        {
            held.Wait();
            return true;
        })!).ToList();
        var policy = Policy(new AccessSet([_alice], [], []));
        var running = new List<Task<bool>>();
        for (var i = 0; i < 8; i++)
        {
            running.Add(policy.CheckAsync(LoginOf(policy, $"alice:{i}"), _checks)!);
        }

        Assert.Same(running[3], policy.CheckAsync(LoginOf(policy, "alice:3"), _checks));
        Assert.Same(running[3], policy.FindCheck(LoginOf(policy, "alice:3")));
        Assert.Null(policy.CheckAsync(LoginOf(policy, "alice:8"), _checks));
        held.Set();
        Assert.All(await Task.WhenAll(running), Assert.False);
        Assert.Null(policy.FindCheck(LoginOf(policy, "alice:8")));
        Assert.True(await policy.CheckAsync(LoginOf(policy, "alice:secret"), _checks)!);
        await Task.WhenAll(blockers);
    }

    [Fact]
    public async Task Checks_that_run_or_wait_are_bounded()
    {
        using var held = new ManualResetEventSlim();
        var taken = new List<Task<bool>>();
        while (_checks.TryRun(() => held.Wait(Timeout.Infinite)) is { } check)
        {
            taken.Add(check);
        }

        Assert.Equal(64, taken.Count);
        held.Set();
        await Task.WhenAll(taken);
        Assert.True(await _checks.TryRun(static () => true)!);
    }

    private static BasicLogin LoginOf(AccessPolicy policy, string pair)
    {
        policy.Judge(Basic(pair), out _, out var login);
        return login!;
    }

    private static AccessPolicy Policy(params AccessSet[] sets) => new(sets, new LoginBudget());

    private static AccessUser User(string name, string password) =>
        new(name, PasswordHash.Create(password, PasswordHash.LeastIterations));

    private static byte[] Basic(string pair) => Encoding.ASCII.GetBytes("Basic " + Convert.ToBase64String(Encoding.UTF8.GetBytes(pair)));

    private static IPNetwork[] Networks(string text) => text.Length == 0 ? [] : [IPNetwork.Parse(text)];
}
