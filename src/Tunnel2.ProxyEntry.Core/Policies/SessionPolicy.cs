using System.Collections.Immutable;
using Tunnel2.Policies.Tables;

namespace Tunnel2.ProxyEntry.Policies;

/// <summary>A table of a session. Immutable.</summary>
/// <param name="Policy">The table.</param>
/// <param name="Number">Its number among those that the session has had: its rates are counted by it.</param>
internal readonly record struct SessionTable(Policy Policy, int Number);

/// <summary>
/// The policies of a session: the server's, and its agent's. A request walks through all of them, so the stricter one wins. Thread-safe.
/// </summary>
internal sealed class SessionPolicy
{
    private readonly int _forced;

    private SessionPolicy(ImmutableArray<SessionTable> tables, int forced, PolicyRates rates)
    {
        Tables = tables;
        _forced = forced;
        Rates = rates;
    }

    /// <summary>In the order of the walk: the server's first, the agent's last. At least one.</summary>
    public ImmutableArray<SessionTable> Tables { get; }

    /// <summary>What is left of the limits.</summary>
    public PolicyRates Rates { get; }

    /// <summary>Makes the policies of a session.</summary>
    /// <param name="forced">The server's.</param>
    /// <param name="own">The agent's; null: it has none.</param>
    /// <param name="before">What the session had: tables that stay keep what is left of their rates.</param>
    /// <returns>Null where there is none.</returns>
    public static SessionPolicy? Of(ImmutableArray<Policy> forced, Policy? own, SessionPolicy? before = null)
    {
        if (forced.IsEmpty && own is null)
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

        return new SessionPolicy(tables.ToImmutable(), forced.Length, rates);
    }

    /// <summary>Whether the policies are these.</summary>
    public bool IsSameAs(ImmutableArray<Policy> forced, Policy? own) =>
        _forced == forced.Length
        && Tables.Length == forced.Length + (own is null ? 0 : 1)
        && Tables.Select(static table => table.Policy).Zip(own is null ? forced : forced.Add(own)).All(
            static pair => pair.First.IsSameAs(pair.Second));

    /// <summary>Whether both are the same policies.</summary>
    public bool IsSameAs(SessionPolicy other) => _forced == other._forced && Tables.Length == other.Tables.Length
        && Tables.Zip(other.Tables).All(static pair => pair.First.Policy.IsSameAs(pair.Second.Policy));
}
