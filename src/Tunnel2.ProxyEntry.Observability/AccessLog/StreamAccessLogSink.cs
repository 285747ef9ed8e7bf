namespace Tunnel2.ProxyEntry.AccessLog;

/// <summary>Writes lines into a stream, the standard output.</summary>
internal sealed class StreamAccessLogSink : IAccessLogSink
{
    private readonly Stream _stream;

    public StreamAccessLogSink(Stream stream)
    {
        _stream = stream;
    }

    /// <inheritdoc/>
    public string Name => "the standard output";

    /// <inheritdoc/>
    public int PreferredBytes => 16 * 1024;

    /// <inheritdoc/>
    public void Write(ReadOnlySpan<byte> lines)
    {
        _stream.Write(lines);
        _stream.Flush();
    }

    /// <inheritdoc/>
    public void Dispose() => _stream.Dispose();
}
