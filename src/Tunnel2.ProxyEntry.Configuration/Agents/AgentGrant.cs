namespace Tunnel2.ProxyEntry.Agents;

/// <summary>
/// How an agent was admitted, kept for the life of its session. When the settings change, it decides whether the session may continue.
/// Contains no secret. Immutable.
/// </summary>
/// <param name="AgentId">The agent's id.</param>
/// <param name="Token">The hash of its token, when it was admitted by a token.</param>
/// <param name="Certificate">Its certificate, when it was admitted by one.</param>
internal sealed record AgentGrant(string AgentId, TokenHash? Token, AgentCertificate? Certificate)
{
    /// <summary>The name of its token, for a token that the server keeps itself; null for an agent of the settings.</summary>
    public string? TokenName { get; init; }
}
