using System.Net;
using System.Text;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Client.Core.Raw;

/// <summary>The head of a stream without HTTP: the block of a connection.</summary>
/// <param name="Source">The visitor's address, where it is known.</param>
/// <param name="Destination">The address that the visitor called, where it is known.</param>
internal sealed record RawHead(IPEndPoint? Source, IPEndPoint? Destination)
{
    private const int SwitchLength = 64;

    /// <summary>Takes the head out of its stream, if the stream may be served.</summary>
    /// <param name="exchanges">The tunnel's.</param>
    /// <param name="stream">The stream.</param>
    /// <param name="head">The head; null when there is none that can be read.</param>
    /// <param name="failure">Why the stream is not served; none where it was reset before.</param>
    /// <returns>Whether it is served.</returns>
    public static bool TryTake(RawExchanges exchanges, TunnelStream stream, out RawHead? head, out BackendFailure failure)
    {
        head = null;
        failure = BackendFailure.None;
        if (!stream.TryRead(out var item) || item.Kind != StreamItemKind.Head)
        {
            return false;
        }

        head = Read(item, exchanges);
        if (head is null)
        {
            failure = new BackendFailure(StreamResetReason.VisitorProtocol, StreamResetDetail.None);
            return false;
        }

        stream.ConsumeHead();
        if (exchanges.Context.IsOneTooMany())
        {
            failure = new BackendFailure(StreamResetReason.Refused, StreamResetDetail.TooManyStreams);
            return false;
        }

        return true;
    }

    /// <summary>Reports to ProxyEntry that the service is reached.</summary>
    /// <returns>False when the stream is over.</returns>
    public static bool TryAnswer(TunnelStream stream)
    {
        var writer = new HeaderBlockWriter(stream.BeginHead(SwitchLength));
        writer.BeginResponse(HeaderBlockFlags.Upgrade, 101, "Switching Protocols"u8);
        return stream.EndHead(writer.Complete(), default, end: false, out _) == StreamSendStatus.Sent;
    }

    private static RawHead? Read(StreamItem item, RawExchanges exchanges)
    {
        if (HeaderBlock.TryRead(item.Memory.Span, out var block) != ProtocolError.None
            || block.Kind != HeaderBlockKind.Request
            || (block.Flags & HeaderBlockFlags.Upgrade) == 0
            || !block.Method.SequenceEqual("CONNECT"u8)
            || !exchanges.IsOwn(block.Scheme))
        {
            return null;
        }

        IPEndPoint? source = null;
        IPEndPoint? destination = null;
        foreach (var field in block.Fields)
        {
            if (Ascii.EqualsIgnoreCase(field.Name, "Tunnel2-Source"u8))
            {
                source = ReadAddress(field.Value);
            }
            else if (Ascii.EqualsIgnoreCase(field.Name, "Tunnel2-Destination"u8))
            {
                destination = ReadAddress(field.Value);
            }
        }

        return new RawHead(source, destination);
    }

    private static IPEndPoint? ReadAddress(ReadOnlySpan<byte> value) =>
        IPEndPoint.TryParse(Encoding.Latin1.GetString(value), out var address) ? address : null;
}
