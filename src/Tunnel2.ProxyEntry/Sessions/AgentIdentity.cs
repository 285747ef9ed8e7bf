using System.Security.Cryptography;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>
/// Who owns a name: the agent id that a token belongs to, or, without tokens, a digest of the running agent's instance key. One parsed
/// value for every decision. Never shows a secret.
/// </summary>
internal readonly record struct AgentIdentity
{
    private AgentIdentity(string value) => Value = value;

    /// <summary>What two identities are compared by.</summary>
    public string Value { get; }

    public static AgentIdentity OfToken(string agentId) => new("agent:" + agentId);

    public static AgentIdentity OfInstance(ReadOnlySpan<byte> instanceKey) => new("instance:" + Convert.ToHexStringLower(SHA256.HashData(instanceKey)));

    /// <inheritdoc/>
    public override string ToString() => Value.StartsWith("instance:", StringComparison.Ordinal) ? "anonymous" : Value[6..];
}
