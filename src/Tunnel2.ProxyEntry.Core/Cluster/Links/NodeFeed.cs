using System.Text;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// A stream on a node link that is for the node itself, and not for a session: the live view. It is asked for by a name that no session can
/// have, in the facts that only a node writes, so that no visitor reaches it. A node of an earlier release knows no such session, and
/// refuses it as it refuses any.
/// </summary>
internal static class NodeFeed
{
    /// <summary>The name. A public name has letters, digits and dashes only.</summary>
    public const string Name = "*live";

    private const int LongestHead = 512;

    /// <summary>Whether a stream's facts ask for it.</summary>
    public static bool IsMeant(ReadOnlySpan<char> name) => name is Name;

    /// <summary>Sends the request for it.</summary>
    /// <returns>False: the stream is over.</returns>
    public static bool TryAsk(TunnelStream stream)
    {
        var head = stream.BeginHead(LongestHead);
        var prefix = new NodeRequest { Hops = NodeRequest.MaxHops, Name = Encoding.Latin1.GetBytes(Name) }.WritePrefix(head);
        var writer = new HeaderBlockWriter(head[prefix..]);
        writer.BeginRequest(HeaderBlockFlags.Upgrade, "GET", "https", "live.tunnel2.internal", "/live");
        writer.AddField("Upgrade"u8, "websocket"u8);
        return stream.EndHead(prefix + writer.Complete(), default, end: false, out _) == StreamSendStatus.Sent;
    }

    /// <summary>The head that answers it. What follows are frames of RFC 6455, as after the handshake of <c>/live</c>.</summary>
    public static byte[] Answer()
    {
        var bytes = new byte[LongestHead];
        var writer = new HeaderBlockWriter(bytes);
        writer.BeginResponse(HeaderBlockFlags.Upgrade, StatusCodes.Status101SwitchingProtocols, default);
        writer.AddField("Upgrade"u8, "websocket"u8);
        return bytes[..writer.Complete()];
    }

    /// <summary>Waits for the answer.</summary>
    /// <returns>Null: the feed begins. Otherwise why there is none.</returns>
    public static async ValueTask<NodeFeedProblem?> ReadAnswerAsync(TunnelStream stream)
    {
        await stream.WaitToReadAsync().ConfigureAwait(false);
        if (stream.TryRead(out var item) && item.Kind == StreamItemKind.Head)
        {
            var isThere = HeaderBlock.TryRead(item.Memory.Span, out var head) == ProtocolError.None
                && head.Status == StatusCodes.Status101SwitchingProtocols;
            stream.ConsumeHead();
            return isThere ? null : new NodeFeedProblem("it has answered something else", IsOlder: false);
        }

        return stream.Failure is { Kind: StreamFailureKind.PeerReset, Detail: StreamResetDetail.SessionLeft }
            ? new NodeFeedProblem("no live view (older release)", IsOlder: true)
            : new NodeFeedProblem("it gives no live view now", IsOlder: false);
    }
}
