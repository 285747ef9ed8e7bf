namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>All documents of a kind at one moment.</summary>
/// <param name="Generation">Made when the kind was first filled: another one means that the database was emptied in between.</param>
/// <param name="Documents">In the order of their keys.</param>
internal sealed record SharedSet(Guid Generation, IReadOnlyList<SharedDocument> Documents);
