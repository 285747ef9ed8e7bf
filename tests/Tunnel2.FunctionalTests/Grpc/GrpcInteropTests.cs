using System.Text;
using Grpc.Core;
using Grpc.Net.Client;
using static Tunnel2.FunctionalTests.Grpc.GrpcEchoBase;

namespace Tunnel2.FunctionalTests.Grpc;

/// <summary>
/// The cases of gRPC's tests of interoperability, by their names there and with their sizes. <see cref="GrpcTests"/> has those of metadata,
/// deadlines and many calls at once.
/// </summary>
[Trait("Engine", "each")]
public sealed class GrpcInteropTests
{
    /// <summary>Words with white space at both ends and characters outside of Unicode's first plane.</summary>
    private const string SpecialWords = "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n";

    private static readonly Metadata _sized = new() { { "sized", "1" } };

    [Fact]
    public Task Empty_unary() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        using var call = channel.CreateCallInvoker().AsyncUnaryCall(UnaryMethod, null, default, []);
        Assert.Empty(await call);
        Assert.Equal(StatusCode.OK, call.GetStatus().StatusCode);
    });

    [Fact]
    public Task Large_unary() => GrpcTunnel.RunAsync(static async (channel, _) =>
        Assert.Equal(314_159, (await UnaryAsync(channel, Sized(271_828, 314_159), _sized)).Length));

    [Fact]
    public Task Client_streaming() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        using var call = channel.CreateCallInvoker().AsyncClientStreamingCall(UpMethod, null, default);
        foreach (var length in (int[])[27_182, 8, 1_828, 45_904])
        {
            await call.RequestStream.WriteAsync(new byte[length]);
        }

        await call.RequestStream.CompleteAsync();
        Assert.Equal(74_922, BitConverter.ToInt64(await call));
    });

    [Fact]
    public Task Server_streaming() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        int[] lengths = [31_415, 9, 2_653, 58_979];
        using var call = channel.CreateCallInvoker().AsyncServerStreamingCall(
            DownMethod, null, new CallOptions(_sized), [.. lengths.SelectMany(BitConverter.GetBytes)]);
        var received = new List<int>();
        await foreach (var message in call.ResponseStream.ReadAllAsync())
        {
            received.Add(message.Length);
        }

        Assert.Equal(lengths, received);
    });

    [Fact]
    public Task Ping_pong() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        using var call = channel.CreateCallInvoker().AsyncDuplexStreamingCall(BothMethod, null, new CallOptions(_sized));
        foreach (var (length, answer) in ((int, int)[])[(27_182, 31_415), (8, 9), (1_828, 2_653), (45_904, 58_979)])
        {
            await call.RequestStream.WriteAsync(Sized(length, answer));
            Assert.True(await call.ResponseStream.MoveNext(CancellationToken.None));
            Assert.Equal(answer, call.ResponseStream.Current.Length);
        }

        await call.RequestStream.CompleteAsync();
        Assert.False(await call.ResponseStream.MoveNext(CancellationToken.None));
        Assert.Equal(StatusCode.OK, call.GetStatus().StatusCode);
    });

    [Fact]
    public Task Empty_stream() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        using var call = channel.CreateCallInvoker().AsyncDuplexStreamingCall(BothMethod, null, default);
        await call.RequestStream.CompleteAsync();
        Assert.False(await call.ResponseStream.MoveNext(CancellationToken.None));
        Assert.Equal(StatusCode.OK, call.GetStatus().StatusCode);
    });

    [Theory]
    [InlineData(StatusCode.Unknown, "test status message")]
    [InlineData(StatusCode.Unknown, SpecialWords)]
    [InlineData(StatusCode.InvalidArgument, "why: 100 % \u00fcber\nline")]
    [InlineData(StatusCode.NotFound, "")]
    [InlineData(StatusCode.Unauthenticated, "%20 is not a space")]
    [InlineData(StatusCode.DataLoss, "a")]
    public Task Status_code_and_message(StatusCode status, string words) => GrpcTunnel.RunAsync(async (channel, _) =>
    {
        var headers = new Metadata { { "fail", $"{(int)status}" }, { "why-bin", Encoding.UTF8.GetBytes(words) } };
        var unary = await Assert.ThrowsAsync<RpcException>(() => UnaryAsync(channel, [1], headers));
        Assert.Equal((status, words), (unary.StatusCode, unary.Status.Detail));

        using var call = channel.CreateCallInvoker().AsyncDuplexStreamingCall(BothMethod, null, new CallOptions(headers));
        await call.RequestStream.WriteAsync([1]);
        var both = await Assert.ThrowsAsync<RpcException>(() => call.ResponseStream.MoveNext(CancellationToken.None));
        Assert.Equal((status, words), (both.StatusCode, both.Status.Detail));
    });

    [Fact]
    public Task Unimplemented_method() => GrpcTunnel.RunAsync(static (channel, _) => AssertUnimplementedAsync(channel, MissingMethod));

    [Fact]
    public Task Unimplemented_service() =>
        GrpcTunnel.RunAsync(static (channel, _) => AssertUnimplementedAsync(channel, MissingServiceMethod));

    [Fact]
    public Task Cancel_after_begin() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        using var cancel = new CancellationTokenSource();
        using var call = channel.CreateCallInvoker().AsyncClientStreamingCall(
            UpMethod, null, new CallOptions(cancellationToken: cancel.Token));
        await cancel.CancelAsync();
        Assert.Equal(StatusCode.Cancelled, (await Assert.ThrowsAsync<RpcException>(async () => await call)).StatusCode);
        Assert.Equal([1], await UnaryAsync(channel, [1]));
    });

    [Fact]
    public Task Cancel_after_first_response() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        using var cancel = new CancellationTokenSource();
        using var call = channel.CreateCallInvoker().AsyncDuplexStreamingCall(
            BothMethod, null, new CallOptions(cancellationToken: cancel.Token));
        await call.RequestStream.WriteAsync(new byte[27_182]);
        Assert.True(await call.ResponseStream.MoveNext(CancellationToken.None));
        Assert.Equal(27_182, call.ResponseStream.Current.Length);
        await cancel.CancelAsync();
        var error = await Assert.ThrowsAsync<RpcException>(() => call.ResponseStream.MoveNext(CancellationToken.None));
        Assert.Equal(StatusCode.Cancelled, error.StatusCode);
        Assert.Equal([1], await UnaryAsync(channel, [1]));
    });

    [Fact]
    public Task Timeout_on_sleeping_server() => GrpcTunnel.RunAsync(static async (channel, _) =>
    {
        using var call = channel.CreateCallInvoker().AsyncDuplexStreamingCall(
            BothMethod, null, new CallOptions(deadline: DateTime.UtcNow.AddMilliseconds(1)));
        var error = await Assert.ThrowsAsync<RpcException>(async () =>
        {
            await call.RequestStream.WriteAsync(new byte[27_182]);

            // The message may still be answered in time; what ends the call is the deadline.
            while (await call.ResponseStream.MoveNext(CancellationToken.None))
            {
                Assert.Equal(27_182, call.ResponseStream.Current.Length);
            }
        });
        Assert.Equal(StatusCode.DeadlineExceeded, error.StatusCode);
        Assert.Equal([1], await UnaryAsync(channel, [1]));
    });

    private static async Task AssertUnimplementedAsync(GrpcChannel channel, Method<byte[], byte[]> method)
    {
        using var call = channel.CreateCallInvoker().AsyncUnaryCall(method, null, default, [1]);
        Assert.Equal(StatusCode.Unimplemented, (await Assert.ThrowsAsync<RpcException>(async () => await call)).StatusCode);
    }

    private static async Task<byte[]> UnaryAsync(GrpcChannel channel, byte[] message, Metadata? headers = null) =>
        await channel.CreateCallInvoker().AsyncUnaryCall(UnaryMethod, null, new CallOptions(headers), message);

    /// <summary>A message whose answer is to have a length.</summary>
    private static byte[] Sized(int length, int answer)
    {
        var message = new byte[length];
        BitConverter.TryWriteBytes(message, answer);
        return message;
    }
}
