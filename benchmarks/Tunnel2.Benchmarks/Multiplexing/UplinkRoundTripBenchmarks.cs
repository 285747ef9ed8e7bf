using BenchmarkDotNet.Attributes;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Benchmarks.Multiplexing;

/// <summary>
/// Exchanges through both ends of an uplink in memory on one thread: what the session engine itself costs, without sockets, HTTP and
/// thread switches. One operation is one exchange: a request head, and a response head with its body in the same frame. What is allocated
/// is this class's own task per exchange.
/// </summary>
[MemoryDiagnoser]
public class UplinkRoundTripBenchmarks
{
    private readonly InlineScheduler _scheduler = new();
    private readonly byte[] _responseBody = new byte[1024];
    private Task<int>[] _running = [];
    private UplinkConnection _entry = null!;
    private UplinkConnection _agent = null!;
    private Task _ends = Task.CompletedTask;

    /// <summary>Exchanges under way at once.</summary>
    [Params(1, 50)]
    public int Concurrency { get; set; }

    /// <summary>Connects both ends.</summary>
    [GlobalSetup]
    public void Setup()
    {
        _running = new Task<int>[Concurrency];
        var (left, right) = MemoryTransport.CreatePair(_scheduler);
        _entry = new UplinkConnection(left, Settings(UplinkRole.Entry));
        _agent = new UplinkConnection(right, Settings(UplinkRole.Agent), stream => _ = AnswerAsync(stream));
        _ends = Task.WhenAll(_entry.RunAsync(), _agent.RunAsync());
    }

    /// <summary>Ends the uplink.</summary>
    [GlobalCleanup]
    public void Cleanup() => _entry.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));

    /// <summary>1000 exchanges, as many at once as <see cref="Concurrency"/> says.</summary>
    [Benchmark(OperationsPerInvoke = 1000)]
    public int Exchange()
    {
        var bytes = 0;
        for (var done = 0; done < 1000; done += Concurrency)
        {
            for (var i = 0; i < Concurrency; i++)
            {
                _running[i] = AskAsync();
            }

            foreach (var exchange in _running)
            {
                bytes += _scheduler.RunUntil(exchange);
            }
        }

        return bytes == 1000 * _responseBody.Length ? bytes : throw new InvalidOperationException("An answer was not whole.");
    }

    private UplinkSettings Settings(UplinkRole role) =>
        new() { Role = role, WriterScheduler = _scheduler, InlineContinuations = true, QuietStreams = 2 };

    private async Task<int> AskAsync()
    {
        var stream = _entry.TryOpenStream()!;
        stream.EndHead(WriteRequest(stream), default, end: true, out _);
        await stream.WaitToReadAsync();
        stream.TryRead(out var head);
        var ended = head.IsLast;
        stream.ConsumeHead();
        var bytes = 0;
        while (!ended)
        {
            await stream.WaitToReadAsync();
            if (!stream.TryRead(out var item) || item.Kind != StreamItemKind.Data)
            {
                break;
            }

            ended = item.IsLast;
            bytes += item.Memory.Length;
            stream.ConsumeData(item.Memory.Length);
        }

        stream.Release();
        return bytes;
    }

    private Task AnswerAsync(TunnelStream stream)
    {
        stream.TryRead(out _);
        stream.ConsumeHead();
        var writer = new HeaderBlockWriter(stream.BeginHead(256, _responseBody.Length));
        writer.BeginResponse(HeaderBlockFlags.None, 200, "OK"u8);
        writer.AddField("Content-Length"u8, "1024"u8);
        stream.EndHead(writer.Complete(), _responseBody, end: true, out _);
        stream.Release();
        return Task.CompletedTask;
    }

    private static int WriteRequest(TunnelStream stream)
    {
        var writer = new HeaderBlockWriter(stream.BeginHead(256));
        writer.BeginRequest(HeaderBlockFlags.None, "GET"u8, "http"u8, "web.localhost"u8, "/"u8);
        writer.AddField("Accept"u8, "*/*"u8);
        return writer.Complete();
    }
}
