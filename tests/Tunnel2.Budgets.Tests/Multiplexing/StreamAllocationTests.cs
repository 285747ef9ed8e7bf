using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Budgets.Tests.Multiplexing;

/// <summary>Both ends on one thread, driven without a task of the test's own: what is allocated is the engine's.</summary>
public class StreamAllocationTests
{
    private static readonly byte[] _body = new byte[100];

    private readonly ManualScheduler _scheduler = new();
    private readonly byte[] _bulk = new byte[64 * 1024];
    private readonly BufferPool _buffers = new();
    private readonly UplinkConnection _entry;
    private readonly UplinkConnection _agent;
    private TunnelStream? _accepted;

    public StreamAllocationTests()
    {
        var (left, right) = InMemoryTransport.CreatePair(1 << 20, _scheduler);
        _entry = new UplinkConnection(left, Settings(UplinkRole.Entry));
        _agent = new UplinkConnection(right, Settings(UplinkRole.Agent), stream => _accepted = stream);
    }

    [Fact]
    public void A_short_exchange_allocates_nothing()
    {
        var runs = Run();
        Repeat(ShortExchange, 2000);
        var allocated = Measure(ShortExchange, 5000)[2];
        Assert.True(allocated < 500, $"{allocated / 5000.0:F2} bytes per exchange.");
        End(runs);
    }

    [Fact]
    public void A_large_body_allocates_nothing()
    {
        var runs = Run();
        Repeat(LargeBody, 20);
        var allocated = Measure(LargeBody, 100)[0];

        // 64 frames of at least one object each would be more; a few arrays that the pool had dropped are less.
        Assert.True(allocated < 100 * 1000, $"{allocated / 100.0:F2} bytes per body of 1 MiB.");
        End(runs);
    }

    private UplinkSettings Settings(UplinkRole role) => new()
    {
        Role = role,
        WriterScheduler = _scheduler,
        InlineContinuations = true,
        QuietStreams = 2,
        Buffers = _buffers,
    };

    private Task<UplinkEnd[]> Run()
    {
        SynchronizationContext.SetSynchronizationContext(null);
        return Task.WhenAll(_entry.RunAsync(), _agent.RunAsync());
    }

    private void End(Task<UplinkEnd[]> runs)
    {
        _entry.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        _scheduler.Pump(runs, TimeSpan.FromSeconds(10));
        Assert.Equal(0, _buffers.Outstanding);
    }

    private static void Repeat(Action exchange, int count)
    {
        for (var i = 0; i < count; i++)
        {
            exchange();
        }
    }

    /// <summary>
    /// What each of five runs allocated, the least first. A collection may empty the array pool's caches in the middle of a run, so the
    /// worst says little; something that grows by doubling does not show in every run, so for what must not grow the median counts.
    /// </summary>
    private static long[] Measure(Action exchange, int count)
    {
        var runs = new long[5];
        for (var run = 0; run < runs.Length; run++)
        {
            var before = GC.GetAllocatedBytesForCurrentThread();
            Repeat(exchange, count);
            runs[run] = GC.GetAllocatedBytesForCurrentThread() - before;
        }

        Array.Sort(runs);
        return runs;
    }

    private void ShortExchange()
    {
        var (stream, accepted) = Open(_body, end: true);
        Consume(accepted, _body.Length);
        SendHead(accepted, request: false, _body, end: true);
        accepted.Release();
        _scheduler.RunAll();
        Consume(stream, _body.Length);
        stream.Release();
        _scheduler.RunAll();
    }

    private void LargeBody()
    {
        var (stream, accepted) = Open([], end: false);
        for (var sent = 0; sent < 1 << 20; sent += _bulk.Length)
        {
            var writing = stream.WriteAsync(_bulk, end: sent + _bulk.Length == 1 << 20);
            _scheduler.RunAll();
            if (!writing.IsCompletedSuccessfully || writing.Result != StreamSendStatus.Sent)
            {
                throw new InvalidOperationException("The window is large enough.");
            }

            Consume(accepted, _bulk.Length);
            _scheduler.RunAll();
        }

        SendHead(accepted, request: false, [], end: true);
        accepted.Release();
        _scheduler.RunAll();
        Consume(stream, 0);
        stream.Release();
        _scheduler.RunAll();
    }

    private (TunnelStream Stream, TunnelStream Accepted) Open(ReadOnlySpan<byte> body, bool end)
    {
        var stream = _entry.TryOpenStream()!;
        SendHead(stream, request: true, body, end);
        _scheduler.RunAll();
        var accepted = _accepted!;
        _accepted = null;
        return (stream, accepted);
    }

    private static void SendHead(TunnelStream stream, bool request, ReadOnlySpan<byte> body, bool end)
    {
        var writer = new HeaderBlockWriter(stream.BeginHead(256, body.Length));
        if (request)
        {
            writer.BeginRequest(HeaderBlockFlags.None, "GET"u8, "http"u8, "web.localhost"u8, "/path"u8);
        }
        else
        {
            writer.BeginResponse(HeaderBlockFlags.None, 200, "OK"u8);
        }

        writer.AddField("Content-Type"u8, "text/plain"u8);
        if (stream.EndHead(writer.Complete(), body, end, out _) != StreamSendStatus.Sent)
        {
            throw new InvalidOperationException("The uplink lives.");
        }
    }

    private static void Consume(TunnelStream stream, int expected)
    {
        while (stream.TryRead(out var item) && item.Kind is StreamItemKind.Head or StreamItemKind.Data)
        {
            if (item.Kind == StreamItemKind.Head)
            {
                stream.ConsumeHead();
            }
            else
            {
                expected -= item.Memory.Length;
                stream.ConsumeData(item.Memory.Length);
            }
        }

        if (expected != 0)
        {
            throw new InvalidOperationException("Bytes are missing.");
        }
    }
}
