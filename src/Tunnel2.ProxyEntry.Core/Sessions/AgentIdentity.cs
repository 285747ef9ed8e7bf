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

    public static AgentIdentity OfInstance(ReadOnlySpan<byte> instanceKey) =>
        new("instance:" + Convert.ToHexStringLower(SHA256.HashData(instanceKey)));

    /// <summary>Whoever keeps a secret over the restarts of agents without a token.</summary>
    public static AgentIdentity OfOwner(ReadOnlySpan<byte> ownerKey) => new("owner:" + Convert.ToHexStringLower(SHA256.HashData(ownerKey)));

    /// <inheritdoc/>
    public override string ToString() => Value.StartsWith("agent:", StringComparison.Ordinal) ? Value[6..] : "anonymous";
}
