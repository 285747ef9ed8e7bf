using BenchmarkDotNet.Attributes;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Benchmarks.Protocol;

/// <summary>The eight bytes in front of every frame; one operation is one header, of many in a row as in a batch.</summary>
[MemoryDiagnoser]
public class FrameHeaderBenchmarks
{
    private const int Count = 256;

    private readonly FrameHeader[] _headers =
        [
            .. Enumerable.Range(0, Count).Select(
                static i => new FrameHeader(64 * i, FrameType.Data, i % 2 == 0 ? FrameFlags.End : FrameFlags.None, new StreamId(i, 42))),
        ];

    private readonly byte[] _bytes = new byte[Count * FrameHeader.Size];

    /// <summary>Puts valid headers into the bytes.</summary>
    [GlobalSetup]
    public void Setup()
    {
        Write();
        if (Read() != Count)
        {
            throw new InvalidOperationException("What was written cannot be read.");
        }
    }

    /// <summary>Writes headers.</summary>
    [Benchmark(OperationsPerInvoke = Count)]
    public void Write()
    {
        var room = _bytes.AsSpan();
        foreach (ref readonly var header in _headers.AsSpan())
        {
            header.Write(room);
            room = room[FrameHeader.Size..];
        }
    }

    /// <summary>Reads and checks headers.</summary>
    [Benchmark(OperationsPerInvoke = Count)]
    public int Read()
    {
        var read = 0;
        for (ReadOnlySpan<byte> rest = _bytes; !rest.IsEmpty; rest = rest[FrameHeader.Size..])
        {
            read += FrameHeader.TryRead(rest, out var header) == ProtocolError.None && header.IsKnown ? 1 : 0;
        }

        return read;
    }
}
