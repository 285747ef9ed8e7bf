using System.Diagnostics;
using Grpc.Core;
using Grpc.Net.Client;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;
using static Tunnel2.FunctionalTests.Grpc.GrpcEchoBase;

namespace Tunnel2.FunctionalTests.Grpc;

/// <summary>The cases of gRPC's interoperability tests, and more, through ProxyEntry and agent to ASP.NET Core's gRPC.</summary>
[Trait("Engine", "each")]
public sealed class GrpcTests
{
    private const int Mebibyte = 1024 * 1024;

    [Theory]
    [InlineData(0)]
    [InlineData(1)]
    [InlineData(100_000)]
    [InlineData(16 * 1024 * 1024)]
    public Task A_unary_call_carries_a_message_of_any_size(int length) => GrpcTunnel.RunAsync(async (channel, _) =>
    {
        var message = new byte[length];
        Random.Shared.NextBytes(message);
        Assert.True((await UnaryAsync(channel, message)).AsSpan().SequenceEqual(message));
    });

    [Fact]
    public Task A_thousand_calls_at_once() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        var answers = await Task.WhenAll(Enumerable.Range(0, 1000).Select(i => UnaryAsync(channel, BitConverter.GetBytes(i))));
        Assert.Equal(Enumerable.Range(0, 1000), answers.Select(static answer => BitConverter.ToInt32(answer)));
    });

    [Fact]
    public Task The_service_streams() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        using var call = channel.CreateCallInvoker().AsyncServerStreamingCall(DownMethod, null, default, BitConverter.GetBytes(5000));
        var count = 0;
        await foreach (var message in call.ResponseStream.ReadAllAsync())
        {
            Assert.Equal(count++, BitConverter.ToInt32(message));
        }

        Assert.Equal(5000, count);
        Assert.Equal(StatusCode.OK, call.GetStatus().StatusCode);
    });

    [Fact]
    public Task The_client_streams() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        using var call = channel.CreateCallInvoker().AsyncClientStreamingCall(UpMethod, null, default);
        for (var i = 0; i < 1000; i++)
        {
            await call.RequestStream.WriteAsync(new byte[i]);
        }

        await call.RequestStream.CompleteAsync();
        Assert.Equal(999 * 1000 / 2, BitConverter.ToInt64(await call));
    });

    [Fact]
    public Task Both_stream_in_turns() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        using var call = channel.CreateCallInvoker().AsyncDuplexStreamingCall(BothMethod, null, default);
        for (var i = 0; i < 1000; i++)
        {
            await call.RequestStream.WriteAsync(BitConverter.GetBytes(i));
            Assert.True(await call.ResponseStream.MoveNext(CancellationToken.None));
            Assert.Equal(i, BitConverter.ToInt32(call.ResponseStream.Current));
        }

        await call.RequestStream.CompleteAsync();
        Assert.False(await call.ResponseStream.MoveNext(CancellationToken.None));
    });

    [Fact]
    public Task Both_stream_a_hundred_thousand_messages() => GrpcTunnel.RunAsync(
        static async (channel, _) =>
        {
            const int Count = 100_000;
            using var call = channel.CreateCallInvoker().AsyncDuplexStreamingCall(BothMethod, null, default);
            var sending = Task.Run(async () =>
            {
                for (var i = 0; i < Count; i++)
                {
                    await call.RequestStream.WriteAsync(BitConverter.GetBytes(i));
                }

                await call.RequestStream.CompleteAsync();
            });
            var received = 0;
            await foreach (var message in call.ResponseStream.ReadAllAsync())
            {
                Assert.Equal(received++, BitConverter.ToInt32(message));
            }

            await sending;
            Assert.Equal(Count, received);
        },
        new TunnelSetup { Patience = TimeSpan.FromSeconds(90) });

    [Fact]
    public Task Metadata_pass_in_both_directions_as_text_and_as_bytes() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        byte[] bytes = [0, 1, 2, 0xfe, 0xff, 10, 13];
        var headers = new Metadata
        {
            { "echo-text", "a value, with (signs)" }, { "echo-data-bin", bytes }, { "echo-twice", "1" }, { "echo-twice", "2" },
            { "echo-trailer-text", "last" }, { "echo-trailer-bin", bytes },
        };
        using var call = channel.CreateCallInvoker().AsyncUnaryCall(UnaryMethod, null, new CallOptions(headers), [1]);
        var head = await call.ResponseHeadersAsync;
        Assert.Equal("a value, with (signs)", head.GetValue("echo-text"));
        Assert.Equal(bytes, head.GetValueBytes("echo-data-bin"));

        // .NET's client joins fields of one name.
        var twice = head.GetAll("echo-twice").SelectMany(static entry => entry.Value.Split(',', StringSplitOptions.TrimEntries));
        Assert.Equal(["1", "2"], twice);
        Assert.Equal([1], await call);
        Assert.Equal("last", call.GetTrailers().GetValue("echo-trailer-text"));
        Assert.Equal(bytes, call.GetTrailers().GetValueBytes("echo-trailer-bin"));
    });

    [Fact]
    public Task A_deadline_ends_the_call_on_both_sides() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        // A deadline that is over before the call has reached the service shows nothing: then the next call has longer.
        var (waiting, cancelled) = (GrpcEcho.Waiting.Value, GrpcEcho.Cancelled.Value);
        for (var deadline = TimeSpan.FromMilliseconds(300); GrpcEcho.Waiting.Value == waiting; deadline *= 2)
        {
            Assert.True(deadline < TimeSpan.FromSeconds(10), "No call reached the service before its deadline.");
            var options = new CallOptions(new Metadata { { "wait", "1" } }, DateTime.UtcNow + deadline);
            using var call = channel.CreateCallInvoker().AsyncUnaryCall(UnaryMethod, null, options, [1]);
            Assert.Equal(StatusCode.DeadlineExceeded, (await Assert.ThrowsAsync<RpcException>(async () => await call)).StatusCode);
        }

        await GrpcEcho.Cancelled.WaitForAsync(cancelled + 1);
    });

    [Fact]
    public Task A_cancellation_reaches_the_service_within_a_tenth_of_a_second() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        await Promptness.AssertWithinAsync(TimeSpan.FromMilliseconds(100), async _ =>
        {
            var (waiting, cancelled) = (GrpcEcho.Waiting.Value, GrpcEcho.Cancelled.Value);
            using var cancel = new CancellationTokenSource();
            using var call = channel.CreateCallInvoker().AsyncServerStreamingCall(
                DownMethod, null, new CallOptions(new Metadata { { "wait", "1" } }, cancellationToken: cancel.Token),
                BitConverter.GetBytes(1));
            Assert.True(await call.ResponseStream.MoveNext(CancellationToken.None));
            await GrpcEcho.Waiting.WaitForAsync(waiting + 1);
            var since = Stopwatch.GetTimestamp();
            await cancel.CancelAsync();
            await GrpcEcho.Cancelled.WaitForAsync(cancelled + 1);
            return since;
        });
    });

    /// <summary>
    /// The call alone fails, with a status that says why; others on its connection, one of them open in that time, continue.
    /// </summary>
    [Fact]
    public Task Metadata_of_a_mebibyte_are_a_status_in_every_place() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        using var open = channel.CreateCallInvoker().AsyncDuplexStreamingCall(BothMethod, null, default);
        await SendAndReadAsync(open, 1);
        foreach (var fields in (Metadata[])
        [
            new() { { "echo-text", new string('x', Mebibyte) } },
            [.. Enumerable.Range(0, 16).Select(static i => new Metadata.Entry($"echo-{i}", new string('x', Mebibyte / 16)))],
            [.. Enumerable.Range(0, 1024).Select(static i => new Metadata.Entry($"echo-{i}", new string('x', Mebibyte / 1024)))],
        ])
        {
            await AssertFailsAsync(
                channel, fields, StatusCode.ResourceExhausted, "visitor: Request headers too large (request-head-too-large)");
            await SendAndReadAsync(open, 2);
        }

        foreach (var place in (string[])["large", "large-trailer"])
        {
            await AssertFailsAsync(
                channel, new Metadata { { place, $"{Mebibyte}" } }, StatusCode.Unavailable,
                "backend: The response headers are too large (backend-head-too-large)");
            await SendAndReadAsync(open, 3);
        }
    });

    [Fact]
    public Task Metadata_of_a_mebibyte_are_a_status_of_grpc_web_too() => GrpcTunnel.RunAsync(
        static async (channel, _) =>
        {
            await AssertFailsAsync(
                channel, new Metadata { { "echo-text", new string('x', Mebibyte) } }, StatusCode.ResourceExhausted,
                "visitor: Request headers too large (request-head-too-large)");
            await AssertFailsAsync(
                channel, new Metadata { { "large", $"{Mebibyte}" } }, StatusCode.Unavailable,
                "backend: The response headers are too large (backend-head-too-large)");
        },
        isWeb: true);

    [Fact]
    public Task Metadata_beyond_the_limit_are_a_status_and_the_next_call_passes() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        var error = await Assert.ThrowsAsync<RpcException>(
            () => UnaryAsync(channel, [1], new Metadata { { "echo-text", new string('x', 100 * 1024) } }));
        Assert.Equal(
            (StatusCode.ResourceExhausted, "visitor: Request headers too large (request-head-too-large)"),
            (error.StatusCode, error.Status.Detail));
        Assert.Equal([1], await UnaryAsync(channel, [1]));
    });

    [Fact]
    public Task A_service_that_is_not_there_is_unavailable_with_the_leg_that_failed() => GrpcTunnel.RunAsync(
        static async (channel, _) =>
        {
            var error = await Assert.ThrowsAsync<RpcException>(() => UnaryAsync(channel, [1]));
            Assert.Equal(StatusCode.Unavailable, error.StatusCode);
            Assert.Equal("backend: The service refused the connection (backend-refused)", error.Status.Detail);
        },
        new TunnelSetup { Agent = static options => options with { Upstream = new BackendTarget(false, "127.0.0.1", 1) } });

    [Fact]
    public Task A_name_that_no_agent_has_is_unavailable_too() => GrpcTunnel.RunAsync(static async (_, tunnel) =>
    {
        using var channel = GrpcTunnel.Connect(tunnel, host: "nobody.localhost");
        var error = await Assert.ThrowsAsync<RpcException>(() => UnaryAsync(channel, [1]));

        // In the first half minute of a server every name counts as known.
        Assert.Equal((StatusCode.Unavailable, "uplink: The agent is offline (agent-offline)"), (error.StatusCode, error.Status.Detail));
    });

    [Fact]
    public Task Grpc_web_passes_over_http1_to_a_service_of_http1() => GrpcTunnel.RunAsync(
        static async (channel, _) =>
        {
            Assert.Equal([1, 2, 3], await UnaryAsync(channel, [1, 2, 3]));
            using var call = channel.CreateCallInvoker().AsyncServerStreamingCall(DownMethod, null, default, BitConverter.GetBytes(100));
            var count = 0;
            await foreach (var message in call.ResponseStream.ReadAllAsync())
            {
                Assert.Equal(count++, BitConverter.ToInt32(message));
            }

            Assert.Equal(100, count);
        },
        isWeb: true);

    [Fact]
    public Task Grpc_web_learns_of_a_failure_as_a_status() => GrpcTunnel.RunAsync(
        static async (channel, _) => Assert.Equal(
            StatusCode.Unavailable, (await Assert.ThrowsAsync<RpcException>(() => UnaryAsync(channel, [1]))).StatusCode),
        new TunnelSetup { Agent = static options => options with { Upstream = new BackendTarget(false, "127.0.0.1", 1) } },
        isWeb: true);

    /// <summary>Calls, and once more without the metadata.</summary>
    private static async Task AssertFailsAsync(GrpcChannel channel, Metadata fields, StatusCode status, string detail)
    {
        var error = await Assert.ThrowsAsync<RpcException>(() => UnaryAsync(channel, [1], fields));
        Assert.Equal((status, detail), (error.StatusCode, error.Status.Detail));
        Assert.Equal([1], await UnaryAsync(channel, [1]));
    }

    private static async Task SendAndReadAsync(AsyncDuplexStreamingCall<byte[], byte[]> call, byte message)
    {
        await call.RequestStream.WriteAsync([message]);
        Assert.True(await call.ResponseStream.MoveNext(CancellationToken.None));
        Assert.Equal([message], call.ResponseStream.Current);
    }

    private static async Task<byte[]> UnaryAsync(GrpcChannel channel, byte[] message, Metadata? headers = null) =>
        await channel.CreateCallInvoker().AsyncUnaryCall(UnaryMethod, null, new CallOptions(headers), message);
}
