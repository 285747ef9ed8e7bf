using System.Collections.Concurrent;

namespace Tunnel2.Benchmarks.Writers;

/// <summary>What a run leaves for its columns. Thread-safe.</summary>
/// <param name="BytesPerFlush">The mean batch.</param>
/// <param name="P99">From a frame's being ready to its being on the wire.</param>
internal sealed record RaceFigures(double BytesPerFlush, TimeSpan P99)
{
    private static readonly ConcurrentDictionary<(WriterKind Writer, string Load), RaceFigures> _all = new();

    public static void Set(WriterKind writer, string load, double bytesPerFlush, TimeSpan p99) =>
        _all[(writer, load)] = new RaceFigures(bytesPerFlush, p99);

    public static RaceFigures? Find(WriterKind writer, string load) => _all.GetValueOrDefault((writer, load));
}
