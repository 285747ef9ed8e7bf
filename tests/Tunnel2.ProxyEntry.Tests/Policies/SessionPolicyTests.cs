using System.Text;
using Tunnel2.Policies.Reading;
using Tunnel2.Policies.Tables;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Policies;

namespace Tunnel2.ProxyEntry.Tests.Policies;

public sealed class SessionPolicyTests
{
    private static readonly Policy _one = Read("/one");
    private static readonly Policy _two = Read("/two");
    private static readonly Policy _own = Read("/own");

    [Fact]
    public void There_is_none_without_a_table() => Assert.Null(SessionPolicy.Of([], null));

    [Fact]
    public void The_agents_table_is_the_last()
    {
        var policy = SessionPolicy.Of([_one, _two], _own)!;
        Assert.Equal([_one, _two, _own], policy.Tables.Select(static table => table.Policy));
        Assert.Equal(3, policy.Tables.Select(static table => table.Counters[0]).Distinct().Count());
    }

    [Fact]
    public void A_table_that_stays_keeps_its_number_and_one_that_is_new_gets_another()
    {
        var before = SessionPolicy.Of([_one], _own)!;
        var after = SessionPolicy.Of([_two, Read("/one")], _own, before)!;
        Assert.Same(before.Rates, after.Rates);
        Assert.Equal(
            before.Tables.Select(static table => table.Counters[0]), after.Tables.Skip(1).Select(static table => table.Counters[0]));
        Assert.DoesNotContain(after.Tables[0].Counters[0], before.Tables.Select(static table => table.Counters[0]));
    }

    [Fact]
    public void A_row_that_stays_in_a_table_that_changes_is_counted_as_before()
    {
        const string Slow = """{ "path": "/slow", "rate-limit": { "rate": "1/minute" } }""";
        const string All = """{ "rate-limit": { "rate": "9/minute" } }""";
        var before = SessionPolicy.Of([_one, Rows(Slow, All)], null, null, [Kept("a.example.org", Rows(All))])!;
        var changed = Rows("""{ "path": "/x", "deny": true }""", All, Slow.Replace("1/", "2/", StringComparison.Ordinal), Slow);
        var after = SessionPolicy.Of([changed, _one], null, before, [Kept("a.example.org", Rows(Slow, All))])!;
        var (was, now) = (before.Tables[1].Counters, after.Tables[0].Counters);
        Assert.Equal((was[1], was[0]), (now[1], now[3]));
        Assert.DoesNotContain(now[0], was);
        Assert.DoesNotContain(now[2], was);
        Assert.Equal(4, now.Distinct().Count());
        Assert.Equal(before.Tables[0], after.Tables[1]);
        Assert.Equal(before.TablesOf("a.example.org")[2].Counters[0], after.TablesOf("a.example.org")[2].Counters[1]);
    }

    [Fact]
    public void Two_tables_with_the_same_rows_are_counted_apart()
    {
        var twice = SessionPolicy.Of([_one, _one], null, SessionPolicy.Of([_one], null))!;
        Assert.NotEqual(twice.Tables[0].Counters[0], twice.Tables[1].Counters[0]);
    }

    [Fact]
    public void Policies_are_the_same_by_their_rows_and_by_who_has_them()
    {
        var policy = SessionPolicy.Of([_one], _two)!;
        Assert.True(policy.IsSameAs([Read("/one")], Read("/two")));
        Assert.True(policy.IsSameAs(SessionPolicy.Of([_one], _two)!));
        Assert.False(policy.IsSameAs([_one, _two], null));
        Assert.False(policy.IsSameAs([_two], _one));
        Assert.False(policy.IsSameAs([], _two));
        Assert.False(policy.IsSameAs([_one], null));
        Assert.False(policy.IsSameAs(SessionPolicy.Of([_one, _two], null)!));
    }

    [Fact]
    public void A_domain_of_a_wildcard_has_its_table_beside_the_others_which_are_counted_once()
    {
        var a = Kept("a.example.org", _two);
        var policy = SessionPolicy.Of([_one], _own, null, [a])!;
        Assert.True(policy.HasDomains);
        Assert.Equal([_one, _own], policy.Tables.Select(static table => table.Policy));
        Assert.Equal(policy.Tables, policy.TablesOf("b.example.org"));
        var tables = policy.TablesOf("a.example.org");
        Assert.Equal([_one, _two, _own], tables.Select(static table => table.Policy));
        Assert.Equal(policy.Tables, tables.RemoveAt(1));

        var after = SessionPolicy.Of([_one], _own, policy, [a with { Policy = Read("/two") }, Kept("b.example.org", _one)])!;
        Assert.Equal(
            tables.Select(static table => table.Counters[0]), after.TablesOf("a.example.org").Select(static table => table.Counters[0]));
        Assert.DoesNotContain(after.TablesOf("b.example.org")[1].Counters[0], tables.Select(static table => table.Counters[0]));
    }

    [Fact]
    public void A_wildcard_can_have_policies_of_domains_alone()
    {
        var policy = SessionPolicy.Of([], null, null, [Kept("a.example.org", _one)])!;
        Assert.Empty(policy.Tables);
        Assert.Empty(policy.TablesOf("b.example.org"));
        Assert.Equal(_one, Assert.Single(policy.TablesOf("a.example.org")).Policy);
        Assert.True(policy.IsSameAs([], null, [Kept("a.example.org", Read("/one"))]));
        Assert.False(policy.IsSameAs([], null));
        Assert.False(policy.IsSameAs([], null, [Kept("b.example.org", _one)]));
        Assert.False(policy.IsSameAs([], null, [Kept("a.example.org", _two)]));
        Assert.False(policy.IsSameAs(SessionPolicy.Of([], null, null, [Kept("a.example.org", _two)])!));
        Assert.True(policy.IsSameAs(SessionPolicy.Of([], null, null, [Kept("a.example.org", _one)])!));
    }

    private static KeptPolicy Kept(string name, Policy policy) =>
        new(new PolicyTarget(PolicyScope.Name, name), policy, DateTimeOffset.UnixEpoch);

    private static Policy Rows(params string[] rows) =>
        PolicyReader.Read(Encoding.UTF8.GetBytes($"[ {string.Join(", ", rows)} ]")).Policy!;

    private static Policy Read(string path) =>
        PolicyReader.Read(Encoding.UTF8.GetBytes($$"""[ { "path": "{{path}}", "deny": true } ]""")).Policy!;
}
