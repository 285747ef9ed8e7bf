using System.IO.Pipelines;
using BenchmarkDotNet.Attributes;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;

namespace Tunnel2.Benchmarks.Multiplexing;

/// <summary>The queue between producers and the write loop, without the loop: one operation is one stream queued and taken.</summary>
[MemoryDiagnoser]
public class ReadyStreamChannelBenchmarks
{
    private const int Streams = 100;

    private readonly ReadyStreamChannel _channel = new(PipeScheduler.Inline, static () => true);
    private TunnelStream[] _streams = [];

    /// <summary>Opens the streams that are queued.</summary>
    [GlobalSetup]
    public void Setup()
    {
        var (left, _) = MemoryTransport.CreatePair(PipeScheduler.Inline);
        var uplink = new UplinkConnection(left, new UplinkSettings { Role = UplinkRole.Entry });
        _streams = [.. Enumerable.Range(0, Streams).Select(_ => uplink.TryOpenStream()!)];
    }

    /// <summary>All streams in, all streams out.</summary>
    [Benchmark(OperationsPerInvoke = Streams)]
    public int EnqueueDequeue()
    {
        foreach (var stream in _streams)
        {
            _channel.Writer.TryWrite(stream);
        }

        var taken = 0;
        while (_channel.Reader.TryRead(out _))
        {
            taken++;
        }

        return taken;
    }

    /// <summary>One stream in and out, with the reader asleep before: a wake each time.</summary>
    [Benchmark]
    public bool WakeAndDequeue()
    {
        var wait = _channel.Reader.WaitToReadAsync();
        _channel.Writer.TryWrite(_streams[0]);
        return wait.IsCompletedSuccessfully && wait.Result && _channel.Reader.TryRead(out _);
    }
}
