namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>The place of a session under a name that several share.</summary>
/// <param name="Group">A digest of what those have in common that belong together. Who has another one takes the name as a whole.</param>
/// <param name="Member">A digest that distinguishes the sessions of a name: a session takes over from one of the same place only.</param>
/// <param name="IsPool">Whether its agents share the name by their user's wish; otherwise one process has several sessions.</param>
/// <param name="IsHealthy">Whether its service works.</param>
internal sealed record NameShare(byte[] Group, byte[] Member, bool IsPool, bool IsHealthy = true)
{
    /// <summary>Whether two registrations of one name can be there at the same time.</summary>
    public static bool AreBeside(NameShare? one, NameShare? other) => IsOneGroup(one, other)
        && !one!.Member.AsSpan().SequenceEqual(other!.Member);

    /// <summary>Whether two registrations belong together.</summary>
    public static bool IsOneGroup(NameShare? one, NameShare? other) =>
        one is not null && other is not null && one.Group.AsSpan().SequenceEqual(other.Group);
}
