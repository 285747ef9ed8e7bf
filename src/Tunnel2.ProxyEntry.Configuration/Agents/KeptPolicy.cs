using Tunnel2.Policies.Tables;

namespace Tunnel2.ProxyEntry.Agents;

/// <summary>A policy that the server keeps, beside those of the settings. Immutable.</summary>
/// <param name="Target">For which tunnels.</param>
/// <param name="Policy">The policy.</param>
/// <param name="Changed">When it was set.</param>
internal sealed record KeptPolicy(PolicyTarget Target, Policy Policy, DateTimeOffset Changed)
{
    /// <summary>Why its file cannot be used; then <see cref="Policy"/> refuses every request. Null: it can.</summary>
    public string? Problem { get; init; }

    /// <summary>What is kept, where it cannot be used and is not too long to be shared; it may be usable for another node.</summary>
    public ReadOnlyMemory<byte> Unused { get; init; }

    /// <summary>Whether both are the same policy for the same tunnels.</summary>
    public bool IsSameAs(KeptPolicy other) => Target == other.Target && Problem == other.Problem && Policy.IsSameAs(other.Policy);
}
