using System.Collections.Frozen;
using System.Collections.Immutable;
using Tunnel2.Policies.Tables;

namespace Tunnel2.ProxyEntry.Agents;

/// <summary>The policies that the server keeps, by what they are for. Immutable, so safe for any number of threads.</summary>
internal sealed class KeptPolicyTable
{
    private readonly FrozenDictionary<PolicyTarget, KeptPolicy> _policies;
    private readonly FrozenDictionary<string, ImmutableArray<KeptPolicy>> _byWildcard;

    public KeptPolicyTable(IEnumerable<KeptPolicy> policies)
    {
        _policies = policies.ToFrozenDictionary(static one => one.Target);
        _byWildcard = _policies.Values
            .Where(static one => one.Target.Scope == PolicyScope.Name && DomainName.IsMeant(one.Target.Name)
                && !DomainName.IsWildcard(one.Target.Name))
            .GroupBy(static one => "*" + one.Target.Name[one.Target.Name.IndexOf('.', StringComparison.Ordinal)..])
            .ToFrozenDictionary(static group => group.Key, static group => group.ToImmutableArray());
    }

    /// <summary>None.</summary>
    public static KeptPolicyTable Empty { get; } = new([]);

    /// <summary>All of them.</summary>
    public ImmutableArray<KeptPolicy> All => _policies.Values;

    /// <summary>The policy of a target; null: there is none.</summary>
    public KeptPolicy? Find(PolicyTarget target) => _policies.GetValueOrDefault(target);

    /// <summary>Those for domains that a session serves by a wildcard; empty where its name is none.</summary>
    /// <param name="wildcard">The session's name (lower case).</param>
    public ImmutableArray<KeptPolicy> CoveredBy(string wildcard) => _byWildcard.GetValueOrDefault(wildcard, []);

    /// <summary>Adds those of a session: of its agent, of its token, of its name.</summary>
    /// <param name="grant">How the agent was admitted; null for an agent without a token.</param>
    /// <param name="name">The session's name (lower case).</param>
    /// <param name="found">Gets them.</param>
    public void AddTo(AgentGrant? grant, string name, ICollection<Policy> found)
    {
        if (_policies.Count == 0)
        {
            return;
        }

        if (grant is not null)
        {
            Add(new PolicyTarget(PolicyScope.Agent, grant.AgentId.ToLowerInvariant()));
            if (grant.TokenName is { } token)
            {
                Add(new PolicyTarget(PolicyScope.Token, token));
            }
        }

        Add(new PolicyTarget(PolicyScope.Name, name));

        void Add(PolicyTarget target)
        {
            if (Find(target) is { } kept)
            {
                found.Add(kept.Policy);
            }
        }
    }
}
