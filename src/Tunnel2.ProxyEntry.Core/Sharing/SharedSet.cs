namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>The documents of a kind at one moment: all of them, or those that have changed after a version.</summary>
/// <param name="Generation">Made when the kind was first filled: another one means that the database was emptied in between.</param>
/// <param name="Documents">In the order of their keys.</param>
/// <param name="Gone">The keys of documents that were removed after that version, as far as the database knows.</param>
/// <param name="Sum">What all documents of the kind come to, with those that are not among these.</param>
/// <param name="Newest">The highest version of these, and of what is gone.</param>
internal sealed record SharedSet(
    Guid Generation, IReadOnlyList<SharedDocument> Documents, IReadOnlyList<string> Gone, SharedSum Sum, long Newest);
