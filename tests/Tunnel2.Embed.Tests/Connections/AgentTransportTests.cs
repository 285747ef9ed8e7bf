using System.Buffers;
using Microsoft.AspNetCore.Connections;
using Tunnel2.Embed.Connections;
using Tunnel2.TestUtilities;

namespace Tunnel2.Embed.Tests.Connections;

/// <summary>The two sides of a connection within the process.</summary>
public sealed class AgentTransportTests : IAsyncDisposable
{
    /// <summary>The pipe's limit, and the piece that may be in it beyond.</summary>
    private const int MostHeld = (64 + 16) * 1024;

    private readonly TunnelConnection _connection = new(TunnelEndPoint.Instance, null);

    private AgentTransport Agent => _connection.Agent;

    public ValueTask DisposeAsync() => _connection.DisposeAsync();

    [Fact]
    public async Task Bytes_cross_in_both_directions()
    {
        await Agent.SendAsync("request"u8.ToArray());
        var read = await _connection.Transport.Input.ReadAsync();
        Assert.Equal("request"u8.ToArray(), read.Buffer.ToArray());
        _connection.Transport.Input.AdvanceTo(read.Buffer.End);
        await _connection.Transport.Output.WriteAsync("response"u8.ToArray());
        var buffer = new byte[3];
        Assert.Equal(3, await Agent.ReceiveAsync(buffer));
        Assert.Equal("res"u8.ToArray(), buffer);
        Assert.Equal(0, await Agent.ReceiveAsync(Memory<byte>.Empty));
        var rest = new byte[100];
        Assert.Equal(5, await Agent.ReceiveAsync(rest));
        Assert.Equal("ponse"u8.ToArray(), rest[..5]);
    }

    [Fact]
    public async Task A_send_waits_for_an_app_that_does_not_read()
    {
        var bytes = new byte[1_000_000];
        PatternBytes.Fill(bytes, 0);
        var sending = Agent.SendAsync(bytes).AsTask();
        var total = 0;
        while (total < bytes.Length)
        {
            Assert.False(sending.IsCompleted && total + MostHeld < bytes.Length);
            var read = await _connection.Transport.Input.ReadAsync();
            Assert.InRange(read.Buffer.Length, 1, MostHeld);
            PatternBytes.Verify(read.Buffer.ToArray(), total);
            total += (int)read.Buffer.Length;
            _connection.Transport.Input.AdvanceTo(read.Buffer.End);
        }

        await sending;
    }

    [Fact]
    public async Task The_end_of_sending_is_the_end_of_the_apps_input_and_of_nothing_else()
    {
        await Agent.SendAsync("x"u8.ToArray());
        Agent.ShutdownSend();
        var read = await _connection.Transport.Input.ReadAsync();
        Assert.True(read.IsCompleted);
        Assert.False(_connection.ConnectionClosed.IsCancellationRequested);
        await _connection.Transport.Output.WriteAsync("y"u8.ToArray());
        Assert.Equal(1, await Agent.ReceiveAsync(new byte[10]));
        await Assert.ThrowsAnyAsync<IOException>(async () => await Agent.SendAsync("z"u8.ToArray()));
    }

    [Fact]
    public async Task What_the_app_wrote_before_its_end_is_received()
    {
        await _connection.Transport.Output.WriteAsync("last"u8.ToArray());
        await _connection.DisposeAsync();
        var buffer = new byte[10];
        Assert.Equal(4, await Agent.ReceiveAsync(buffer));
        Assert.Equal(0, await Agent.ReceiveAsync(buffer));
        await Assert.ThrowsAnyAsync<IOException>(async () => await Agent.SendAsync("z"u8.ToArray()));
    }

    [Fact]
    public async Task An_abort_ends_what_is_pending_on_both_sides()
    {
        var closed = new WaitSignal("the connection is closed");
        using var registration = _connection.ConnectionClosed.Register(closed.Set);
        var receiving = Agent.ReceiveAsync(new byte[10]).AsTask();
        var sending = Agent.SendAsync(new byte[1_000_000]).AsTask();
        Agent.Abort();
        Agent.Abort();
        await Assert.ThrowsAnyAsync<IOException>(() => receiving);
        await Assert.ThrowsAnyAsync<IOException>(() => sending);
        await closed.WaitAsync();
        while (await _connection.Transport.Input.ReadAsync() is { IsCompleted: false } read)
        {
            _connection.Transport.Input.AdvanceTo(read.Buffer.End);
        }

        await Assert.ThrowsAnyAsync<IOException>(async () => await Agent.ReceiveAsync(new byte[10]));
    }

    [Fact]
    public async Task An_abort_ends_a_write_of_the_app_that_waits()
    {
        var writing = _connection.Transport.Output.WriteAsync(new byte[1_000_000]).AsTask();
        Assert.False(writing.IsCompleted);
        Agent.Abort();
        Assert.True((await writing).IsCompleted);
    }

    [Fact]
    public async Task An_abort_of_the_app_is_no_orderly_end()
    {
        await _connection.Transport.Output.WriteAsync("half"u8.ToArray());
        _connection.Abort(new ConnectionAbortedException("a test"));
        await _connection.DisposeAsync();
        await Assert.ThrowsAnyAsync<IOException>(async () => await Agent.ReceiveAsync(new byte[10]));
    }

    [Fact]
    public async Task An_output_that_failed_is_an_io_fault()
    {
        await _connection.Transport.Output.CompleteAsync(new InvalidOperationException("a test"));
        await Assert.ThrowsAnyAsync<IOException>(async () => await Agent.ReceiveAsync(new byte[10]));
    }

    [Fact]
    public async Task It_is_idle_until_something_comes()
    {
        Assert.True(Agent.IsIdleAndOpen());
        var waiting = Agent.ReceiveAsync(Memory<byte>.Empty).AsTask();
        Assert.True(Agent.IsIdleAndOpen());
        await _connection.Transport.Output.FlushAsync();
        Assert.True(Agent.IsIdleAndOpen());
        Assert.False(waiting.IsCompleted);
        await _connection.Transport.Output.WriteAsync("x"u8.ToArray());
        Assert.False(Agent.IsIdleAndOpen());
        Assert.Equal(0, await waiting);
        Assert.True(Agent.HasBytes());
        Assert.False(Agent.IsIdleAndOpen());
    }

    [Fact]
    public async Task It_is_not_idle_when_the_app_has_ended_it()
    {
        var waiting = Agent.ReceiveAsync(Memory<byte>.Empty).AsTask();
        await _connection.DisposeAsync();
        Assert.False(Agent.IsIdleAndOpen());
        Assert.Equal(0, await waiting);
        Assert.False(Agent.HasBytes());
    }

    /// <summary>For all that the two sides do at the same time, each wait ends and only the faults of I/O come out.</summary>
    [Fact]
    public async Task An_abort_at_any_moment_is_an_end_and_no_fault()
    {
        for (var round = 0; round < 500; round++)
        {
            var connection = new TunnelConnection(TunnelEndPoint.Instance, null);
            var app = Task.Run(async () =>
            {
                while (true)
                {
                    var flush = await connection.Transport.Output.WriteAsync(new byte[10_000]);
                    var read = await connection.Transport.Input.ReadAsync();
                    connection.Transport.Input.AdvanceTo(read.Buffer.End);
                    if (flush.IsCompleted || read.IsCompleted)
                    {
                        await connection.DisposeAsync();
                        return;
                    }
                }
            });
            var sender = Task.Run(async () => await Assert.ThrowsAnyAsync<IOException>(async () =>
            {
                while (true)
                {
                    await connection.Agent.SendAsync(new byte[20_000]);
                }
            }));
            var receiver = Task.Run(async () => await Assert.ThrowsAnyAsync<IOException>(async () =>
            {
                var buffer = new byte[7_000];
                while (await connection.Agent.ReceiveAsync(buffer) > 0)
                {
                }

                throw new IOException("The app was first.");
            }));
            var aborter = Task.Run(connection.Agent.Abort);
            await Task.WhenAll(app, sender, receiver, aborter).WaitAsync(TimeSpan.FromSeconds(30));
        }
    }
}
