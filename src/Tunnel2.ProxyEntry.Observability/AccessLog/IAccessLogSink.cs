namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>The destination of lines. One thread uses it, and it may block that thread.</summary>
internal interface IAccessLogSink : IDisposable
{
    /// <summary>Its name for people: a path or the standard output.</summary>
    string Name { get; }

    /// <summary>How many bytes a write should have, for the best speed.</summary>
    int PreferredBytes { get; }

    /// <summary>Writes whole lines.</summary>
    /// <exception cref="IOException">The write failed, wholly or partly; a later one may succeed.</exception>
    void Write(ReadOnlySpan<byte> lines);
}
