using System.Buffers.Binary;
using Tunnel2.Multiplexing.Streams;

namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>Whole exchanges between the two ends of a pair, checked on both.</summary>
internal static class Exchange
{
    /// <summary>An agent that answers a body with itself, at once and piece by piece.</summary>
    public static async Task EchoAsync(TunnelStream stream)
    {
        await stream.ReadHeadAsync();
        stream.SendResponse(200, default, end: false, out _);
        while (true)
        {
            await stream.WaitToReadAsync();
            Assert.True(stream.TryRead(out var item));
            if (item.Kind != StreamItemKind.Data)
            {
                if (item.Kind == StreamItemKind.End)
                {
                    await stream.WriteAsync(default, end: true);
                }

                break;
            }

            // The view is lent to the write; it is consumed when the write has copied it.
            if (await stream.WriteAsync(item.Memory, end: false) != StreamSendStatus.Sent)
            {
                break;
            }

            stream.ConsumeData(item.Memory.Length);
        }

        stream.Release();
    }

    /// <summary>Sends a body and checks that it comes back.</summary>
    public static async Task RunAsync(TestEngine engine, TunnelStream stream, int number, int length, int piece)
    {
        var sending = engine.Start(
            async () => Assert.Equal(StreamSendStatus.Sent, await stream.SendAllAsync($"/{number}", 0, number, length, piece)));
        Assert.Equal("200", await stream.ReadHeadAsync());
        var body = await stream.ReadBodyAsync(number, keep: false);
        await sending;
        Assert.True(body.InOrder);
        Assert.Equal(length, body.Length);
        stream.Release();
    }

    /// <summary>An agent that answers a short body with itself in one frame.</summary>
    public static async Task ShortEchoAsync(TunnelStream stream)
    {
        await stream.ReadHeadAsync();
        await stream.WaitToReadAsync();
        Assert.True(stream.TryRead(out var item));
        Assert.Equal(StreamItemKind.Data, item.Kind);
        Assert.True(item.IsLast);
        stream.SendResponse(200, item.Memory.Span, end: true, out var taken);
        Assert.Equal(item.Memory.Length, taken);
        stream.ConsumeData(item.Memory.Length);
        stream.Release();
    }

    /// <summary>One short exchange whose body is its number.</summary>
    public static async Task ShortAsync(TunnelStream stream, int number)
    {
        SendNumber(stream, number);
        Assert.Equal("200", await stream.ReadHeadAsync());
        await stream.WaitToReadAsync();
        Assert.True(stream.TryRead(out var item));
        Assert.Equal(StreamItemKind.Data, item.Kind);
        Assert.Equal(number, BinaryPrimitives.ReadInt32BigEndian(item.Memory.Span));
        stream.ConsumeData(item.Memory.Length);
        stream.Release();
    }

    private static void SendNumber(TunnelStream stream, int number)
    {
        Span<byte> body = stackalloc byte[4];
        BinaryPrimitives.WriteInt32BigEndian(body, number);
        Assert.Equal(StreamSendStatus.Sent, stream.SendRequest("/", body));
    }
}
