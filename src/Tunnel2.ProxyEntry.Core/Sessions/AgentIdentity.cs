using System.Security.Cryptography;
using System.Text;

namespace Tunnel2.ProxyEntry.Sessions;

/// <summary>
/// The owner of a name: the agent id that a token belongs to, or, without a token, a digest of the running agent's instance key. Every
/// decision uses this one parsed value. It never contains a secret.
/// </summary>
internal readonly record struct AgentIdentity
{
    private AgentIdentity(string value) => Value = value;

    /// <summary>The value by which two identities are compared.</summary>
    public string Value { get; }

    public static AgentIdentity OfToken(string agentId) => new("agent:" + agentId);

    public static AgentIdentity OfInstance(ReadOnlySpan<byte> instanceKey) =>
        new("instance:" + Convert.ToHexStringLower(SHA256.HashData(instanceKey)));

    /// <summary>The owner of a secret that an agent without a token keeps over its restarts.</summary>
    public static AgentIdentity OfOwner(ReadOnlySpan<byte> ownerKey) => new("owner:" + Convert.ToHexStringLower(SHA256.HashData(ownerKey)));

    /// <summary>An identity that another node has named by its <see cref="Value"/>.</summary>
    public static AgentIdentity OfValue(string value) => new(value);

    /// <summary>What the database of a cluster has of it: it can be compared, and not read.</summary>
    public byte[] ToDigest() => SHA256.HashData(Encoding.UTF8.GetBytes(Value ?? ""));

    /// <inheritdoc/>
    public override string ToString() => Value.StartsWith("agent:", StringComparison.Ordinal) ? Value[6..] : "anonymous";
}
