namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>Where lines go. Used by one thread, which it may block.</summary>
internal interface IAccessLogSink : IDisposable
{
    /// <summary>What it is, for people: a path or the standard output.</summary>
    string Name { get; }

    /// <summary>How many bytes are best handed over at once.</summary>
    int PreferredBytes { get; }

    /// <summary>Writes whole lines.</summary>
    /// <exception cref="IOException">It cannot, for now. Nothing or only a part was written; a later call may work again.</exception>
    void Write(ReadOnlySpan<byte> lines);
}
