using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Transport.Epoll;
using Tunnel2.Transport.Tests.Epoll;
using Tunnel2.Transport.Tls;

namespace Tunnel2.Transport.Tests.Tls;

public sealed class TlsByteStreamTests : IDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly EpollLoop _loop = new();
    private readonly BufferPool _buffers = new();

    public void Dispose() => _loop.Dispose();

    [Theory]
    [InlineData(true, 1)]
    [InlineData(false, 0)]
    public async Task What_is_no_uplink_waits_without_a_buffer(bool isUplink, int held)
    {
        var (left, right) = await LoopbackPair.ConnectAsync();
        using (right)
        {
            var transport = EpollChannel.AdoptUplink(_loop, left);
            await using var stream = Create(transport, isUplink);
            await right.SendAsync(new byte[10]);
            Assert.Equal(10, await stream.ReadAsync(new byte[100]).AsTask().WaitAsync(_limit));
            var waiting = stream.ReadAsync(Memory<byte>.Empty).AsTask();
            Assert.Equal(held, _buffers.Outstanding);
            await right.SendAsync(new byte[20]);
            Assert.Equal(0, await waiting.WaitAsync(_limit));
            Assert.Equal(20, await stream.ReadAsync(new byte[100]).AsTask().WaitAsync(_limit));
            await transport.DisposeAsync();
            stream.ReturnBuffer();
            Assert.Equal(0, _buffers.Outstanding);
        }
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task A_buffer_comes_back_once_though_it_is_closed_while_a_read_is_pending(bool isUplink)
    {
        for (var i = 0; i < 50; i++)
        {
            var (left, right) = await LoopbackPair.ConnectAsync();
            using (right)
            {
                var transport = EpollChannel.AdoptUplink(_loop, left);
                await using var stream = Create(transport, isUplink);
                var reading = stream.ReadAsync(new byte[100]).AsTask();
                Assert.Equal(1, _buffers.Outstanding);
                transport.Abort();
                stream.ReturnBuffer();
                await Assert.ThrowsAsync<IOException>(() => reading.WaitAsync(_limit));
                Assert.Equal(0, _buffers.Outstanding);
                await Assert.ThrowsAsync<IOException>(() => stream.ReadAsync(new byte[100]).AsTask());
                stream.ReturnBuffer();
                Assert.Equal(0, _buffers.Outstanding);
            }
        }
    }

    [Fact]
    public async Task Gathered_bytes_keep_their_buffer_until_the_writer_is_done_with_it()
    {
        var (left, right) = await LoopbackPair.ConnectAsync();
        using (right)
        {
            var transport = EpollChannel.AdoptUplink(_loop, left);
            await using var stream = Create(transport, isUplink: true);
            stream.BeginGathering();
            Task writing;
            do
            {
                writing = stream.WriteAsync(new byte[16 * 1024]).AsTask();
            }
            while (writing.IsCompleted);
            transport.Abort();
            stream.ReturnBuffer();
            Assert.Equal(1, _buffers.Outstanding);
            await Assert.ThrowsAsync<IOException>(() => writing.WaitAsync(_limit));

            // TLS may not have noticed the end yet, and writes one more record.
            await stream.WriteAsync(new byte[1000]);
            stream.EndGathering();
            Assert.Equal(0, _buffers.Outstanding);
        }
    }

    private TlsByteStream Create(EpollChannel transport, bool isUplink)
    {
        var stream = new TlsByteStream(transport, _buffers, isUplink);
        stream.EndHandshake();
        return stream;
    }
}
