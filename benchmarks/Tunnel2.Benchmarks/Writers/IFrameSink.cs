namespace Tunnel2.Benchmarks.Writers;

/// <summary>Where the bytes go. One send at a time.</summary>
internal interface IFrameSink : IAsyncDisposable
{
    /// <summary>Sends everything.</summary>
    /// <exception cref="IOException">The connection failed.</exception>
    ValueTask SendAsync(ReadOnlyMemory<byte> bytes);
}
