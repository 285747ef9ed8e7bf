using System.Collections.Frozen;
using System.Collections.Immutable;
using System.Security.Cryptography;
using Tunnel2.Policies.Tables;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.ProxyEntry.Agents;

/// <summary>
/// All agents with a token or a certificate, and the names that each may claim. Immutable, so safe for any number of threads.
/// </summary>
internal sealed class AgentTable
{
    private readonly AgentSettings[] _configured;
    private readonly AgentSettings[] _agents;
    private readonly TierTable _tiers;
    private readonly FrozenDictionary<string, AgentSettings> _byId;
    private readonly FrozenDictionary<string, AgentSettings> _byToken;
    private readonly FrozenSet<string> _literalNames;
    private readonly FrozenSet<string>.AlternateLookup<ReadOnlySpan<char>> _literalNamesBySpan;

    /// <param name="agents">The agents.</param>
    /// <param name="tiers">The tiers that they name; null: the built-in ones.</param>
    public AgentTable(IEnumerable<AgentSettings> agents, TierTable? tiers = null)
        : this([.. agents], [], tiers ?? TierTable.BuiltIn)
    {
    }

    private AgentTable(AgentSettings[] configured, AgentSettings[] issued, TierTable tiers)
    {
        _tiers = tiers;
        _configured = configured;
        _agents = [.. configured, .. issued];
        _byId = configured.ToFrozenDictionary(agent => agent.Id, StringComparer.OrdinalIgnoreCase);
        _byToken = issued.ToFrozenDictionary(agent => agent.TokenName!, StringComparer.Ordinal);
        _literalNames = _agents
            .Where(agent => !agent.IsExpired)
            .SelectMany(agent => agent.Names)
            .Where(pattern => pattern.IsLiteral)
            .Select(pattern => pattern.ToString())
            .ToFrozenSet(StringComparer.Ordinal);
        _literalNamesBySpan = _literalNames.GetAlternateLookup<ReadOnlySpan<char>>();
    }

    /// <summary>The issuers that agents may name for their visitors' tokens; empty: none.</summary>
    public ImmutableArray<TokenIssuer> Issuers { get; init; } = [];

    /// <summary>The gates where visitors can sign in.</summary>
    public ImmutableArray<string> Gates { get; init; } = [];

    /// <summary>The policies that the server keeps, beside those of the settings.</summary>
    public KeptPolicyTable Kept { get; private init; } = KeptPolicyTable.Empty;

    /// <summary>The issuer that an agent named; null when agents may not name it.</summary>
    public TokenIssuer? FindIssuer(string name) =>
        Issuers.FirstOrDefault(issuer => string.Equals(issuer.Name, name, StringComparison.Ordinal));

    /// <summary>How many agents there are.</summary>
    public int Count => _agents.Length;

    /// <summary>All of them.</summary>
    public IReadOnlyList<AgentSettings> All => _agents;

    /// <summary>The names of all tiers.</summary>
    public IEnumerable<string> TierNames => _tiers.Names;

    /// <summary>Whether there is a tier of this name.</summary>
    public bool HasTier(string name) => _tiers.Contains(name);

    /// <summary>
    /// The same agents of the settings, with other tokens that the server keeps. Such a token may be a further one of an agent of the
    /// settings: then the rules for that agent's visitors and its number of sessions hold, and its tier where the token has none.
    /// </summary>
    public AgentTable With(IReadOnlyList<AgentSettings> issued) => With(issued, Kept);

    /// <summary>The same with other policies that the server keeps, too.</summary>
    public AgentTable With(IReadOnlyList<AgentSettings> issued, KeptPolicyTable kept) =>
        issued.Count == 0 && _byToken.Count == 0 && kept == Kept
            ? this
            : new AgentTable(_configured, [.. issued.Select(Complete)], _tiers) { Issuers = Issuers, Gates = Gates, Kept = kept };

    /// <summary>The agent of the settings with an id (in any case), or null.</summary>
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

        return EntryOf(grant) is { IsExpired: false } agent
            && (grant.Token is not { } token || (agent.TokenHash is { } expected && expected.IsSameAs(token)))
            && (grant.Certificate is not { } certificate || agent.Accepts(certificate))
            && MayClaim(agent, name);
    }

    /// <summary>Whether the token of a grant has ended.</summary>
    public bool HasExpired(AgentGrant? grant) => grant is not null && EntryOf(grant) is { IsExpired: true };

    /// <summary>The limits of an agent with this grant; null for no limit, as for an agent without a token.</summary>
    public RateTier? TierOf(AgentGrant? grant)
    {
        if (grant is null || EntryOf(grant)?.Tier is not { } tier)
        {
            return null;
        }

        // A kept token may name a tier that the settings have lost since: that must not make it unlimited.
        return _tiers.Contains(tier) ? _tiers.Find(tier) : new RateTier(tier, 1, 1);
    }

    /// <summary>Who may visit the tunnels of an agent with this grant; null: the agent decides.</summary>
    public ForcedAccess? AccessOf(AgentGrant? grant) => grant is null ? null : EntryOf(grant)?.Access;

    /// <summary>
    /// The policies of a session, which its agent cannot change, in the order of the walk: of the settings for its agent, then those that
    /// the server keeps for its agent, its token and its name.
    /// </summary>
    /// <param name="grant">How the agent was admitted; null for an agent without a token.</param>
    /// <param name="name">The session's name (lower case).</param>
    public ImmutableArray<Policy> PoliciesOf(AgentGrant? grant, string name)
    {
        var found = ImmutableArray.CreateBuilder<Policy>();
        if (grant is not null && Find(grant.AgentId)?.Policy is { } configured)
        {
            found.Add(configured);
        }

        Kept.AddTo(grant, name, found);
        return found.ToImmutable();
    }

    /// <summary>Which signature the requests to an agent with this grant need, which the agent cannot change; null: none.</summary>
    public WebhookRule? WebhookOf(AgentGrant? grant) => grant is null ? null : Find(grant.AgentId)?.Webhook;

    /// <summary>
    /// Whether an agent's list has this name (lower case) written out: such a name is known even if its agent never connected.
    /// </summary>
    public bool IsConfiguredName(ReadOnlySpan<char> name) => _literalNamesBySpan.Contains(name);

    /// <summary>Whether any agent has a name or a domain (lower case) in its list, written out or by a pattern.</summary>
    public bool IsListed(ReadOnlySpan<char> name)
    {
        foreach (var agent in _agents)
        {
            if (!agent.IsExpired && Specificity(agent, name) >= 0)
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>
    /// Whether an agent may claim a name (lower case); null is an agent without a token. If the agent lists names, the name must be among
    /// them; a domain must be in any case. No other agent may list it more specifically (<see cref="NamePattern.Specificity"/>). If two
    /// list it equally specifically, either may claim it.
    /// </summary>
    public bool MayClaim(AgentSettings? agent, ReadOnlySpan<char> name)
    {
        // A domain has to be listed; without a list an agent may have any name below the server's own domain.
        var own = agent is not null && (DomainName.IsMeant(name) || !agent.Names.IsEmpty) ? Specificity(agent, name)
            : DomainName.IsMeant(name) ? -1
            : 0;
        if (own < 0)
        {
            return false;
        }

        foreach (var other in _agents)
        {
            // Tokens of one agent do not exclude each other: the names belong to the agent.
            if (other != agent && !other.IsExpired && other.Id != agent?.Id && Specificity(other, name) > own)
            {
                return false;
            }
        }

        return true;
    }

    /// <summary>Whether the agent of a session may serve a name (lower case) that the session has by a wildcard.</summary>
    public bool MayServe(AgentGrant? grant, ReadOnlySpan<char> name) =>
        grant is not null && EntryOf(grant) is { } agent && MayClaim(agent, name);

    /// <summary>
    /// Whether an agent that may claim a domain has to prove that it is the domain's: the settings themselves do not name it for this
    /// agent, but only <c>*.*</c> or a token that the server keeps.
    /// </summary>
    public bool NeedsProof(AgentSettings? agent, string domain) =>
        DomainName.IsMeant(domain)
        && !(agent is not null
            && Find(agent.Id) is { } configured
            && configured.Names.Any(pattern => !pattern.IsOfAnyDomain && pattern.Matches(domain)));

    private AgentSettings? EntryOf(AgentGrant grant) =>
        grant.TokenName is { } token ? _byToken.GetValueOrDefault(token) : Find(grant.AgentId);

    private AgentSettings Complete(AgentSettings token) => Find(token.Id) is { } agent
        ? token with { Id = agent.Id, Tier = token.Tier ?? agent.Tier, Access = agent.Access, Sessions = agent.Sessions }
        : token;

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
