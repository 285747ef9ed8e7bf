using System.Text;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.ProxyEntry.Tests.InMemory;

/// <summary>What the agent got of a request's body.</summary>
/// <param name="Body">The bytes.</param>
/// <param name="Trailers">The trailers, or null.</param>
/// <param name="IsWhole">Whether it ended in order.</param>
internal sealed record AgentBody(string Body, string? Trailers, bool IsWhole);

/// <summary>The agent's end of one stream: it does what the test says, and nothing by itself.</summary>
internal sealed class AgentStream(TunnelStream stream, int uplink, RecordedWire wire)
{
    private readonly StreamId _id = stream.Id;
    private bool _isReleased;

    /// <summary>On which of the uplinks it came.</summary>
    public int Uplink => uplink;

    /// <summary>What ProxyEntry reset the stream with, on the wire.</summary>
    public Task<(StreamResetReason Reason, StreamResetDetail Detail)> ResetByAsync() => wire.ResetOfAsync(_id);

    /// <summary>Reads the request's head: method, target and fields.</summary>
    public async Task<string> ReadHeadAsync()
    {
        await stream.WaitToReadAsync();
        Assert.True(stream.TryRead(out var item));
        Assert.Equal(StreamItemKind.Head, item.Kind);
        var head = Describe(item.Memory.Span);
        stream.ConsumeHead();
        return head;
    }

    /// <summary>Reads so many bytes of the request's body; more must not be there.</summary>
    public async Task<string> ReadAsync(int count)
    {
        var body = new StringBuilder();
        while (body.Length < count)
        {
            await stream.WaitToReadAsync();
            Assert.True(stream.TryRead(out var item));
            Assert.Equal(StreamItemKind.Data, item.Kind);
            body.Append(Encoding.Latin1.GetString(item.Memory.Span));
            stream.ConsumeData(item.Memory.Length);
        }

        Assert.Equal(count, body.Length);
        return body.ToString();
    }

    /// <summary>Reads what is left of the request, to its end or to the reset.</summary>
    public async Task<AgentBody> ReadToEndAsync()
    {
        var body = new StringBuilder();
        string? trailers = null;
        while (true)
        {
            await stream.WaitToReadAsync();
            Assert.True(stream.TryRead(out var item));
            switch (item.Kind)
            {
                case StreamItemKind.Head:
                    trailers = Describe(item.Memory.Span);
                    stream.ConsumeHead();
                    break;
                case StreamItemKind.Data:
                    body.Append(Encoding.Latin1.GetString(item.Memory.Span));
                    stream.ConsumeData(item.Memory.Length);
                    break;
                default:
                    return new AgentBody(body.ToString(), trailers, item.Kind == StreamItemKind.End);
            }
        }
    }

    /// <summary>Answers: the head, and body bytes in the same frame.</summary>
    public void Answer(int status = 200, string body = "", bool end = true, params (string Name, string Value)[] fields)
    {
        var writer = new HeaderBlockWriter(stream.BeginHead(
            1024 + fields.Sum(static field => field.Name.Length + field.Value.Length), body.Length));
        writer.BeginResponse(HeaderBlockFlags.None, status, "OK"u8);
        foreach (var (name, value) in fields)
        {
            writer.AddField(name, value);
        }

        Assert.Equal(StreamSendStatus.Sent, stream.EndHead(writer.Complete(), Encoding.Latin1.GetBytes(body), end, out var taken));
        Assert.Equal(body.Length, taken);
    }

    /// <summary>Sends more of the response's body.</summary>
    public async Task SendAsync(string body, bool end = false) =>
        Assert.Equal(StreamSendStatus.Sent, await stream.WriteAsync(Encoding.Latin1.GetBytes(body), end));

    /// <summary>Sends as much as credit allows.</summary>
    public ValueTask<StreamSendStatus> WriteAsync(byte[] bytes) => stream.WriteAsync(bytes, end: false);

    /// <summary>Ends the response with trailers.</summary>
    public void SendTrailers(string value) => Assert.Equal(StreamSendStatus.Sent, stream.SendTrailers(value));

    /// <summary>Cuts the stream short.</summary>
    public void Reset(StreamResetReason reason, StreamResetDetail detail = StreamResetDetail.None) => stream.Reset(reason, detail);

    /// <summary>Did nothing with the request and says so.</summary>
    public void Refuse() => Reset(StreamResetReason.Refused, StreamResetDetail.GoingAway);

    /// <summary>Gives the stream back, once.</summary>
    public void Release()
    {
        if (!_isReleased)
        {
            _isReleased = true;
            stream.Release();
        }
    }

    private static string Describe(ReadOnlySpan<byte> bytes)
    {
        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(bytes, out var block));
        var parts = new List<string>();
        if (block.Kind == HeaderBlockKind.Request)
        {
            var flags = block.Flags == HeaderBlockFlags.None ? "" : $" {block.Flags}";
            var address = Encoding.Latin1.GetString(block.Authority) + Encoding.Latin1.GetString(block.Target);
            parts.Add($"{Encoding.Latin1.GetString(block.Method)} {address}{flags}");
        }

        foreach (var field in block.Fields)
        {
            parts.Add($"{Encoding.Latin1.GetString(field.Name)}: {Encoding.Latin1.GetString(field.Value)}");
        }

        return string.Join('|', parts);
    }
}
