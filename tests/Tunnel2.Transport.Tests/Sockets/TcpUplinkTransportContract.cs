using System.Net.Sockets;
using System.Runtime.InteropServices;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Transport.Tests.Sockets;

/// <summary>What a transport over TCP itself does beyond <see cref="UplinkTransportContract"/>.</summary>
public abstract class TcpUplinkTransportContract : UplinkTransportContract, IDisposable
{
    private protected TcpUplinkTransportContract(string engine) => Engine = TestEngines.Create(engine);

    internal IEngine Engine { get; }

    public void Dispose()
    {
        Engine.Dispose();
        GC.SuppressFinalize(this);
    }

    [Fact]
    public async Task Streams_run_over_real_sockets()
    {
        var (left, right) = await ConnectAsync();
        await RunStreamsAsync(left, right, Engine);
    }

    [Fact]
    public async Task A_receive_without_a_buffer_waits_for_something_and_takes_nothing()
    {
        var (left, right) = await ConnectAsync();
        var waiting = left.ReceiveAsync(Memory<byte>.Empty).AsTask();
        Assert.False(waiting.IsCompleted);
        await right.SendAsync(new byte[10]);
        Assert.Equal(0, await waiting.WaitAsync(Limit));
        Assert.Equal(0, await left.ReceiveAsync(Memory<byte>.Empty));
        Assert.Equal(10, await left.ReceiveAsync(new byte[20]));
        waiting = left.ReceiveAsync(Memory<byte>.Empty).AsTask();
        right.ShutdownSend();
        Assert.Equal(0, await waiting.WaitAsync(Limit));
        Assert.Equal(0, await left.ReceiveAsync(new byte[20]));
        await left.DisposeAsync();
        await right.DisposeAsync();
    }

    [Fact]
    public async Task A_kernel_that_cannot_send_takes_little_from_the_write_loop()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "TCP_NOTSENT_LOWAT");
        var (left, right) = await ConnectAsync();
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
        await Task.WhenAll(sending, receiving).WaitAsync(Limit);
        await left.DisposeAsync();
        await right.DisposeAsync();
    }

    [Fact]
    public async Task Segments_that_have_to_be_sent_again_are_counted()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "TCP_INFO");
        var (left, right) = await ConnectSocketsAsync();
        using (right)
        {
            await using var connection = Engine.CreateUplinkTransport(left);
            await connection.SendAsync(new byte[10]);
            Assert.Equal(10, await right.ReceiveAsync(new byte[10]));
            Assert.Equal(0, connection.RetransmittedSegments);
            DropAllAt(right);
            await connection.SendAsync(new byte[10]);
            Assert.True(SpinWait.SpinUntil(() => connection.RetransmittedSegments > 0, Limit));
        }
    }

    [Fact]
    public async Task A_reset_by_the_peer_is_an_io_exception()
    {
        var (left, right) = await ConnectSocketsAsync();
        await using var connection = Engine.CreateUplinkTransport(left);
        var receiving = connection.ReceiveAsync(new byte[10]).AsTask();
        right.LingerState = new LingerOption(true, 0);
        right.Dispose();
        var error = await Assert.ThrowsAsync<IOException>(() => receiving.WaitAsync(Limit));
        Assert.Contains(nameof(SocketError.ConnectionReset), error.Message, StringComparison.Ordinal);
        await Assert.ThrowsAsync<IOException>(async () =>
        {
            await connection.SendAsync(new byte[10]);
            await connection.SendAsync(new byte[10]);
        });
    }

    [Theory]
    [InlineData(0)]
    [InlineData(4)]
    public async Task A_reset_that_a_send_has_met_is_no_orderly_end_for_who_receives(int length)
    {
        var (left, right) = await ConnectSocketsAsync();
        await using var connection = Engine.CreateUplinkTransport(left);
        await right.SendAsync(new byte[length]);
        right.LingerState = new LingerOption(true, 0);
        right.Dispose();
        await SendUntilBrokenAsync(connection);
        var buffer = new byte[10];
        if (length > 0)
        {
            Assert.Equal(length, await connection.ReceiveAsync(buffer).AsTask().WaitAsync(Limit));
        }

        for (var i = 0; i < 2; i++)
        {
            var error = await Assert.ThrowsAsync<IOException>(() => connection.ReceiveAsync(buffer).AsTask().WaitAsync(Limit));
            Assert.Contains(nameof(SocketError.ConnectionReset), error.Message, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task An_end_stays_orderly_for_who_receives_when_a_send_meets_the_close_after_it()
    {
        var (left, right) = await ConnectSocketsAsync();
        await using var connection = Engine.CreateUplinkTransport(left);
        await right.SendAsync(new byte[4]);
        right.Dispose();
        await SendUntilBrokenAsync(connection);
        var buffer = new byte[10];
        Assert.Equal(4, await connection.ReceiveAsync(buffer).AsTask().WaitAsync(Limit));
        Assert.Equal(0, await connection.ReceiveAsync(buffer).AsTask().WaitAsync(Limit));
    }

    [Fact]
    public async Task The_last_words_reach_a_peer_whose_bytes_were_not_all_read()
    {
        for (var i = 0; i < 20; i++)
        {
            var (left, right) = await ConnectSocketsAsync();
            var uplink = new UplinkConnection(
                Engine.CreateUplinkTransport(left), new UplinkSettings { Role = UplinkRole.Entry, MaxReceiveStreamWindow = 0 });
            var run = uplink.RunAsync();

            // A frame that breaks the protocol, and a megabyte after it that will never be parsed.
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
            Assert.Equal(ProtocolError.UnknownStream, (await run.WaitAsync(Limit)).Error);
        }
    }

    private static Task<IOException> SendUntilBrokenAsync(IUplinkTransport connection) => Assert.ThrowsAsync<IOException>(async () =>
    {
        while (true)
        {
            await connection.SendAsync(new byte[10]).AsTask().WaitAsync(Limit);
        }
    });

    /// <summary>Has the kernel throw away all that comes to a socket: a filter of one step, "keep nothing".</summary>
    private static void DropAllAt(Socket socket)
    {
        const int AttachFilter = 26;
        var program = Marshal.AllocHGlobal(sizeof(long));
        try
        {
            Marshal.WriteInt64(program, 0x06);
            var filter = new byte[2 * sizeof(long)];
            filter[0] = 1;
            BitConverter.TryWriteBytes(filter.AsSpan(sizeof(long)), (long)program);
            socket.SetRawSocketOption(1, AttachFilter, filter);
        }
        finally
        {
            Marshal.FreeHGlobal(program);
        }
    }

    internal override async Task<(IUplinkTransport Left, IUplinkTransport Right)> ConnectAsync()
    {
        var (left, right) = await ConnectSocketsAsync();
        return (Engine.CreateUplinkTransport(left), Engine.CreateUplinkTransport(right));
    }
}
