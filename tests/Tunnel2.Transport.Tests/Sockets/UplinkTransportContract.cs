using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Transport.Tests.Sockets;

/// <summary>What every transport of an uplink does, over any carrier.</summary>
public abstract class UplinkTransportContract
{
    protected static TimeSpan Limit { get; } = TimeSpan.FromSeconds(20);

    [Fact]
    public async Task Megabytes_go_both_ways_at_once()
    {
        const int Length = 20_000_000;
        var (left, right) = await ConnectAsync();
        await Task.WhenAll(
            SendAsync(left, 1, Length),
            SendAsync(right, 2, Length),
            ReceiveAsync(left, 2, Length),
            ReceiveAsync(right, 1, Length)).WaitAsync(Limit);
        await left.DisposeAsync();
        await right.DisposeAsync();
    }

    [Fact]
    public async Task An_orderly_end_is_a_receive_of_nothing_behind_what_was_sent_and_the_other_way_stays_open()
    {
        var (left, right) = await ConnectAsync();
        await left.SendAsync(new byte[100_000]);
        left.ShutdownSend();
        var buffer = new byte[30_000];
        var total = 0;
        while (await right.ReceiveAsync(buffer) is > 0 and var received)
        {
            total += received;
        }

        Assert.Equal(100_000, total);
        await right.SendAsync(new byte[10]);
        Assert.Equal(10, await left.ReceiveAsync(buffer));
        await left.DisposeAsync();
        await right.DisposeAsync();
    }

    [Fact]
    public async Task Abort_from_another_thread_ends_a_pending_receive_and_what_comes_after()
    {
        for (var i = 0; i < 50; i++)
        {
            var (left, right) = await ConnectAsync();
            var receiving = left.ReceiveAsync(new byte[10]).AsTask();
            await Task.WhenAll(Task.Run(left.Abort), Task.Run(left.Abort)).WaitAsync(Limit);
            await Assert.ThrowsAsync<IOException>(() => receiving.WaitAsync(Limit));
            await Assert.ThrowsAsync<IOException>(async () => await left.ReceiveAsync(new byte[10]));
            await Assert.ThrowsAsync<IOException>(async () => await left.SendAsync(new byte[10]));
            left.ShutdownSend();
            await left.DisposeAsync();
            await Assert.ThrowsAsync<IOException>(async () => await left.SendAsync(new byte[10]));
            await right.DisposeAsync();
        }
    }

    [Fact]
    public async Task Abort_from_another_thread_ends_a_pending_send()
    {
        for (var i = 0; i < 10; i++)
        {
            var (left, right) = await ConnectAsync();
            var sending = left.SendAsync(new byte[64_000_000]).AsTask();
            Assert.False(sending.IsCompleted);
            await Task.Run(left.Abort).WaitAsync(Limit);
            await Assert.ThrowsAsync<IOException>(() => sending.WaitAsync(Limit));
            await left.DisposeAsync();
            await right.DisposeAsync();
        }
    }

    /// <summary>Two transports that are each other's peer.</summary>
    internal abstract Task<(IUplinkTransport Left, IUplinkTransport Right)> ConnectAsync();

    /// <summary>Thirty streams that carry half a megabyte each, both ways, over a pair of transports.</summary>
    internal static async Task RunStreamsAsync(IUplinkTransport left, IUplinkTransport right, IEngine engine)
    {
        var buffers = new BufferPool();
        var entry = new UplinkConnection(left, engine.Apply(new UplinkSettings { Role = UplinkRole.Entry, Buffers = buffers }));
        var agent = new UplinkConnection(
            right,
            engine.Apply(new UplinkSettings { Role = UplinkRole.Agent, Buffers = buffers }),
            stream => _ = Task.Run(() => EchoAsync(stream)));
        var runs = Task.WhenAll(entry.RunAsync(), agent.RunAsync());
        await Task.WhenAll(Enumerable.Range(0, 30).Select(i => Task.Run(() => CallAsync(entry, i)))).WaitAsync(Limit);
        entry.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        var ends = await runs.WaitAsync(Limit);
        Assert.Equal(SessionEndReason.Shutdown, ends[0].Reason);
        Assert.Equal(SessionEndReason.PeerClosed, ends[1].Reason);
        Assert.True(SpinWait.SpinUntil(() => buffers.Outstanding == 0, Limit));
    }

    protected static async Task<(Socket Left, Socket Right)> ConnectSocketsAsync()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(1);
        var left = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await left.ConnectAsync(listener.LocalEndPoint!);
        return (left, await listener.AcceptAsync());
    }

    private static async Task CallAsync(UplinkConnection uplink, int number)
    {
        var stream = uplink.TryOpenStream();
        Assert.NotNull(stream);
        var body = new byte[500_000];
        Fill(body, number, 0);
        var sending = Task.Run(async () =>
        {
            SendRequest(stream);
            Assert.Equal(StreamSendStatus.Sent, await stream.WriteAsync(body, end: true));
        });
        long length = 0;
        while (true)
        {
            await stream.WaitToReadAsync();
            Assert.True(stream.TryRead(out var item));
            if (item.Kind == StreamItemKind.Head)
            {
                stream.ConsumeHead();
            }
            else if (item.Kind == StreamItemKind.Data)
            {
                Assert.True(item.Memory.Span.SequenceEqual(body.AsSpan((int)length, item.Memory.Length)));
                length += item.Memory.Length;
                stream.ConsumeData(item.Memory.Length);
            }
            else
            {
                Assert.Equal(StreamItemKind.End, item.Kind);
                break;
            }
        }

        await sending;
        Assert.Equal(body.Length, length);
        stream.Release();
    }

    private static async Task EchoAsync(TunnelStream stream)
    {
        while (true)
        {
            await stream.WaitToReadAsync();
            stream.TryRead(out var item);
            if (item.Kind == StreamItemKind.Head)
            {
                stream.ConsumeHead();
                SendResponse(stream);
            }
            else if (item.Kind == StreamItemKind.Data)
            {
                await stream.WriteAsync(item.Memory, end: false);
                stream.ConsumeData(item.Memory.Length);
            }
            else
            {
                await stream.WriteAsync(default, end: true);
                stream.Release();
                return;
            }
        }
    }

    private static void SendRequest(TunnelStream stream)
    {
        var writer = new HeaderBlockWriter(stream.BeginHead(100));
        writer.BeginRequest(HeaderBlockFlags.None, "POST", "http", "web.localhost", "/");
        Assert.Equal(StreamSendStatus.Sent, stream.EndHead(writer.Complete(), default, end: false, out _));
    }

    private static void SendResponse(TunnelStream stream)
    {
        var writer = new HeaderBlockWriter(stream.BeginHead(100));
        writer.BeginResponse(HeaderBlockFlags.None, 200, "OK"u8);
        stream.EndHead(writer.Complete(), default, end: false, out _);
    }

    private static async Task SendAsync(IUplinkTransport transport, int seed, int length)
    {
        var random = new Random(seed);
        var buffer = new byte[ProtocolLimits.MaxFrameLength * 4];
        for (var sent = 0; sent < length;)
        {
            var count = Math.Min(random.Next(1, buffer.Length), length - sent);
            Fill(buffer.AsSpan(0, count), seed, sent);
            await transport.SendAsync(buffer.AsMemory(0, count));
            sent += count;
        }
    }

    private static async Task ReceiveAsync(IUplinkTransport transport, int seed, int length)
    {
        var buffer = new byte[100_000];
        var expected = new byte[100_000];
        for (var total = 0; total < length;)
        {
            var received = await transport.ReceiveAsync(buffer);
            Assert.NotEqual(0, received);
            Fill(expected.AsSpan(0, received), seed, total);
            Assert.True(buffer.AsSpan(0, received).SequenceEqual(expected.AsSpan(0, received)), $"Wrong behind byte {total}.");
            total += received;
        }
    }

    private static void Fill(Span<byte> bytes, int seed, long offset)
    {
        for (var i = 0; i < bytes.Length; i++)
        {
            bytes[i] = (byte)((offset + i) * 7 + ((offset + i) >> 9) + seed);
        }
    }
}
