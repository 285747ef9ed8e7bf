using System.Collections.Frozen;
using System.Collections.Immutable;
using Tunnel2.Policies.Tables;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Policies;

/// <summary>A table of a session. Immutable.</summary>
/// <param name="Policy">The table.</param>
/// <param name="Number">Its number among those that the session has had: its rates are counted by it.</param>
internal readonly record struct SessionTable(Policy Policy, int Number);

/// <summary>
/// The policies of a session: the server's, and its agent's. A request walks through all of them, so the stricter one wins. A session of a
/// wildcard also has those that the server keeps for single domains below it. Thread-safe.
/// </summary>
internal sealed class SessionPolicy
{
    private readonly int _forced;
    private readonly ImmutableArray<KeptPolicy> _covered;
    private readonly FrozenDictionary<string, ImmutableArray<SessionTable>>.AlternateLookup<ReadOnlySpan<char>> _byDomain;

    private SessionPolicy(
        ImmutableArray<SessionTable> tables,
        int forced,
        ImmutableArray<KeptPolicy> covered,
        FrozenDictionary<string, ImmutableArray<SessionTable>> byDomain,
        PolicyRates rates)
    {
        Tables = tables;
        _forced = forced;
        _covered = covered;
        _byDomain = byDomain.GetAlternateLookup<ReadOnlySpan<char>>();
        Rates = rates;
    }

    /// <summary>
    /// In the order of the walk: the server's first, the agent's last. At least one, except where only single domains have some.
    /// </summary>
    public ImmutableArray<SessionTable> Tables { get; }

    /// <summary>Whether single domains have a further table, so that <see cref="TablesOf"/> has to be asked.</summary>
    public bool HasDomains => !_covered.IsEmpty;

    /// <summary>What is left of the limits.</summary>
    public PolicyRates Rates { get; }

    /// <summary>The tables for requests to a domain (lower case). Allocates nothing.</summary>
    public ImmutableArray<SessionTable> TablesOf(ReadOnlySpan<char> domain) =>
        _byDomain.TryGetValue(domain, out var tables) ? tables : Tables;

    /// <summary>Makes the policies of a session.</summary>
    /// <param name="forced">The server's.</param>
    /// <param name="own">The agent's; null: it has none.</param>
    /// <param name="before">What the session had: tables that stay keep what is left of their rates.</param>
    /// <param name="covered">The server's for single domains that the session serves by a wildcard; default: there are none.</param>
    /// <returns>Null where there is none.</returns>
    public static SessionPolicy? Of(
        ImmutableArray<Policy> forced, Policy? own, SessionPolicy? before = null, ImmutableArray<KeptPolicy> covered = default)
    {
        covered = covered.IsDefault ? [] : covered;
        if (forced.IsEmpty && own is null && covered.IsEmpty)
        {
            return null;
        }

        var rates = before?.Rates ?? new PolicyRates();
        var old = before?.Tables.ToList() ?? [];
        var tables = ImmutableArray.CreateBuilder<SessionTable>(forced.Length + 1);
        foreach (var policy in own is null ? forced : forced.Add(own))
        {
            var kept = old.FindIndex(table => table.Policy.IsSameAs(policy));
            tables.Add(kept < 0 ? new SessionTable(policy, rates.NextTable()) : old[kept]);
            if (kept >= 0)
            {
                old.RemoveAt(kept);
            }
        }

        // A domain's table is the last of the server's, as that of a session's own name is. The others are the same for all domains, so
        // that what they limit is limited once.
        var all = tables.ToImmutable();
        return new SessionPolicy(
            all,
            forced.Length,
            covered,
            covered.ToFrozenDictionary(
                static one => one.Target.Name,
                one => all.Insert(forced.Length, before?.Find(one) ?? new SessionTable(one.Policy, rates.NextTable()))),
            rates);
    }

    /// <summary>Whether the policies are these.</summary>
    public bool IsSameAs(ImmutableArray<Policy> forced, Policy? own, ImmutableArray<KeptPolicy> covered = default) =>
        _forced == forced.Length
        && Tables.Length == forced.Length + (own is null ? 0 : 1)
        && Tables.Select(static table => table.Policy).Zip(own is null ? forced : forced.Add(own)).All(
            static pair => pair.First.IsSameAs(pair.Second))
        && HasSame(covered.IsDefault ? [] : covered);

    /// <summary>Whether both are the same policies.</summary>
    public bool IsSameAs(SessionPolicy other) => _forced == other._forced && Tables.Length == other.Tables.Length
        && Tables.Zip(other.Tables).All(static pair => pair.First.Policy.IsSameAs(pair.Second.Policy))
        && HasSame(other._covered);

    private bool HasSame(ImmutableArray<KeptPolicy> covered) =>
        _covered.Length == covered.Length && covered.All(one => Find(one) is not null);

    /// <summary>The table of a domain's policy; null where the domain has none or another one.</summary>
    private SessionTable? Find(KeptPolicy one) =>
        _byDomain.TryGetValue(one.Target.Name, out var tables) && tables[_forced].Policy.IsSameAs(one.Policy) ? tables[_forced] : null;
}
