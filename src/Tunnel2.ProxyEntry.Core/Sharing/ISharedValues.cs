namespace Tunnel2.ProxyEntry.Sharing;

/// <summary>
/// Values that a process which is alone keeps in files, and a node of a cluster as its copy. Calls come one after the other, with the lock
/// of the values held, except <see cref="OnUsed"/>.
/// </summary>
/// <typeparam name="T">The values.</typeparam>
internal interface ISharedValues<T> where T : class
{
    /// <summary>All that count now, as documents.</summary>
    IReadOnlyList<SharedDocument> Own { get; }

    /// <summary>Reads a document. Null: it cannot be used.</summary>
    /// <param name="document">The document.</param>
    /// <param name="reason">Why not.</param>
    T? Read(SharedDocument document, out string reason);

    /// <summary>The values of the files by the keys of their documents.</summary>
    /// <exception cref="IOException">The files cannot be read.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not read them.</exception>
    IReadOnlyDictionary<string, T> Load();

    /// <summary>Whether a file needs no change.</summary>
    bool IsSame(T kept, T wanted);

    /// <summary>Writes the file of a value.</summary>
    /// <exception cref="IOException">It cannot be written.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not write there.</exception>
    void Save(T value);

    /// <summary>Removes the file of a value.</summary>
    /// <exception cref="IOException">It cannot be removed.</exception>
    /// <exception cref="UnauthorizedAccessException">The process may not remove it.</exception>
    void Delete(T value);

    /// <summary>These count from now on, and no others.</summary>
    /// <returns>Whether they are other ones than before.</returns>
    bool Use(IReadOnlyList<SharedValue<T>> values);

    /// <summary>Other values count now. Without the lock.</summary>
    /// <returns>How many sessions were ended.</returns>
    int OnUsed();
}
