using System.Buffers.Binary;
using System.Diagnostics;
using System.Diagnostics.CodeAnalysis;
using BenchmarkDotNet.Attributes;

namespace Tunnel2.Benchmarks.Writers;

/// <summary>
/// The writers of an uplink against each other on the thread pool: one operation is one frame, from a producer that has it ready to the
/// wire. It screens; the whole tunnel decides (docs/decisions/0002-ready-streams-in-a-channel.md).
/// </summary>
[MemoryDiagnoser]
[Config(typeof(RaceConfig))]
[SuppressMessage("Design", "CA1001", Justification = "BenchmarkDotNet calls Cleanup, which disposes of them.")]
public class UplinkWriterRace
{
    private const int Frames = 16_384;

    private MeasuringSink _sink = null!;
    private IFrameWriter _writer = null!;
    private WriterStream[] _streams = [];
    private byte[][] _payloads = [];

    /// <summary>Who races.</summary>
    [ParamsAllValues]
    public WriterKind Writer { get; set; }

    /// <summary>On what: twenty cells with the writers in which each level of producers, payload and sink occurs.</summary>
    [Params("1 x 64 B, TCP", "64 x 16 KiB, TCP", "256 x 64 B, TCP", "256 x 64 B, null")]
    public string Load { get; set; } = "";

    /// <summary>Connects.</summary>
    [GlobalSetup]
    public void Setup()
    {
        var producers = int.Parse(
            Load.AsSpan(0, Load.IndexOf(' ', StringComparison.Ordinal)), System.Globalization.CultureInfo.InvariantCulture);
        var payload = Load.Contains("KiB", StringComparison.Ordinal) ? 16 * 1024 : 64;
        _sink = new MeasuringSink(Load.Contains("TCP", StringComparison.Ordinal) ? new TcpSink() : new NullSink());
        _writer = Writers.Writer.Create(Writer, _sink);
        _streams = [.. Enumerable.Range(0, producers).Select(slot => _writer.CreateStream(slot))];
        _payloads = [.. Enumerable.Range(0, producers).Select(_ => new byte[payload])];
    }

    /// <summary>Leaves the figures that BenchmarkDotNet does not know of.</summary>
    [GlobalCleanup]
    public void Cleanup()
    {
        RaceFigures.Set(Writer, Load, (double)_sink.Bytes / _sink.Flushes, _sink.Latency(0.99));
        _writer.DisposeAsync().AsTask().GetAwaiter().GetResult();
        _sink.DisposeAsync().AsTask().GetAwaiter().GetResult();
    }

    /// <summary>All producers at once, until the last frame is on the wire.</summary>
    [Benchmark(OperationsPerInvoke = Frames)]
    public async Task FrameToWire()
    {
        var all = _sink.ExpectAsync(Frames);
        for (var i = 0; i < _streams.Length; i++)
        {
            var producer = i;
            ThreadPool.UnsafeQueueUserWorkItem(
                static work => _ = work.Race.ProduceAsync(work.producer), (Race: this, producer), preferLocal: false);
        }

        await all;
    }

    private async Task ProduceAsync(int producer)
    {
        var payload = _payloads[producer];
        for (var i = Frames / _streams.Length; i > 0; i--)
        {
            BinaryPrimitives.WriteInt64LittleEndian(payload, Stopwatch.GetTimestamp());
            await _writer.WriteAsync(_streams[producer], payload).ConfigureAwait(false);
        }
    }
}
