using System.IO.Pipes;
using System.Net.Sockets;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Multiplexing.Transports;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Backend;

public sealed class PipeTransportTests
{
    private readonly ManualTimeProvider _time = new();

    [Fact]
    public Task Bytes_pass_in_both_directions_until_the_service_ends() => RunAsync(static async (transport, service) =>
    {
        await transport.SendAsync("ping"u8.ToArray());
        var buffer = new byte[4];
        await service.ReadExactlyAsync(buffer);
        Assert.Equal("ping"u8.ToArray(), buffer);
        await service.WriteAsync("pong"u8.ToArray());
        Assert.Equal(4, await transport.ReceiveAsync(buffer));
        Assert.Equal("pong"u8.ToArray(), buffer);
        await service.DisposeAsync();
        Assert.Equal(0, await transport.ReceiveAsync(buffer));
    });

    [Fact]
    public Task A_wait_without_a_buffer_ends_with_the_first_byte_and_loses_none() => RunAsync(static async (transport, service) =>
    {
        var waiting = transport.ReceiveAsync(Memory<byte>.Empty);
        Assert.False(transport.HasBytes());
        await service.WriteAsync("abc"u8.ToArray());
        Assert.Equal(0, await waiting);
        Assert.Equal((true, false), (transport.HasBytes(), ((IByteTransport)transport).IsIdleAndOpen()));
        Assert.Equal(0, await transport.ReceiveAsync(Memory<byte>.Empty));
        var received = new List<byte>();
        var buffer = new byte[8];
        while (received.Count < 3)
        {
            received.AddRange(buffer[..await transport.ReceiveAsync(buffer)]);
        }

        Assert.Equal("abc"u8.ToArray(), received);
        waiting = transport.ReceiveAsync(Memory<byte>.Empty);
        await service.DisposeAsync();
        Assert.Equal(0, await waiting);
        Assert.Equal((false, 0), (transport.HasBytes(), await transport.ReceiveAsync(buffer)));
    });

    [Fact]
    public Task After_the_visitors_end_the_service_may_answer_until_it_is_silent_for_long() => RunAsync(async (transport, service) =>
    {
        transport.ShutdownSend();
        var buffer = new byte[1];
        for (var i = 0; i < 3; i++)
        {
            _time.Advance(PipeTransport.Silence - TimeSpan.FromSeconds(1));
            await service.WriteAsync("x"u8.ToArray());
            Assert.Equal(1, await transport.ReceiveAsync(buffer));
        }

        var receiving = transport.ReceiveAsync(buffer);
        _time.Advance(PipeTransport.Silence);
        Assert.Equal(0, await receiving);

        // The service sees the end too.
        Assert.Equal(0, await service.ReadAsync(buffer));
    });

    [Fact]
    public Task What_waits_fails_when_the_connection_is_aborted() => RunAsync(static async (transport, _) =>
    {
        var receiving = transport.ReceiveAsync(new byte[1]).AsTask();
        transport.Abort();
        transport.Abort();
        await Assert.ThrowsAsync<IOException>(() => receiving);
        await Assert.ThrowsAsync<IOException>(() => transport.SendAsync(new byte[1]).AsTask());
        await Assert.ThrowsAsync<IOException>(() => transport.ReceiveAsync(new byte[1]).AsTask());
    });

    [Fact]
    public async Task A_pipe_that_is_not_there_counts_as_one_where_nothing_listens()
    {
        var time = new ManualTimeProvider { SkipsWaits = true };
        var (transport, error) = await PipeDialer.ConnectAsync($"t2-{Guid.NewGuid():N}", time, TestContext.Current.CancellationToken);
        Assert.Equal((null, SocketError.ConnectionRefused), (transport, error));
    }

    [Fact]
    public async Task A_name_that_the_system_does_not_take_is_an_error_and_not_a_fault()
    {
        Assert.SkipUnless(OperatingSystem.IsLinux(), "Windows takes it.");
        var (transport, error) = await PipeDialer.ConnectAsync(new string('a', 247), _time, TestContext.Current.CancellationToken);
        Assert.Equal((null, SocketError.SocketError), (transport, error));
    }

    private async Task RunAsync(Func<PipeTransport, PipeStream, Task> test)
    {
        var name = $"t2-{Guid.NewGuid():N}";
        await using var service = new NamedPipeServerStream(
            name, PipeDirection.InOut, 1, PipeTransmissionMode.Byte, PipeOptions.Asynchronous);
        var accepting = service.WaitForConnectionAsync(TestContext.Current.CancellationToken);
        var (transport, error) = await PipeDialer.ConnectAsync(name, _time, TestContext.Current.CancellationToken);
        Assert.Equal(SocketError.Success, error);
        await accepting;
        await using (transport)
        {
            await test(transport!, service);
        }
    }
}
