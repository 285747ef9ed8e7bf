using BenchmarkDotNet.Attributes;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Benchmarks.Protocol;

/// <summary>A browser's request head as a header block: 12 fields, about 700 bytes.</summary>
[MemoryDiagnoser]
public class HeaderBlockBenchmarks
{
    private static readonly (byte[] Name, byte[] Value)[] _fields = [.. SampleHeads.BrowserFields];
    private readonly byte[] _block = new byte[4096];
    private int _length;

    /// <summary>Makes the block that is read.</summary>
    [GlobalSetup]
    public void Setup() => _length = Write();

    /// <summary>Writes the block.</summary>
    [Benchmark]
    public int Write()
    {
        var writer = new HeaderBlockWriter(_block);
        writer.BeginRequest(HeaderBlockFlags.None, "GET"u8, "http"u8, "web.localhost:12000"u8, "/products/1234?color=blue"u8);
        foreach (var (name, value) in _fields)
        {
            writer.AddField(name, value);
        }

        return writer.Complete();
    }

    /// <summary>Checks the block and walks its fields, as the uplink's reader and then an encoder do.</summary>
    [Benchmark]
    public int Read()
    {
        HeaderBlock.TryRead(_block.AsSpan(0, _length), out var block);
        var bytes = 0;
        foreach (var field in block.Fields)
        {
            bytes += field.Name.Length + field.Value.Length;
        }

        return bytes;
    }
}
