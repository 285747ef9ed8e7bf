using System.Collections.Frozen;
using System.Collections.Immutable;
using Tunnel2.Policies.Tables;
using Tunnel2.ProxyEntry.Agents;

namespace Tunnel2.ProxyEntry.Policies;

/// <summary>By what the rate of a row is counted: where the row was when it was new to the session.</summary>
/// <param name="Table">The number of its table among those that the session has had.</param>
/// <param name="Row">The row's number there.</param>
internal readonly record struct RowCounter(int Table, int Row);

/// <summary>A table of a session. Immutable.</summary>
/// <param name="Policy">The table.</param>
/// <param name="Counters">By what the rates of its rows are counted, one for each row.</param>
internal readonly record struct SessionTable(Policy Policy, ImmutableArray<RowCounter> Counters);

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
    /// <param name="before">What the session had: rows that stay keep what is left of their rates.</param>
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
        var policies = own is null ? forced : forced.Add(own);
        var tables = new SessionTable[policies.Length];
        var isNew = new bool[policies.Length];
        for (var i = 0; i < tables.Length; i++)
        {
            var kept = old.FindIndex(table => table.Policy.IsSameAs(policies[i]));
            isNew[i] = kept < 0;
            if (kept >= 0)
            {
                tables[i] = old[kept];
                old.RemoveAt(kept);
            }
        }

        // Only when it is known which tables stay: the rows of the others may be those of tables that were changed.
        var rows = old.SelectMany(static table => RowsOf(table)).ToList();
        for (var i = 0; i < tables.Length; i++)
        {
            tables[i] = isNew[i] ? Make(policies[i], rows, rates) : tables[i];
        }

        // A domain's table is the last of the server's, as that of a session's own name is. The others are the same for all domains, so
        // that what they limit is limited once.
        ImmutableArray<SessionTable> all = [.. tables];
        return new SessionPolicy(
            all,
            forced.Length,
            covered,
            covered.ToFrozenDictionary(
                static one => one.Target.Name,
                one => all.Insert(
                    forced.Length,
                    before?.Find(one.Target.Name) is not { } was ? Make(one.Policy, [], rates)
                        : was.Policy.IsSameAs(one.Policy) ? was
                        : Make(one.Policy, [.. RowsOf(was)], rates))),
            rates);
    }

    /// <summary>Makes a table. A row that was there before, in the same words, is counted as it was.</summary>
    /// <param name="policy">The policy.</param>
    /// <param name="rows">The rows that were there and are not taken yet.</param>
    /// <param name="rates">What is left of the limits.</param>
    private static SessionTable Make(Policy policy, List<(RowCounter Counter, ReadOnlyMemory<byte> Text)> rows, PolicyRates rates)
    {
        var texts = policy.ReadRowTexts();
        var counters = new RowCounter[policy.Rows.Length];
        var number = rates.NextTable();
        for (var i = 0; i < counters.Length; i++)
        {
            var kept = policy.Rows[i].Rate is null ? -1 : rows.FindIndex(row => row.Text.Span.SequenceEqual(texts[i].Span));
            counters[i] = kept < 0 ? new RowCounter(number, policy.Rows[i].Number) : rows[kept].Counter;
            if (kept >= 0)
            {
                rows.RemoveAt(kept);
            }
        }

        return new SessionTable(policy, [.. counters]);
    }

    private static IEnumerable<(RowCounter Counter, ReadOnlyMemory<byte> Text)> RowsOf(SessionTable table) =>
        table.Counters.Zip(table.Policy.ReadRowTexts());

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
        _covered.Length == covered.Length
        && covered.All(one => Find(one.Target.Name) is { } table && table.Policy.IsSameAs(one.Policy));

    /// <summary>The table of a domain's own policy; null where it has none.</summary>
    private SessionTable? Find(string domain) => _byDomain.TryGetValue(domain, out var tables) ? tables[_forced] : null;
}
