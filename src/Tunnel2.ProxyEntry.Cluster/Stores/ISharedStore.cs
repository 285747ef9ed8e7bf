using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Cluster.Stores;

/// <summary>
/// Where nodes keep the documents that they share. Every call, of a read or a fill each page, ends within a second, with its result or a
/// <see cref="StoreUnavailableException"/>. Thread-safe.
/// </summary>
internal interface ISharedStore
{
    /// <summary>As <see cref="ISharedDocuments.ReadAsync"/>.</summary>
    Task<SharedSet?> ReadSharedAsync(string kind, long since, int most, CancellationToken cancellationToken);

    /// <summary>As <see cref="ISharedDocuments.FillAsync"/>.</summary>
    Task FillSharedAsync(
        string kind, Guid generation, bool isNew, IReadOnlyList<SharedDocument> documents, CancellationToken cancellationToken);

    /// <summary>As <see cref="ISharedDocuments.AddAsync"/>.</summary>
    Task<SharedOutcome> AddSharedAsync(
        string kind, Guid generation, SharedDocument document, int most, CancellationToken cancellationToken);

    /// <summary>As <see cref="ISharedDocuments.PutAsync"/>.</summary>
    Task<SharedOutcome> PutSharedAsync(
        string kind, Guid generation, SharedDocument document, int most, CancellationToken cancellationToken);

    /// <summary>As <see cref="ISharedDocuments.RemoveAsync"/>.</summary>
    Task<SharedOutcome> RemoveSharedAsync(string kind, Guid generation, string key, CancellationToken cancellationToken);

    /// <summary>As <see cref="ISharedDocuments.TouchAsync"/>.</summary>
    Task TouchSharedAsync(
        string kind, IReadOnlyList<KeyValuePair<string, DateTimeOffset>> uses, CancellationToken cancellationToken);

    /// <summary>As <see cref="ISharedLeases.TakeAsync"/>; forced, as <see cref="ISharedLeases.PlaceAsync"/>.</summary>
    Task<bool> TakeLeaseAsync(
        string kind, string key, byte[] value, TimeSpan life, bool isForced, CancellationToken cancellationToken);

    /// <summary>As <see cref="ISharedLeases.FindAsync"/>.</summary>
    Task<byte[]?> FindLeaseAsync(string kind, string key, CancellationToken cancellationToken);

    /// <summary>As <see cref="ISharedLeases.ReleaseAsync"/>.</summary>
    Task ReleaseLeaseAsync(string kind, string key, byte[] value, CancellationToken cancellationToken);
}
