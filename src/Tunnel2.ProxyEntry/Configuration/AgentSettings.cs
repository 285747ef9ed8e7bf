using System.Collections.Immutable;

namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>An agent that holds a token. Immutable.</summary>
/// <param name="Id">The identity that owns the names the agent registers.</param>
/// <param name="TokenHash">What its token must hash to.</param>
/// <param name="Names">The names it may claim; empty: any that no other agent lists.</param>
/// <param name="Tier">The set of limits that applies; null: unlimited.</param>
internal sealed record AgentSettings(string Id, TokenHash TokenHash, ImmutableArray<NamePattern> Names, string? Tier);
