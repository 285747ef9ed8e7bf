namespace Tunnel2.ProxyEntry.Agents;

/// <summary>
/// By what an agent was admitted, kept for the life of its session: when the settings change it says whether the session may go on. Holds
/// no secret. Immutable.
/// </summary>
/// <param name="AgentId">The agent's id.</param>
/// <param name="Token">What its token hashes to, when it was admitted by a token.</param>
/// <param name="Certificate">Its certificate, when it was admitted by one.</param>
internal sealed record AgentGrant(string AgentId, TokenHash? Token, AgentCertificate? Certificate);
