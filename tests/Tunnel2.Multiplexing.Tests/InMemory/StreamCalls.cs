using System.Text;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>What was read of one direction of a stream.</summary>
internal sealed record ReadBody(long Length, byte[] Bytes, string? Trailers, bool InOrder);

/// <summary>Sends and receives on a stream as the forwarder and the agent do.</summary>
internal static class StreamCalls
{
    public static StreamSendStatus SendRequest(
        this TunnelStream stream, string target, ReadOnlySpan<byte> body, bool end, out int taken,
        HeaderBlockFlags flags = HeaderBlockFlags.None)
    {
        var writer = new HeaderBlockWriter(stream.BeginHead(256 + target.Length, body.Length));
        writer.BeginRequest(flags, "POST", "http", "web.localhost", target);
        writer.AddField("X-Order", "1");
        return stream.EndHead(writer.Complete(), body, end, out taken);
    }

    public static StreamSendStatus SendRequest(this TunnelStream stream, string target, ReadOnlySpan<byte> body = default)
    {
        var status = stream.SendRequest(target, body, end: true, out var taken);
        Assert.True(status != StreamSendStatus.Sent || taken == body.Length, "The body does not fit beside the head.");
        return status;
    }

    public static StreamSendStatus SendResponse(
        this TunnelStream stream, int code, ReadOnlySpan<byte> body, bool end, out int taken, string fieldValue = "1")
    {
        var writer = new HeaderBlockWriter(stream.BeginHead(128 + fieldValue.Length, body.Length));
        writer.BeginResponse(HeaderBlockFlags.None, code, "OK"u8);
        writer.AddField("X-Order", fieldValue);
        return stream.EndHead(writer.Complete(), body, end, out taken);
    }

    public static StreamSendStatus SendTrailers(this TunnelStream stream, string value)
    {
        var writer = new HeaderBlockWriter(stream.BeginHead(64 + value.Length));
        writer.BeginTrailers();
        writer.AddField("X-Sum", value);
        return stream.EndHead(writer.Complete(), default, end: true, out _);
    }

    /// <summary>Sends a request or a response head and a patterned body after it in pieces.</summary>
    public static async Task<StreamSendStatus> SendAllAsync(
        this TunnelStream stream, string? target, int code, int seed, int length, int piece, bool end = true)
    {
        var first = Pattern.Make(seed, Math.Min(length, piece));
        var status = target is not null
            ? stream.SendRequest(target, first, end && length == first.Length, out var sent)
            : stream.SendResponse(code, first, end && length == first.Length, out sent);
        if (status != StreamSendStatus.Sent || (sent == length && end && length == first.Length))
        {
            return status;
        }

        return await stream.WritePatternAsync(seed, sent, length, piece, end);
    }

    public static async Task<StreamSendStatus> WritePatternAsync(
        this TunnelStream stream, int seed, int from, int length, int piece, bool end)
    {
        var buffer = new byte[piece];
        var sent = from;
        do
        {
            var count = Math.Min(piece, length - sent);
            Pattern.Fill(buffer.AsSpan(0, count), seed, sent);
            var status = await stream.WriteAsync(buffer.AsMemory(0, count), end && sent + count == length);

            // What the stream was lent is ours again: were it read from here on, the other end would see this.
            buffer.AsSpan().Fill(0xEE);
            if (status != StreamSendStatus.Sent)
            {
                return status;
            }

            sent += count;
        }
        while (sent < length);
        return StreamSendStatus.Sent;
    }

    /// <summary>Reads a head and consumes it.</summary>
    /// <returns>The target of a request, the status of a response, or the failure.</returns>
    public static async Task<string> ReadHeadAsync(this TunnelStream stream)
    {
        await stream.WaitToReadAsync();
        Assert.True(stream.TryRead(out var item));
        if (item.Kind != StreamItemKind.Head)
        {
            return item.Kind == StreamItemKind.Failed ? $"{stream.Failure.Kind}" : $"{item.Kind}";
        }

        var text = Describe(item.Memory.Span);
        stream.ConsumeHead();
        return text;
    }

    /// <summary>Reads body and trailers to the end.</summary>
    public static async Task<ReadBody> ReadBodyAsync(this TunnelStream stream, int? seed = null, bool keep = true, int step = int.MaxValue)
    {
        long length = 0;
        var kept = new MemoryStream();
        string? trailers = null;
        while (true)
        {
            await stream.WaitToReadAsync();
            Assert.True(stream.TryRead(out var item), "A wait that completed has something to give.");
            switch (item.Kind)
            {
                case StreamItemKind.Data:
                    Assert.False(item.Memory.IsEmpty);
                    var count = Math.Min(step, item.Memory.Length);
                    if (seed is { } known)
                    {
                        Pattern.Check(item.Memory.Span[..count], known, length);
                    }

                    if (keep)
                    {
                        kept.Write(item.Memory.Span[..count]);
                    }

                    length += count;
                    stream.ConsumeData(count);
                    break;
                case StreamItemKind.Head:
                    trailers = Describe(item.Memory.Span);
                    stream.ConsumeHead();
                    break;
                default:
                    return new ReadBody(length, kept.ToArray(), trailers, item.Kind == StreamItemKind.End);
            }
        }
    }

    private static string Describe(ReadOnlySpan<byte> bytes)
    {
        Assert.Equal(Protocol.Errors.ProtocolError.None, HeaderBlock.TryRead(bytes, out var block));
        switch (block.Kind)
        {
            case HeaderBlockKind.Request:
                return Encoding.Latin1.GetString(block.Target);
            case HeaderBlockKind.Response:
                return $"{block.Status}";
            default:
                var fields = block.Fields.GetEnumerator();
                Assert.True(fields.MoveNext());
                return Encoding.Latin1.GetString(fields.Current.Value);
        }
    }
}
