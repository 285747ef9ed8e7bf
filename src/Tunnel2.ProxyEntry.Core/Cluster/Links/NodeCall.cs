using System.Globalization;
using System.Text;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// A stream on a node link that is a call of the other node's API, as <see cref="NodeFeed"/> is for its live view: asked for by a name that
/// no session can have, in the facts that only a node writes. A node of an earlier release refuses the name as any that it does not serve.
/// </summary>
internal static class NodeCall
{
    /// <summary>The name. A public name has letters, digits and dashes only.</summary>
    public const string Name = "*api";

    /// <summary>The longest path with its query, in characters.</summary>
    public const int MaxTarget = 4096;

    private const string Authority = "api.tunnel2.internal";
    private const int LongestText = 255;
    private const int LongestHead = MaxTarget + 2048;

    private static readonly NodeFeedProblem _strange = new("it has answered something else", IsOlder: false) { Reason = "answer" };

    /// <summary>Whether a stream's facts ask for it.</summary>
    public static bool IsMeant(ReadOnlySpan<char> name) => name is Name;

    /// <summary>Sends the request.</summary>
    /// <returns>False: the stream is over.</returns>
    public static async ValueTask<bool> TryAskAsync(TunnelStream stream, NodeCallRequest request) =>
        TryWriteHead(stream, request)
        && (request.Body.IsEmpty
            || await stream.WriteAsync(request.Body, end: true).ConfigureAwait(false) == StreamSendStatus.Sent);

    /// <summary>Waits for the answer's head.</summary>
    /// <returns>Status and fields, or why there are none.</returns>
    public static async ValueTask<(int Status, List<KeyValuePair<string, string>> Fields, NodeFeedProblem? Problem)> ReadAnswerAsync(
        TunnelStream stream)
    {
        await stream.WaitToReadAsync().ConfigureAwait(false);
        if (stream.TryRead(out var item) && item.Kind == StreamItemKind.Head)
        {
            var (status, fields) = ReadHead(item.Memory.Span);
            stream.ConsumeHead();
            return (status, fields, status == 0 ? _strange : null);
        }

        return (0, [], stream.Failure is { Kind: StreamFailureKind.PeerReset, Detail: StreamResetDetail.SessionLeft }
            ? new NodeFeedProblem("it takes no calls of other nodes (older release)", IsOlder: true) { Reason = "older" }
            : new NodeFeedProblem("it has ended the call", IsOlder: false));
    }

    private static bool TryWriteHead(TunnelStream stream, NodeCallRequest request)
    {
        Span<byte> credential = stackalloc byte[LongestText];
        Span<byte> address = stackalloc byte[16];
        var addressLength = 0;
        request.Address?.TryWriteBytes(address, out addressLength);
        if (!Encoding.UTF8.TryGetBytes(request.Credential, credential, out var credentialLength) || request.Target.Length > MaxTarget)
        {
            return false;
        }

        var head = stream.BeginHead(LongestHead);
        var prefix = new NodeRequest
        {
            Hops = NodeRequest.MaxHops,
            Name = Encoding.Latin1.GetBytes(Name),
            Address = address[..addressLength],
            Owner = credential[..credentialLength],
        }.WritePrefix(head);
        var writer = new HeaderBlockWriter(head[prefix..]);
        writer.BeginRequest(HeaderBlockFlags.None, request.Method, "https", Authority, request.Target);
        if (!request.Body.IsEmpty)
        {
            writer.AddField("Content-Type", request.ContentType);
            writer.AddField("Content-Length", request.Body.Length.ToString(CultureInfo.InvariantCulture));
        }

        var length = writer.Complete();
        return !writer.Overflowed
            && stream.EndHead(prefix + length, default, end: request.Body.IsEmpty, out _) == StreamSendStatus.Sent;
    }

    private static (int Status, List<KeyValuePair<string, string>> Fields) ReadHead(ReadOnlySpan<byte> bytes)
    {
        var fields = new List<KeyValuePair<string, string>>();
        if (HeaderBlock.TryRead(bytes, out var head) != ProtocolError.None || head.Status is < 200 or > 599)
        {
            return (0, fields);
        }

        foreach (var field in head.Fields)
        {
            fields.Add(new KeyValuePair<string, string>(Encoding.Latin1.GetString(field.Name), Encoding.Latin1.GetString(field.Value)));
        }

        return (head.Status, fields);
    }
}
