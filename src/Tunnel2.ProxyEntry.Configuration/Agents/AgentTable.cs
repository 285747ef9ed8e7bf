using System.Collections.Frozen;
using System.Security.Cryptography;

namespace Tunnel2.ProxyEntry.Agents;

/// <summary>All configured agents, and the names that each may claim. Immutable, so safe for any number of threads.</summary>
internal sealed class AgentTable
{
    private readonly AgentSettings[] _agents;
    private readonly TierTable _tiers;
    private readonly FrozenDictionary<string, AgentSettings> _byId;
    private readonly FrozenSet<string> _literalNames;
    private readonly FrozenSet<string>.AlternateLookup<ReadOnlySpan<char>> _literalNamesBySpan;

    /// <param name="agents">The agents.</param>
    /// <param name="tiers">The tiers that they name; null: the built-in ones.</param>
    public AgentTable(IEnumerable<AgentSettings> agents, TierTable? tiers = null)
    {
        _tiers = tiers ?? TierTable.BuiltIn;
        _agents = [.. agents];
        _byId = _agents.ToFrozenDictionary(agent => agent.Id, StringComparer.OrdinalIgnoreCase);
        _literalNames = _agents
            .SelectMany(agent => agent.Names)
            .Where(pattern => pattern.IsLiteral)
            .Select(pattern => pattern.ToString())
            .ToFrozenSet(StringComparer.Ordinal);
        _literalNamesBySpan = _literalNames.GetAlternateLookup<ReadOnlySpan<char>>();
    }

    /// <summary>How many agents are configured.</summary>
    public int Count => _agents.Length;

    /// <summary>The agent with an id (in any case), or null.</summary>
    public AgentSettings? Find(string id) => _byId.GetValueOrDefault(id);

    /// <summary>
    /// The agent with this token (UTF-8), or null. It compares with every agent, so its time does not depend on the token.
    /// </summary>
    public AgentSettings? FindByToken(ReadOnlySpan<byte> token)
    {
        Span<byte> hash = stackalloc byte[SHA256.HashSizeInBytes];
        SHA256.HashData(token, hash);
        AgentSettings? found = null;
        foreach (var agent in _agents)
        {
            if (agent.TokenHash is { } expected && expected.MatchesHash(hash))
            {
                found = agent;
            }
        }

        return found;
    }

    /// <summary>The agent with this certificate, or null.</summary>
    public AgentSettings? FindByCertificate(AgentCertificate certificate) => Array.Find(_agents, agent => agent.Accepts(certificate));

    /// <summary>Whether an agent may use a certificate instead of a token.</summary>
    public bool UsesCertificates =>
        Array.Exists(_agents, agent => agent.CertificateFingerprint is not null || agent.CertificateName is not null);

    /// <summary>Whether a grant is still valid: its agent exists, has the same token or certificate, and may claim the name.</summary>
    /// <param name="grant">How the agent was admitted; null for an agent without a token.</param>
    /// <param name="name">The name it serves (lower case).</param>
    public bool StillGrants(AgentGrant? grant, string name)
    {
        if (grant is null)
        {
            return MayClaim(null, name);
        }

        return Find(grant.AgentId) is { } agent
            && (grant.Token is not { } token || (agent.TokenHash is { } expected && expected.IsSameAs(token)))
            && (grant.Certificate is not { } certificate || agent.Accepts(certificate))
            && MayClaim(agent, name);
    }

    /// <summary>The limits of an agent with this grant; null for no limit, as for an agent without a token.</summary>
    public RateTier? TierOf(AgentGrant? grant) => grant is null ? null : _tiers.Find(Find(grant.AgentId)?.Tier);

    /// <summary>
    /// Whether an agent's list has this name (lower case) written out: such a name is known even if its agent never connected.
    /// </summary>
    public bool IsConfiguredName(ReadOnlySpan<char> name) => _literalNamesBySpan.Contains(name);

    /// <summary>
    /// Whether an agent may claim a name (lower case); null is an agent without a token. If the agent lists names, the name must be among
    /// them. No other agent may list it more specifically (<see cref="NamePattern.Specificity"/>). If two list it equally specifically,
    /// either may claim it.
    /// </summary>
    public bool MayClaim(AgentSettings? agent, ReadOnlySpan<char> name)
    {
        var own = agent is null || agent.Names.IsEmpty ? 0 : Specificity(agent, name);
        if (own < 0)
        {
            return false;
        }

        foreach (var other in _agents)
        {
            if (other != agent && Specificity(other, name) > own)
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>How specifically an agent lists a name; -1 if it does not list it.</summary>
    private static int Specificity(AgentSettings agent, ReadOnlySpan<char> name)
    {
        var most = -1;
        foreach (var pattern in agent.Names)
        {
            if (pattern.Specificity > most && pattern.Matches(name))
            {
                most = pattern.Specificity;
            }
        }

        return most;
    }
}
