using System.Collections.Frozen;
using System.Collections.Immutable;
using Tunnel2.Policies.Tables;

namespace Tunnel2.ProxyEntry.Agents;

/// <summary>The policies that the server keeps, by what they are for. Immutable, so safe for any number of threads.</summary>
internal sealed class KeptPolicyTable
{
    private readonly FrozenDictionary<PolicyTarget, KeptPolicy> _policies;

    public KeptPolicyTable(IEnumerable<KeptPolicy> policies) => _policies = policies.ToFrozenDictionary(static one => one.Target);

    /// <summary>None.</summary>
    public static KeptPolicyTable Empty { get; } = new([]);

    /// <summary>All of them.</summary>
    public ImmutableArray<KeptPolicy> All => _policies.Values;

    /// <summary>The policy of a target; null: there is none.</summary>
    public KeptPolicy? Find(PolicyTarget target) => _policies.GetValueOrDefault(target);

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
