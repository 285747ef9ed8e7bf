namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>
/// Documents that all nodes of a cluster have in common, in kinds. A process that is alone has none of this. Every call, of a read or a
/// fill each page, ends within a second, with its result or a <see cref="SharedUnavailableException"/>. Thread-safe.
/// </summary>
internal interface ISharedDocuments
{
    /// <summary>Has a kind looked at when another node has changed it, when changes may have been missed, and now and then.</summary>
    /// <param name="kind">The kind. Before the node is started, and once for each kind.</param>
    /// <param name="look">Reads the kind. Throws a <see cref="SharedUnavailableException"/> where it cannot.</param>
    void Watch(string kind, Func<CancellationToken, Task> look);

    /// <summary>
    /// The documents of a kind, in pages. Null: no node has filled it yet, or the database was emptied.
    /// </summary>
    /// <param name="kind">The kind.</param>
    /// <param name="since">Only those of a higher version, and which were removed; 0: all.</param>
    /// <param name="most">How many at most.</param>
    /// <param name="cancellationToken">Gives up.</param>
    Task<SharedSet?> ReadAsync(string kind, long since, int most, CancellationToken cancellationToken);

    /// <summary>Adds documents of this node to those of the cluster, which win where both have a key.</summary>
    /// <param name="kind">The kind.</param>
    /// <param name="generation">That of the set that was read, or a new one: then nothing is added if another node was first.</param>
    /// <param name="isNew">Whether the kind has to be empty.</param>
    /// <param name="documents">The documents.</param>
    /// <param name="cancellationToken">Gives up.</param>
    Task FillAsync(
        string kind, Guid generation, bool isNew, IReadOnlyList<SharedDocument> documents, CancellationToken cancellationToken);

    /// <summary>Adds a document.</summary>
    Task<SharedOutcome> AddAsync(
        string kind, Guid generation, SharedDocument document, int most, CancellationToken cancellationToken);

    /// <summary>Adds a document, or puts it in place of the one of its key.</summary>
    /// <param name="kind">The kind.</param>
    /// <param name="generation">That of the set that was read.</param>
    /// <param name="document">With a version: only that one is replaced, and any other one is <see cref="SharedOutcome.Taken"/>.</param>
    /// <param name="most">How many there may be.</param>
    /// <param name="cancellationToken">Gives up.</param>
    Task<SharedOutcome> PutAsync(
        string kind, Guid generation, SharedDocument document, int most, CancellationToken cancellationToken);

    /// <summary>Removes a document.</summary>
    Task<SharedOutcome> RemoveAsync(string kind, Guid generation, string key, CancellationToken cancellationToken);

    /// <summary>Says when documents were used, which gives them another version. There is no notice; the later moment wins.</summary>
    Task TouchAsync(string kind, IReadOnlyList<KeyValuePair<string, DateTimeOffset>> uses, CancellationToken cancellationToken);
}
