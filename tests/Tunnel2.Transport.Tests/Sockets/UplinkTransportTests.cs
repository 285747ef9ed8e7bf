using System.Net;
using System.Net.Sockets;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Headers;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Transport.Tests.Sockets;

public class UplinkTransportTests
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    [Theory]
    [InlineData("sockets")]
    [InlineData("epoll")]
    public async Task Megabytes_go_both_ways_at_once(string transport)
    {
        using var engine = TestEngines.Create(transport);
        const int Length = 20_000_000;
        var (left, right) = await ConnectAsync(engine);
        await Task.WhenAll(SendAsync(left, 1, Length), SendAsync(right, 2, Length), ReceiveAsync(left, 2, Length), ReceiveAsync(right, 1, Length)).WaitAsync(_limit);
        await left.DisposeAsync();
        await right.DisposeAsync();
    }

    [Theory]
    [InlineData("sockets")]
    [InlineData("epoll")]
    public async Task An_orderly_end_is_a_receive_of_nothing_behind_what_was_sent(string transport)
    {
        using var engine = TestEngines.Create(transport);
        var (left, right) = await ConnectAsync(engine);
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

    [Theory]
    [InlineData("sockets")]
    [InlineData("epoll")]
    public async Task A_receive_without_a_buffer_waits_for_something_and_takes_nothing(string transport)
    {
        using var engine = TestEngines.Create(transport);
        var (left, right) = await ConnectAsync(engine);
        var waiting = left.ReceiveAsync(Memory<byte>.Empty).AsTask();
        Assert.False(waiting.IsCompleted);
        await right.SendAsync(new byte[10]);
        Assert.Equal(0, await waiting.WaitAsync(_limit));
        Assert.Equal(0, await left.ReceiveAsync(Memory<byte>.Empty));
        Assert.Equal(10, await left.ReceiveAsync(new byte[20]));
        waiting = left.ReceiveAsync(Memory<byte>.Empty).AsTask();
        right.ShutdownSend();
        Assert.Equal(0, await waiting.WaitAsync(_limit));
        Assert.Equal(0, await left.ReceiveAsync(new byte[20]));
        await left.DisposeAsync();
        await right.DisposeAsync();
    }

    [Theory]
    [InlineData("sockets")]
    [InlineData("epoll")]
    public async Task A_kernel_that_cannot_send_takes_little_from_the_write_loop(string transport)
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "TCP_NOTSENT_LOWAT");
        using var engine = TestEngines.Create(transport);
        var (left, right) = await ConnectAsync(engine);
        var buffer = new byte[64 * 1024];
        var sent = 0;
        var sending = Task.CompletedTask;
        while (sending.IsCompleted)
        {
            await sending;
            sending = left.SendAsync(buffer).AsTask();
            sent += buffer.Length;
        }

        // What the peer's kernel took, what ours may hold unsent, and one segment. Without the option it is megabytes.
        Assert.InRange(sent, 128 * 1024, 1024 * 1024);
        var receiving = Task.Run(async () =>
        {
            var room = new byte[64 * 1024];
            for (var received = 0; received < sent;)
            {
                received += await right.ReceiveAsync(room);
            }
        });
        await Task.WhenAll(sending, receiving).WaitAsync(_limit);
        await left.DisposeAsync();
        await right.DisposeAsync();
    }

    [Theory]
    [InlineData("sockets")]
    [InlineData("epoll")]
    public async Task Abort_from_another_thread_ends_a_pending_receive(string transport)
    {
        using var engine = TestEngines.Create(transport);
        for (var i = 0; i < 50; i++)
        {
            var (left, right) = await ConnectAsync(engine);
            var receiving = left.ReceiveAsync(new byte[10]).AsTask();
            await Task.WhenAll(Task.Run(left.Abort), Task.Run(left.Abort)).WaitAsync(_limit);
            await Assert.ThrowsAsync<IOException>(() => receiving.WaitAsync(_limit));
            await Assert.ThrowsAsync<IOException>(async () => await left.ReceiveAsync(new byte[10]));
            await Assert.ThrowsAsync<IOException>(async () => await left.SendAsync(new byte[10]));
            left.ShutdownSend();
            await left.DisposeAsync();
            await right.DisposeAsync();
        }
    }

    [Theory]
    [InlineData("sockets")]
    [InlineData("epoll")]
    public async Task Abort_from_another_thread_ends_a_pending_send(string transport)
    {
        using var engine = TestEngines.Create(transport);
        for (var i = 0; i < 10; i++)
        {
            var (left, right) = await ConnectAsync(engine);
            var sending = left.SendAsync(new byte[64_000_000]).AsTask();
            Assert.False(sending.IsCompleted);
            await Task.Run(left.Abort).WaitAsync(_limit);
            await Assert.ThrowsAsync<IOException>(() => sending.WaitAsync(_limit));
            await left.DisposeAsync();
            await right.DisposeAsync();
        }
    }

    [Theory]
    [InlineData("sockets")]
    [InlineData("epoll")]
    public async Task A_reset_by_the_peer_is_an_io_exception(string transport)
    {
        using var engine = TestEngines.Create(transport);
        var (left, right) = await ConnectSocketsAsync();
        await using var connection = engine.CreateUplinkTransport(left);
        var receiving = connection.ReceiveAsync(new byte[10]).AsTask();
        right.LingerState = new LingerOption(true, 0);
        right.Dispose();
        var error = await Assert.ThrowsAsync<IOException>(() => receiving.WaitAsync(_limit));
        Assert.Contains(nameof(SocketError.ConnectionReset), error.Message, StringComparison.Ordinal);
        await Assert.ThrowsAsync<IOException>(async () =>
        {
            await connection.SendAsync(new byte[10]);
            await connection.SendAsync(new byte[10]);
        });
    }

    [Fact]
    public async Task The_socket_is_tuned_and_named()
    {
        var (left, right) = await ConnectSocketsAsync();
        using (right)
        {
            await using var transport = new SocketUplinkTransport(left);
            Assert.True(left.NoDelay);
            Assert.Equal(right.LocalEndPoint!.ToString(), transport.RemoteName);
            if (OperatingSystem.IsLinux())
            {
                Span<byte> value = stackalloc byte[4];
                left.GetRawSocketOption(6, 25, value);
                Assert.Equal(128 * 1024, BitConverter.ToInt32(value));
            }
        }
    }

    [Fact]
    public async Task The_socket_is_tuned_and_named_on_the_loop_too()
    {
        using var loop = new EpollLoop();
        var (left, right) = await ConnectSocketsAsync();
        using (right)
        {
            var transport = EpollUplinkTransport.Adopt(loop, left);
            Assert.Equal(right.LocalEndPoint!.ToString(), transport.RemoteName);
            Assert.Equal(1, transport.Socket.GetTcpOption(1));
            Assert.Equal(128 * 1024, transport.Socket.GetTcpOption(25));
            await transport.DisposeAsync();
        }
    }

    [Theory]
    [InlineData("sockets")]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task Streams_run_over_real_sockets(string transport)
    {
        using var engine = TestEngines.Create(transport);
        var (left, right) = await ConnectAsync(engine);
        await RunStreamsAsync(left, right, engine);
    }

    /// <summary>Thirty streams that carry half a megabyte each, both ways, over a pair of transports.</summary>
    internal static async Task RunStreamsAsync(IUplinkTransport left, IUplinkTransport right, IEngine engine)
    {
        var buffers = new BufferPool();
        var entry = new UplinkConnection(left, engine.Apply(new UplinkSettings { Role = UplinkRole.Entry, Buffers = buffers }));
        var agent = new UplinkConnection(right, engine.Apply(new UplinkSettings { Role = UplinkRole.Agent, Buffers = buffers }), stream => _ = Task.Run(() => EchoAsync(stream)));
        var runs = Task.WhenAll(entry.RunAsync(), agent.RunAsync());
        await Task.WhenAll(Enumerable.Range(0, 30).Select(i => Task.Run(() => CallAsync(entry, i)))).WaitAsync(_limit);
        entry.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        var ends = await runs.WaitAsync(_limit);
        Assert.Equal(SessionEndReason.Shutdown, ends[0].Reason);
        Assert.Equal(SessionEndReason.PeerClosed, ends[1].Reason);
        Assert.True(SpinWait.SpinUntil(() => buffers.Outstanding == 0, _limit));
    }

    [Theory]
    [InlineData("sockets")]
    [InlineData("epoll")]
    public async Task The_last_words_reach_a_peer_whose_bytes_were_not_all_read(string transport)
    {
        using var engine = TestEngines.Create(transport);
        for (var i = 0; i < 20; i++)
        {
            var (left, right) = await ConnectSocketsAsync();
            var uplink = new UplinkConnection(engine.CreateUplinkTransport(left), new UplinkSettings { Role = UplinkRole.Entry, MaxReceiveStreamWindow = 0 });
            var run = uplink.RunAsync();

            // A frame that breaks the protocol, and a megabyte behind it that nobody will ever parse.
            var bytes = new byte[1_000_000];
            new FrameHeader(0, FrameType.Data, FrameFlags.None, new StreamId(9, 9)).Write(bytes);
            await right.SendAsync(bytes);
            var answer = new MemoryStream();
            var buffer = new byte[4096];
            while (await right.ReceiveAsync(buffer) is > 0 and var received)
            {
                answer.Write(buffer, 0, received);
            }

            var frame = answer.ToArray();
            Assert.Equal(ProtocolError.None, FrameHeader.TryRead(frame, out var header));
            Assert.Equal(FrameType.GoAway, header.Type);
            ControlFrames.TryReadGoAway(frame.AsSpan(FrameHeader.Size), out _, out var reason, out _);
            Assert.Equal(SessionEndReason.ProtocolError, reason);
            right.Dispose();
            Assert.Equal(ProtocolError.UnknownStream, (await run.WaitAsync(_limit)).Error);
        }
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

    private static async Task<(IUplinkTransport Left, IUplinkTransport Right)> ConnectAsync(IEngine engine)
    {
        var (left, right) = await ConnectSocketsAsync();
        return (engine.CreateUplinkTransport(left), engine.CreateUplinkTransport(right));
    }

    private static async Task<(Socket Left, Socket Right)> ConnectSocketsAsync()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(1);
        var left = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await left.ConnectAsync(listener.LocalEndPoint!);
        return (left, await listener.AcceptAsync());
    }
}
