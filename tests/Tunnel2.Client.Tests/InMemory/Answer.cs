using System.Text;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Tests.InMemory;

/// <summary>What ProxyEntry got of a response.</summary>
/// <param name="Heads">The heads in their order, each as status, reason and fields, with <c>|</c> in between.</param>
/// <param name="Body">The body.</param>
/// <param name="Trailers">The trailers, or null.</param>
/// <param name="IsWhole">Whether it ended in order.</param>
/// <param name="Failure">Why not.</param>
internal sealed record Answer(IReadOnlyList<string> Heads, string Body, string? Trailers, bool IsWhole, StreamFailure Failure)
{
    /// <summary>The final head.</summary>
    public string Head => Heads[^1];

    /// <summary>What the agent reset the stream with.</summary>
    public (StreamResetReason Reason, StreamResetDetail Detail) Reset
    {
        get
        {
            Assert.Equal(StreamFailureKind.PeerReset, Failure.Kind);
            return (Failure.Reason, Failure.Detail);
        }
    }

    /// <summary>Reads a response to its end, and lets go of its stream.</summary>
    public static async Task<Answer> ReadAsync(TunnelStream stream)
    {
        var heads = new List<string>();
        var body = new StringBuilder();
        string? trailers = null;
        while (true)
        {
            await stream.WaitToReadAsync();
            Assert.True(stream.TryRead(out var item));
            switch (item.Kind)
            {
                case StreamItemKind.Head:
                    var head = Describe(item.Memory.Span, out var isTrailers);
                    if (isTrailers)
                    {
                        trailers = head;
                    }
                    else
                    {
                        heads.Add(head);
                    }

                    stream.ConsumeHead();
                    break;
                case StreamItemKind.Data:
                    body.Append(Encoding.Latin1.GetString(item.Memory.Span));
                    stream.ConsumeData(item.Memory.Length);
                    break;
                default:
                    var answer = new Answer(heads, body.ToString(), trailers, item.Kind == StreamItemKind.End, stream.Failure);
                    stream.Release();
                    return answer;
            }
        }
    }

    /// <summary>Reads so many bytes of a body; more must not be there.</summary>
    public static async Task<string> ReadBodyAsync(TunnelStream stream, int count)
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

    /// <summary>Reads a head.</summary>
    public static async Task<string> ReadHeadAsync(TunnelStream stream)
    {
        await stream.WaitToReadAsync();
        Assert.True(stream.TryRead(out var item));
        Assert.Equal(StreamItemKind.Head, item.Kind);
        var head = Describe(item.Memory.Span, out _);
        stream.ConsumeHead();
        return head;
    }

    private static string Describe(ReadOnlySpan<byte> bytes, out bool isTrailers)
    {
        Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(bytes, out var block));
        isTrailers = block.Kind != HeaderBlockKind.Response;
        var parts = new List<string>();
        if (!isTrailers)
        {
            parts.Add($"{block.Status} {Encoding.Latin1.GetString(block.ReasonPhrase)}");
        }

        foreach (var field in block.Fields)
        {
            parts.Add($"{Encoding.Latin1.GetString(field.Name)}: {Encoding.Latin1.GetString(field.Value)}");
        }

        return string.Join('|', parts);
    }
}
