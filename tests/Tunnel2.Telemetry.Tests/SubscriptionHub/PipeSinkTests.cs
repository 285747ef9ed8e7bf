using System.Net.Sockets;
using Tunnel2.Telemetry.SubscriptionHub;

namespace Tunnel2.Telemetry.Tests.SubscriptionHub;

public sealed class PipeSinkTests
{
    private readonly byte[] _bytes = new byte[PipeSink.Room];
    private int _ends;

    [Fact]
    public async Task A_reader_that_takes_nothing_is_a_full_socket()
    {
        var sink = new PipeSink(() => _ends++);
        Assert.Equal(PipeSink.Room - 10, sink.Send(_bytes, 0, PipeSink.Room - 10, out var error));
        Assert.Equal(SocketError.Success, error);
        Assert.Equal(10, sink.Send(_bytes, 0, 100, out _));
        Assert.Equal(0, sink.Send(_bytes, 0, 100, out error));
        Assert.Equal(SocketError.WouldBlock, error);
        var read = await sink.Reader.ReadAsync(TestContext.Current.CancellationToken);
        Assert.Equal(PipeSink.Room, read.Buffer.Length);
        sink.Reader.AdvanceTo(read.Buffer.End);
        sink.Taken(read.Buffer.Length);
        Assert.Equal(100, sink.Send(_bytes, 0, 100, out _));
    }

    [Fact]
    public async Task What_was_sent_before_the_end_is_read_and_then_the_end()
    {
        var sink = new PipeSink(() => _ends++);
        sink.Send(_bytes, 0, 3, out _);
        sink.Shutdown(SocketShutdown.Send);
        sink.Shutdown(SocketShutdown.Both);
        Assert.Equal(1, _ends);
        var read = await sink.Reader.ReadAsync(TestContext.Current.CancellationToken);
        Assert.Equal((3L, true), (read.Buffer.Length, read.IsCompleted));
        Assert.Throws<ObjectDisposedException>(() => sink.Send(_bytes, 0, 1, out _));
    }
}
