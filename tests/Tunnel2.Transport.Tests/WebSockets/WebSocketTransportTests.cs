using System.Net.Sockets;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Sockets;
using Tunnel2.Transport.Tests.Sockets;
using Tunnel2.Transport.WebSockets;

namespace Tunnel2.Transport.Tests.WebSockets;

public sealed class WebSocketTransportTests : UplinkTransportContract
{
    [Theory]
    [InlineData("epoll")]
    [InlineData("portable")]
    public async Task Streams_run_over_a_WebSocket(string name)
    {
        using var engine = TestEngines.Create(name);
        var (left, right) = await ConnectSocketsAsync();
        await RunStreamsAsync(
            new WebSocketTransport(engine.CreateUplinkTransport(right), isClient: false),
            new WebSocketTransport(engine.CreateUplinkTransport(left), isClient: true),
            engine);
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task What_leaves_is_binary_masked_by_clients_alone_and_in_messages_of_16_KiB_at_most(bool isClient)
    {
        var (left, right) = await ConnectSocketsAsync();
        await using var transport = new WebSocketTransport(new SocketTransport(left), isClient);
        var bytes = new byte[100_000];
        Random.Shared.NextBytes(bytes);
        await transport.SendAsync(bytes);
        using var peer = new NetworkStream(right, ownsSocket: true);
        var received = new List<byte>();
        while (received.Count < bytes.Length)
        {
            var head = await ReadAsync(peer, 2);
            Assert.Equal(0x82, head[0]);
            Assert.Equal(isClient, (head[1] & 0x80) != 0);
            var length = head[1] & 0x7f;
            length = length == 126 ? ((await ReadAsync(peer, 1))[0] << 8) | (await ReadAsync(peer, 1))[0] : length;
            Assert.InRange(length, 1, 16 * 1024);
            var mask = isClient ? await ReadAsync(peer, 4) : new byte[4];
            received.AddRange((await ReadAsync(peer, length)).Select((value, i) => (byte)(value ^ mask[i & 3])));
        }

        Assert.Equal(bytes, received);
    }

    [Fact]
    public async Task A_ping_is_answered_while_the_reader_waits_and_bytes_of_the_handshake_come_first()
    {
        var (left, right) = await ConnectSocketsAsync();
        await using var transport = new WebSocketTransport(
            new SocketTransport(left), isClient: false, initial: new byte[] { 0x82, 0x81, 0, 0, 0, 0, 0x61, 0x89, 0x82, 0, 0 });
        var buffer = new byte[10];
        Assert.Equal(0, await transport.ReceiveAsync(Memory<byte>.Empty));
        Assert.Equal(1, await transport.ReceiveAsync(buffer));
        Assert.Equal(0x61, buffer[0]);
        var receiving = transport.ReceiveAsync(buffer).AsTask();
        using var peer = new NetworkStream(right, ownsSocket: true);
        await peer.WriteAsync(new byte[] { 0, 0, 0x68, 0x69 });
        Assert.Equal("8A026869", Convert.ToHexString(await ReadAsync(peer, 4)));
        await peer.WriteAsync(new byte[] { 0x82, 0x81, 0, 0, 0, 0, 0x62 });
        Assert.Equal(1, await receiving.WaitAsync(Limit));
        Assert.Equal(0x62, buffer[0]);
    }

    [Fact]
    public async Task Pings_from_a_peer_that_does_not_read_hold_one_answer_and_sends_keep_their_order()
    {
        var (left, right) = await ConnectSocketsAsync();
        await using var transport = new WebSocketTransport(new SocketTransport(left), isClient: false);
        var sending = transport.SendAsync(new byte[32_000_000]).AsTask();
        Assert.False(sending.IsCompleted);
        using var peer = new NetworkStream(right, ownsSocket: true);
        for (byte i = 0; i < 100; i++)
        {
            await peer.WriteAsync(new byte[] { 0x89, 0x81, 0, 0, 0, 0, i });
        }

        await peer.WriteAsync(new byte[] { 0x82, 0x81, 0, 0, 0, 0, 0x61 });
        var buffer = new byte[10];
        Assert.Equal(1, await transport.ReceiveAsync(buffer).AsTask().WaitAsync(Limit));
        var total = 0;
        var pongs = new List<byte>();
        while (total < 32_000_000 || pongs.Count == 0)
        {
            var head = await ReadAsync(peer, 2);
            var length = head[1] == 126 ? ((await ReadAsync(peer, 1))[0] << 8) | (await ReadAsync(peer, 1))[0] : head[1];
            var body = await ReadAsync(peer, length);
            if (head[0] == 0x8a)
            {
                pongs.Add(body[0]);
            }
            else
            {
                total += length;
            }
        }

        await sending.WaitAsync(Limit);
        Assert.Equal(99, Assert.Single(pongs));
    }

    [Theory]
    [InlineData("c2 01 61", "changed on the way")]
    [InlineData("81 01 61", "text message")]
    [InlineData("88 02 03 f1", "code 1009")]
    [InlineData("88 06 03 f0 62 75 73 79", "code 1008: busy")]
    public async Task A_middlebox_that_changes_frames_or_closes_is_named(string hex, string words)
    {
        var (left, right) = await ConnectSocketsAsync();
        await using var transport = new WebSocketTransport(new SocketTransport(left), isClient: true);
        using var peer = new NetworkStream(right, ownsSocket: true);
        await peer.WriteAsync(Convert.FromHexString("820161" + hex.Replace(" ", "", StringComparison.Ordinal)));
        var buffer = new byte[100];
        Assert.Equal(1, await transport.ReceiveAsync(buffer).AsTask().WaitAsync(Limit));
        for (var i = 0; i < 2; i++)
        {
            var failure = await Assert.ThrowsAsync<IOException>(async () => await transport.ReceiveAsync(buffer).AsTask().WaitAsync(Limit));
            Assert.Contains(words, failure.Message, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task A_broken_frame_is_answered_by_a_close_that_says_so()
    {
        var (left, right) = await ConnectSocketsAsync();
        await using var transport = new WebSocketTransport(new SocketTransport(left), isClient: false);
        using var peer = new NetworkStream(right, ownsSocket: true);
        await peer.WriteAsync(new byte[] { 0x82, 0x01, 0x61 });
        await Assert.ThrowsAsync<IOException>(async () => await transport.ReceiveAsync(new byte[10]).AsTask().WaitAsync(Limit));
        Assert.Equal("880203EA", Convert.ToHexString(await ReadAsync(peer, 4)));
    }

    [Theory]
    [InlineData("8800")]
    [InlineData("880203e8")]
    [InlineData("880203e9")]
    public async Task An_ordinary_close_is_an_orderly_end(string hex)
    {
        var (left, right) = await ConnectSocketsAsync();
        await using var transport = new WebSocketTransport(new SocketTransport(left), isClient: true);
        using var peer = new NetworkStream(right, ownsSocket: true);
        await peer.WriteAsync(Convert.FromHexString(hex));
        Assert.Equal(0, await transport.ReceiveAsync(new byte[10]).AsTask().WaitAsync(Limit));
        Assert.Equal(0, await transport.ReceiveAsync(new byte[10]));
    }

    [Theory]
    [InlineData("888000000000", "8800")]
    [InlineData("88820000000003e8", "880203E8")]
    [InlineData("88820000000003e9", "880203E9")]
    [InlineData("8885000000000fa0627965", "88020FA0")]
    [InlineData("820161", "880203EA")]
    [InlineData("81810000000061", "880203EB")]
    public async Task An_end_by_the_peer_is_answered_by_one_close_which_no_reset_follows_although_more_has_come(string hex, string answer)
    {
        var (left, right) = await ConnectSocketsAsync();
        var transport = new WebSocketTransport(new SocketTransport(left), isClient: false);
        using var peer = new NetworkStream(right, ownsSocket: true);
        await peer.WriteAsync((byte[])[.. Convert.FromHexString(hex), .. new byte[40_000]]);
        await EndAsync(transport);
        Assert.Equal(answer, Convert.ToHexString(await ReadAsync(peer, answer.Length / 2)));
        Assert.Equal(0, await peer.ReadAsync(new byte[1]).AsTask().WaitAsync(Limit));
        right.Shutdown(SocketShutdown.Send);
        await transport.DisposeAsync().AsTask().WaitAsync(Limit);
    }

    [Fact]
    public async Task A_close_that_was_sent_first_is_not_repeated()
    {
        var (left, right) = await ConnectSocketsAsync();
        var transport = new WebSocketTransport(new SocketTransport(left), isClient: false);
        using var peer = new NetworkStream(right, ownsSocket: true);
        transport.ShutdownSend();
        Assert.Equal("880203E8", Convert.ToHexString(await ReadAsync(peer, 4)));
        await peer.WriteAsync(Convert.FromHexString("88820000000003e8"));
        await EndAsync(transport);
        Assert.Equal(0, await peer.ReadAsync(new byte[1]).AsTask().WaitAsync(Limit));
        right.Shutdown(SocketShutdown.Send);
        await transport.DisposeAsync().AsTask().WaitAsync(Limit);
    }

    [Fact]
    public async Task The_answer_to_a_close_leaves_behind_the_message_that_is_on_its_way_and_no_other_one_does()
    {
        var (left, right) = await ConnectSocketsAsync();
        var transport = new WebSocketTransport(new SocketTransport(left), isClient: false);
        using var peer = new NetworkStream(right, ownsSocket: true);
        var sending = transport.SendAsync(new byte[32_000_000]).AsTask();
        Assert.False(sending.IsCompleted);
        await peer.WriteAsync(Convert.FromHexString("88820000000003e8"));
        await EndAsync(transport);
        var received = new MemoryStream();
        await peer.CopyToAsync(received).WaitAsync(Limit);
        Assert.InRange(received.Length, 1, 31_000_000);
        Assert.Equal("880203E8", Convert.ToHexString(received.ToArray().AsSpan()[^4..]));
        await Assert.ThrowsAsync<IOException>(() => sending.WaitAsync(Limit));
        right.Shutdown(SocketShutdown.Send);
        await transport.DisposeAsync().AsTask().WaitAsync(Limit);
    }

    [Theory]
    [InlineData(0)]
    [InlineData(32_000_000)]
    public async Task A_peer_that_closes_its_WebSocket_and_not_its_connection_is_waited_for_for_a_moment_only(int unread)
    {
        var time = new ManualTimeProvider();
        var (left, right) = await ConnectSocketsAsync();
        var transport = new WebSocketTransport(new SocketTransport(left), isClient: false, timeProvider: time);
        using var peer = new NetworkStream(right, ownsSocket: true);
        var sending = unread > 0 ? transport.SendAsync(new byte[unread]).AsTask() : Task.CompletedTask;
        await peer.WriteAsync(Convert.FromHexString("88820000000003e8"));
        await EndAsync(transport);
        var ending = transport.DisposeAsync().AsTask();
        Assert.False(ending.IsCompleted);
        await WaitSignal.UntilAsync(
            () =>
            {
                time.Advance(TimeSpan.FromMilliseconds(250));
                return ending.IsCompleted;
            },
            "the connection has ended");
        await ending;
        await (unread > 0 ? Assert.ThrowsAsync<IOException>(() => sending.WaitAsync(Limit)) : sending);
    }

    [Fact]
    public async Task A_peer_that_sends_on_after_its_close_is_cut_after_64_KiB()
    {
        var (left, right) = await ConnectSocketsAsync();
        var transport = new WebSocketTransport(new SocketTransport(left), isClient: false, timeProvider: new ManualTimeProvider());
        using var peer = new NetworkStream(right, ownsSocket: true);
        await peer.WriteAsync(Convert.FromHexString("88820000000003e8"));
        await EndAsync(transport);
        var ending = transport.DisposeAsync().AsTask();
        await Assert.ThrowsAsync<IOException>(async () =>
        {
            while (true)
            {
                await peer.WriteAsync(new byte[8 * 1024]);
            }
        }).WaitAsync(Limit);
        await ending.WaitAsync(Limit);
    }

    /// <summary>What an uplink does when its peer has ended: it reads on until it learns of it, and aborts.</summary>
    private static async Task EndAsync(WebSocketTransport transport)
    {
        try
        {
            Assert.Equal(0, await transport.ReceiveAsync(new byte[16 * 1024]).AsTask().WaitAsync(Limit));
        }
        catch (IOException)
        {
            // The frames were broken, or the code was one of a failure.
        }

        transport.Abort();
    }

    internal override async Task<(IUplinkTransport Left, IUplinkTransport Right)> ConnectAsync()
    {
        var (left, right) = await ConnectSocketsAsync();
        return (
            new WebSocketTransport(new SocketTransport(left), isClient: true),
            new WebSocketTransport(new SocketTransport(right), isClient: false));
    }

    private static async Task<byte[]> ReadAsync(NetworkStream stream, int length)
    {
        var bytes = new byte[length];
        await stream.ReadExactlyAsync(bytes).AsTask().WaitAsync(Limit);
        return bytes;
    }
}
