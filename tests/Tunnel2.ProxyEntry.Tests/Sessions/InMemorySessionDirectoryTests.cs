using System.Text;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Sessions;

public sealed class InMemorySessionDirectoryTests
{
    private static readonly TimeSpan _kept = TimeSpan.FromSeconds(5);

    private readonly ManualTimeProvider _time = new();
    private readonly InMemorySessionDirectory _directory;

    public InMemorySessionDirectoryTests() => _directory = new InMemorySessionDirectory(_time, _kept);

    [Fact]
    public async Task A_registered_name_leads_to_its_session_and_no_other()
    {
        var session = Sample.Session("web");
        var result = await RegisterAsync(session);
        Assert.Equal((RegistrationStatus.Registered, 1L, null), (result.Status, result.Epoch, result.Superseded));
        Assert.Equal(NameState.Online, _directory.Find("web", out var found));
        Assert.Same(session, found);
        Assert.Equal(NameState.Unknown, _directory.Find("we", out found));
        Assert.Null(found);
        Assert.Equal(1, _directory.Count);
        Assert.Same(session, Assert.Single(_directory.Snapshot()));
    }

    [Fact]
    public async Task The_same_identity_takes_its_name_over_with_a_higher_epoch()
    {
        var (older, younger) = (Sample.Session("web"), Sample.Session("web"));
        var first = await RegisterAsync(older);
        var second = await RegisterAsync(younger);
        Assert.Same(older, second.Superseded);
        Assert.True(second.Epoch > first.Epoch);
        Assert.Equal(1, _directory.Count);

        // What the older session does when it ends must not touch the younger one.
        await _directory.UnregisterAsync("web", first.Epoch, true, CancellationToken.None);
        Assert.Equal(NameState.Online, _directory.Find("web", out var found));
        Assert.Same(younger, found);
        Assert.Equal(1, _directory.Count);
    }

    [Fact]
    public async Task Another_identity_is_refused_as_long_as_the_name_is_held_and_no_longer()
    {
        var first = await RegisterAsync(Sample.Session("web", "a"));
        var other = Sample.Session("web", "b");
        Assert.Equal(RegistrationStatus.NameTaken, (await RegisterAsync(other)).Status);
        Assert.Equal(1, _directory.Count);
        await _directory.UnregisterAsync("web", first.Epoch, isKept: false, CancellationToken.None);
        var again = await RegisterAsync(other);
        Assert.Equal((RegistrationStatus.Registered, null), (again.Status, again.Superseded));
        Assert.True(again.Epoch > first.Epoch);
    }

    [Fact]
    public async Task A_session_whose_agent_said_goodbye_gets_nothing_new_and_its_name_is_free_after_a_while()
    {
        var leaver = Sample.Session("web", "a");
        var first = await RegisterAsync(leaver);
        _time.Advance(TimeSpan.FromSeconds(7));
        await _directory.MarkLeavingAsync("web", first.Epoch, CancellationToken.None);
        Assert.Equal(NameState.Offline, _directory.Find("web", out var found));
        Assert.Null(found);
        Assert.Equal(new NameAbsence(AbsenceKind.SaidGoodbye, _time.GetTimestamp(), leaver.Owner), _directory.GetAbsence("web"));
        Assert.Same(leaver, Assert.Single(_directory.Snapshot()));

        // The successor does not supersede it: it finishes what it has, and its end touches no other.
        var successor = Sample.Session("web", "b");
        Assert.Equal(
            (RegistrationStatus.NameTaken, _kept), ((await RegisterAsync(successor)).Status, (await RegisterAsync(successor)).FreeIn));
        _time.Advance(_kept);
        var second = await RegisterAsync(successor);
        Assert.Equal((RegistrationStatus.Registered, null), (second.Status, second.Superseded));
        await _directory.MarkLeavingAsync("web", first.Epoch, CancellationToken.None);
        await _directory.UnregisterAsync("web", first.Epoch, true, CancellationToken.None);
        Assert.Equal(NameState.Online, _directory.Find("web", out found));
        Assert.Same(successor, found);
        Assert.Equal(1, _directory.Count);
    }

    [Fact]
    public async Task A_session_that_hands_over_is_served_and_gives_way_to_its_owner_alone()
    {
        var owner = AgentIdentity.OfOwner(new byte[32]);
        var leaver = Sample.Session("web", AgentIdentity.OfToken("a"), owner);
        var first = await RegisterAsync(leaver);
        await _directory.MarkHandingOverAsync("web", first.Epoch, CancellationToken.None);
        Assert.Equal(NameState.Online, _directory.Find("web", out var found));
        Assert.Same(leaver, found);

        // A goodbye takes it out, and may be taken back: a waiting request hears of it.
        var told = new List<EntrySession>();
        _directory.Registered += told.Add;
        await _directory.MarkLeavingAsync("web", first.Epoch, CancellationToken.None);
        Assert.Equal(NameState.Offline, _directory.Find("web", out _));
        await _directory.MarkHandingOverAsync("web", first.Epoch, CancellationToken.None);
        Assert.Equal(NameState.Online, _directory.Find("web", out _));
        Assert.Equal([leaver], told);
        Assert.Equal(RegistrationStatus.NameTaken, (await RegisterAsync(Sample.Session("web", "stranger"))).Status);

        var second = await RegisterAsync(Sample.Session("web", AgentIdentity.OfToken("b"), owner));
        Assert.Equal((RegistrationStatus.Registered, leaver), (second.Status, second.Superseded));

        // The successor does not hand over; nor does the word of a session that is gone touch it.
        await _directory.MarkHandingOverAsync("web", first.Epoch, CancellationToken.None);
        Assert.Equal(RegistrationStatus.NameTaken, (await RegisterAsync(Sample.Session("web", "c"))).Status);
        Assert.Equal(1, _directory.Count);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_name_is_kept_for_its_owner_for_a_while_and_is_then_free_for_any_agent(bool saysGoodbye)
    {
        var first = await RegisterAsync(Sample.Session("web", "a"));
        if (saysGoodbye)
        {
            await _directory.MarkLeavingAsync("web", first.Epoch, CancellationToken.None);
        }

        await _directory.UnregisterAsync("web", first.Epoch, true, CancellationToken.None);
        _time.Advance(TimeSpan.FromSeconds(4));
        var refused = await RegisterAsync(Sample.Session("web", "b"));
        Assert.Equal((RegistrationStatus.NameTaken, TimeSpan.FromSeconds(1)), (refused.Status, refused.FreeIn));

        // The owner comes back, leaves again, and the time begins anew.
        var second = await RegisterAsync(Sample.Session("web", "a"));
        Assert.Equal(RegistrationStatus.Registered, second.Status);
        await _directory.UnregisterAsync("web", second.Epoch, true, CancellationToken.None);
        _time.Advance(TimeSpan.FromSeconds(4));
        Assert.Equal(RegistrationStatus.NameTaken, (await RegisterAsync(Sample.Session("web", "b"))).Status);
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(RegistrationStatus.Registered, (await RegisterAsync(Sample.Session("web", "b"))).Status);
        Assert.Equal(1, _directory.Count);
    }

    [Fact]
    public async Task Agents_without_a_token_are_one_owner_where_they_show_the_same_key()
    {
        var first = await RegisterAsync(Anonymous("1", "key"));
        Assert.Equal(RegistrationStatus.NameTaken, (await RegisterAsync(Anonymous("2", "key"))).Status);
        await _directory.UnregisterAsync("web", first.Epoch, true, CancellationToken.None);
        Assert.Equal(RegistrationStatus.NameTaken, (await RegisterAsync(Anonymous("3", "other"))).Status);
        Assert.Equal(RegistrationStatus.Registered, (await RegisterAsync(Anonymous("2", "key"))).Status);

        static EntrySession Anonymous(string instance, string key) => Sample.Session(
            "web", AgentIdentity.OfInstance(Encoding.ASCII.GetBytes(instance)), AgentIdentity.OfOwner(Encoding.ASCII.GetBytes(key)));
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Why_a_name_is_absent_is_kept_with_the_time_of_its_last_word(bool saysGoodbye)
    {
        var registration = await RegisterAsync(Sample.Session("web"));
        var goodbye = _time.GetTimestamp();
        if (saysGoodbye)
        {
            await _directory.MarkLeavingAsync("web", registration.Epoch, CancellationToken.None);
        }

        _time.Advance(TimeSpan.FromSeconds(20));
        await _directory.UnregisterAsync("web", registration.Epoch, true, CancellationToken.None);
        var expected = saysGoodbye
            ? new NameAbsence(AbsenceKind.SaidGoodbye, goodbye, AgentIdentity.OfToken("a"))
            : new NameAbsence(AbsenceKind.Lost, _time.GetTimestamp(), AgentIdentity.OfToken("a"));
        _time.Advance(TimeSpan.FromSeconds(3));
        Assert.Equal(expected, _directory.GetAbsence("web"));
        Assert.Equal(default, _directory.GetAbsence("api"));
    }

    [Fact]
    public async Task A_listener_hears_of_a_registration_when_it_can_be_found()
    {
        var heard = new List<string>();
        _directory.Registered += session =>
        {
            Assert.Equal(NameState.Online, _directory.Find(session.Name, out _));
            heard.Add(session.Name);
        };
        await RegisterAsync(Sample.Session("web", "a"));
        await RegisterAsync(Sample.Session("api", "a"));
        await RegisterAsync(Sample.Session("web", "b"));
        Assert.Equal(["web", "api"], heard);
    }

    [Fact]
    public async Task A_name_is_known_for_a_day_after_its_session_and_then_forgotten()
    {
        var registration = await RegisterAsync(Sample.Session("web"));
        await _directory.UnregisterAsync("web", registration.Epoch, true, CancellationToken.None);
        Assert.Equal(0, _directory.Count);
        Assert.Empty(_directory.Snapshot());
        Assert.Equal(NameState.Offline, _directory.Find("web", out _));
        _time.Advance(InMemorySessionDirectory.Memory - TimeSpan.FromSeconds(1));
        Assert.Equal(NameState.Offline, _directory.Find("web", out _));
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(NameState.Unknown, _directory.Find("web", out _));
    }

    [Fact]
    public async Task Leaving_twice_counts_once()
    {
        var registration = await RegisterAsync(Sample.Session("web"));
        await RegisterAsync(Sample.Session("other"));
        await _directory.UnregisterAsync("web", registration.Epoch, true, CancellationToken.None);
        await _directory.UnregisterAsync("web", registration.Epoch, true, CancellationToken.None);
        await _directory.UnregisterAsync("nobody", 1, true, CancellationToken.None);
        Assert.Equal(1, _directory.Count);
    }

    [Fact]
    public async Task No_more_names_than_the_limit_are_remembered()
    {
        for (var i = 0; i <= InMemorySessionDirectory.MaxRemembered; i++)
        {
            var registration = await RegisterAsync(Sample.Session($"n{i}"));
            await _directory.UnregisterAsync($"n{i}", registration.Epoch, true, CancellationToken.None);
        }

        Assert.Equal(NameState.Unknown, _directory.Find("n0", out _));
        Assert.Equal(NameState.Offline, _directory.Find("n1", out _));
        Assert.Equal(NameState.Offline, _directory.Find($"n{InMemorySessionDirectory.MaxRemembered}", out _));
    }

    [Fact]
    public async Task A_name_that_came_back_is_not_forgotten_with_its_past()
    {
        var first = await RegisterAsync(Sample.Session("web"));
        await _directory.UnregisterAsync("web", first.Epoch, true, CancellationToken.None);
        await RegisterAsync(Sample.Session("web"));
        _time.Advance(InMemorySessionDirectory.Memory + TimeSpan.FromSeconds(1));
        var other = await RegisterAsync(Sample.Session("other"));
        await _directory.UnregisterAsync("other", other.Epoch, true, CancellationToken.None);
        Assert.Equal(NameState.Online, _directory.Find("web", out _));
    }

    [Fact]
    public void Who_an_agent_is_never_shows_a_secret()
    {
        byte[] key = [.. "0123456789abcdef"u8];
        Assert.Equal("anonymous", AgentIdentity.OfInstance(key).ToString());
        Assert.DoesNotContain("0123456789abcdef", AgentIdentity.OfInstance(key).Value, StringComparison.Ordinal);
        Assert.Equal("shop", AgentIdentity.OfToken("shop").ToString());
        Assert.Equal(AgentIdentity.OfInstance(key), AgentIdentity.OfInstance([.. key]));
        Assert.NotEqual(AgentIdentity.OfInstance(key), AgentIdentity.OfToken("anonymous"));
        Assert.NotEqual(AgentIdentity.OfToken("a"), AgentIdentity.OfToken("b"));
    }

    private Task<RegistrationResult> RegisterAsync(EntrySession session) =>
        _directory.RegisterAsync(session, CancellationToken.None).AsTask();
}
