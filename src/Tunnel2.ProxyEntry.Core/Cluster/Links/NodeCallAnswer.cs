namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// The answer of another node, whose body is still to be read; the end of the caller's patience cuts it. <see cref="Dispose"/> when no read
/// is under way.
/// </summary>
internal sealed class NodeCallAnswer(
    int status, IReadOnlyList<KeyValuePair<string, string>> fields, NodeByteStream body, CancellationTokenRegistration cut) : IDisposable
{
    /// <summary>The status.</summary>
    public int Status => status;

    /// <summary>The fields.</summary>
    public IReadOnlyList<KeyValuePair<string, string>> Fields => fields;

    /// <summary>The body. What is not read holds the other node back, and nothing else on the link.</summary>
    public Stream Body => body;

    /// <inheritdoc/>
    public void Dispose()
    {
        cut.Dispose();
        body.Release();
    }
}
