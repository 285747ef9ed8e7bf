namespace Tunnel2.Benchmarks.Writers;

/// <summary>
/// One way of bringing the frames of many producers onto one connection. Frames of one stream keep their order; no frame is torn by
/// another. When the sink has failed, every write that waits and every later one fails with an <see cref="IOException"/>.
/// </summary>
internal interface IFrameWriter : IAsyncDisposable
{
    /// <summary>Makes a producer's stream.</summary>
    /// <param name="slot">Its slot, 0…65535; the generation is 1.</param>
    WriterStream CreateStream(int slot) => new(slot);

    /// <summary>Sends one DATA frame. Completes when the payload is the caller's again, which may be before it is on the wire.</summary>
    /// <param name="stream">The producer's stream: one write at a time.</param>
    /// <param name="payload">1…16384 bytes, borrowed until then.</param>
    ValueTask WriteAsync(WriterStream stream, ReadOnlyMemory<byte> payload);
}
