using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Sessions;

/// <summary>Names that several sessions share, in the directory.</summary>
public sealed class PooledNamesTests
{
    private static readonly TimeSpan _kept = TimeSpan.FromSeconds(5);
    private static readonly AccessRules _rules = new() { Gate = "staff" };

    private readonly ManualTimeProvider _time = new();
    private readonly InMemorySessionDirectory _directory;
    private int _instances;

    public PooledNamesTests() => _directory = new InMemorySessionDirectory(_time, _kept, 3);

    [Fact]
    public async Task Members_of_one_owner_share_the_name_and_what_holds_for_its_requests()
    {
        var told = new List<EntrySession>();
        _directory.Registered += told.Add;
        var (first, second) = (Make(), Make());
        Assert.Equal((RegistrationStatus.Registered, null), Short(await RegisterAsync(first)));
        Assert.Equal((RegistrationStatus.Registered, null), Short(await RegisterAsync(second)));
        Assert.Equal(2, _directory.Count);
        Assert.Equal([first, second], _directory.Snapshot());
        Assert.Equal([first, second], told);
        Assert.Equal(NameState.Online, _directory.Find("web", out var found));
        Assert.Same(first, found);
        Assert.Same(first.Terms, second.Terms);
        Assert.Same(first.Member!.Pool, second.Member!.Pool);
        Assert.Same(first.Logins, second.Logins);
    }

    [Fact]
    public async Task Another_owner_is_refused_as_always()
    {
        await RegisterAsync(Make());
        Assert.Equal(RegistrationStatus.NameTaken, (await RegisterAsync(Make(owner: "b"))).Status);
        Assert.Equal(RegistrationStatus.NameTaken, (await RegisterAsync(Sample.Session("web", "b"))).Status);
    }

    [Fact]
    public async Task One_with_a_pool_and_one_without_refuse_each_other_while_the_name_is_held()
    {
        var first = await RegisterAsync(Make());
        var without = await RegisterAsync(Sample.Session("web"));
        Assert.Equal(RegistrationStatus.PoolNotPossible, without.Status);
        Assert.Contains("start this one with --pool", without.Reason, StringComparison.Ordinal);
        await _directory.MarkLeavingAsync("web", first.Epoch, CancellationToken.None);
        Assert.Equal(RegistrationStatus.Registered, (await RegisterAsync(Sample.Session("web"))).Status);
        var with = await RegisterAsync(Make());
        Assert.Equal(RegistrationStatus.PoolNotPossible, with.Status);
        Assert.Contains("without --pool", with.Reason, StringComparison.Ordinal);
        Assert.Equal(1, _directory.Count);
    }

    [Fact]
    public async Task A_session_that_hands_over_gives_way_to_a_pool_of_its_owner()
    {
        var older = Sample.Session("web");
        var first = await RegisterAsync(older);
        await _directory.MarkHandingOverAsync("web", first.Epoch, CancellationToken.None);
        Assert.Equal((RegistrationStatus.Registered, older), Short(await RegisterAsync(Make())));
        Assert.Equal(1, _directory.Count);
    }

    [Fact]
    public async Task Other_access_rules_are_refused_and_the_same_ones_are_not()
    {
        await RegisterAsync(Make(_rules));
        var other = await RegisterAsync(Make());
        Assert.Equal(RegistrationStatus.PoolNotPossible, other.Status);
        Assert.Contains("other access rules", other.Reason, StringComparison.Ordinal);
        Assert.Equal(RegistrationStatus.PoolNotPossible, (await RegisterAsync(Make(new AccessRules { Gate = "other" }))).Status);
        Assert.Equal(RegistrationStatus.Registered, (await RegisterAsync(Make(new AccessRules { Gate = "staff" }))).Status);
    }

    [Fact]
    public async Task The_owner_may_change_the_rules_when_all_members_are_about_to_stop()
    {
        var old = Make();
        var first = await RegisterAsync(old);
        await _directory.MarkHandingOverAsync("web", first.Epoch, CancellationToken.None);
        var younger = Make(_rules);
        Assert.Equal((RegistrationStatus.Registered, old), Short(await RegisterAsync(younger)));
        Assert.NotSame(old.Terms, younger.Terms);
        Assert.Equal([younger], _directory.Snapshot());
        Assert.Equal(1, _directory.Count);

        // The older one is gone from the directory, and its end touches nothing.
        await _directory.UnregisterAsync("web", first.Epoch, true, CancellationToken.None);
        Assert.Equal([younger], _directory.Snapshot());
    }

    [Fact]
    public async Task There_are_no_more_members_than_may_be_and_a_running_agent_replaces_its_own_session()
    {
        await RegisterAsync(Make());
        await RegisterAsync(Make());
        var third = Make();
        await RegisterAsync(third);
        var full = await RegisterAsync(Make());
        Assert.Equal(RegistrationStatus.PoolFull, full.Status);
        Assert.Contains("3 members", full.Reason, StringComparison.Ordinal);
        _instances--;
        _instances--;
        var again = Make();
        Assert.Equal((RegistrationStatus.Registered, third), Short(await RegisterAsync(again)));
        Assert.Equal(3, _directory.Count);
        Assert.Contains(again, _directory.Snapshot());
        Assert.DoesNotContain(third, _directory.Snapshot());
    }

    [Fact]
    public async Task A_member_that_said_goodbye_finishes_what_it_has_beside_its_successor()
    {
        await RegisterAsync(Make());
        var drained = Make();
        var epoch = (await RegisterAsync(drained)).Epoch;
        await _directory.MarkLeavingAsync("web", epoch, CancellationToken.None);
        _instances--;
        var back = Make();
        Assert.Equal((RegistrationStatus.Registered, null), Short(await RegisterAsync(back)));
        Assert.Equal((2, true), (_directory.Count, _directory.Snapshot().Contains(back)));
        await _directory.UnregisterAsync("web", epoch, true, CancellationToken.None);
        Assert.Equal((2, true), (_directory.Count, _directory.Snapshot().Contains(back)));
    }

    [Fact]
    public async Task All_members_have_one_kind_and_one_port()
    {
        await RegisterAsync(Make(SessionKind.Tcp, 20_001));
        Assert.Equal(RegistrationStatus.Registered, (await RegisterAsync(Make(SessionKind.Tcp, 20_001))).Status);
        var port = await RegisterAsync(Make(SessionKind.Tcp, 20_002));
        Assert.Equal(RegistrationStatus.PoolNotPossible, port.Status);
        Assert.Contains("another port", port.Reason, StringComparison.Ordinal);
        foreach (var other in new[] { Make(), Make(SessionKind.Udp, 20_001), Make(SessionKind.Tls) })
        {
            var kind = await RegisterAsync(other);
            Assert.Equal(RegistrationStatus.PoolNotPossible, kind.Status);
            Assert.Contains("another kind", kind.Reason, StringComparison.Ordinal);
        }

        Assert.Equal(2, _directory.Count);
    }

    [Fact]
    public async Task The_name_is_left_when_its_last_member_is()
    {
        var (first, second) = (Make(), Make());
        var (one, two) = ((await RegisterAsync(first)).Epoch, (await RegisterAsync(second)).Epoch);
        await _directory.MarkLeavingAsync("web", one, CancellationToken.None);
        Assert.Equal(NameState.Online, _directory.Find("web", out var found));
        Assert.Same(second, found);
        Assert.True(first.Member!.SaidGoodbye);
        await _directory.UnregisterAsync("web", one, true, CancellationToken.None);
        Assert.Equal([second], _directory.Snapshot());
        await _directory.MarkLeavingAsync("web", two, CancellationToken.None);
        Assert.Equal(NameState.Offline, _directory.Find("web", out _));
        Assert.Equal(AbsenceKind.SaidGoodbye, _directory.GetAbsence("web").Kind);

        // It comes back: a waiting request hears of it.
        var told = new List<EntrySession>();
        _directory.Registered += told.Add;
        await _directory.MarkHandingOverAsync("web", two, CancellationToken.None);
        Assert.Equal(NameState.Online, _directory.Find("web", out _));
        Assert.Equal([second], told);
        await _directory.UnregisterAsync("web", two, true, CancellationToken.None);
        Assert.Equal((NameState.Offline, 0), (_directory.Find("web", out _), _directory.Count));
        Assert.Equal(RegistrationStatus.NameTaken, (await RegisterAsync(Make(owner: "b"))).Status);
        Assert.Equal(RegistrationStatus.Registered, (await RegisterAsync(Make())).Status);
    }

    private static (RegistrationStatus Status, EntrySession? Superseded) Short(RegistrationResult result) =>
        (result.Status, result.Superseded);

    private EntrySession Make(SessionKind kind, int port = 0) => Sample.Member(
        new PoolMember(_time, TimeSpan.Zero, TimeSpan.Zero, isHealthy: true), ++_instances, kind: kind, port: port);

    private EntrySession Make(AccessRules? rules = null, string owner = "a") =>
        Sample.Member(new PoolMember(_time, TimeSpan.Zero, TimeSpan.Zero, isHealthy: true), ++_instances, owner, rules);

    private async Task<RegistrationResult> RegisterAsync(EntrySession session)
    {
        var result = await _directory.RegisterAsync(session, CancellationToken.None);
        session.Epoch = result.Epoch;
        return result;
    }
}
