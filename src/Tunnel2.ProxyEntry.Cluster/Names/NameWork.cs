using Tunnel2.ProxyEntry.Cluster.Stores;

namespace Tunnel2.ProxyEntry.Cluster.Names;

/// <summary>What is still to be reported to the database, one portion of it.</summary>
/// <param name="Claims">Names to publish, with the entries that they are of.</param>
/// <param name="Changes">Registrations to change, with the entries that they are of.</param>
internal sealed record NameWork(
    IReadOnlyList<(NameEntry Entry, NameClaim Claim)> Claims, IReadOnlyList<(NameEntry Entry, NameChange Change)> Changes)
{
    /// <summary>Whether there is nothing to do.</summary>
    public bool IsEmpty => Claims.Count == 0 && Changes.Count == 0;
}
