namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>
/// Values that end by themselves, at a moment of the clock that all nodes of a cluster have in common: who works on what, and what is there
/// for a moment. They are no documents: no node has a copy. Every call ends within a second, with its result or a
/// <see cref="SharedUnavailableException"/>. Thread-safe.
/// </summary>
internal interface ISharedLeases
{
    /// <summary>Takes a lease that no node has, or that is over, or renews one's own.</summary>
    /// <param name="kind">The kind.</param>
    /// <param name="key">What the lease is of.</param>
    /// <param name="holder">Who takes it; no other one has the same.</param>
    /// <param name="life">How long it lasts.</param>
    /// <param name="cancellationToken">Gives up.</param>
    /// <returns>Whether the holder has it now.</returns>
    Task<bool> TakeAsync(string kind, string key, byte[] holder, TimeSpan life, CancellationToken cancellationToken);

    /// <summary>Puts a value there, in place of any other one.</summary>
    Task PlaceAsync(string kind, string key, byte[] value, TimeSpan life, CancellationToken cancellationToken);

    /// <summary>The value; null where there is none, or its time is over. Waits for its turn for another second at most.</summary>
    Task<byte[]?> FindAsync(string kind, string key, CancellationToken cancellationToken);

    /// <summary>Ends it, if it still has this value.</summary>
    Task ReleaseAsync(string kind, string key, byte[] value, CancellationToken cancellationToken);
}
