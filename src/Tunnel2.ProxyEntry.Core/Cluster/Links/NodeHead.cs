using System.Buffers;
using System.Text;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Headers;
using Tunnel2.ProxyEntry.Requests;

namespace Tunnel2.ProxyEntry.Cluster.Links;

/// <summary>
/// Writes what this node knows of a visitor before the request block of a stream to another node. Allocates nothing for an ordinary
/// request.
/// </summary>
internal static class NodeHead
{
    private const int LongestText = 255;

    /// <summary>Longer than what proxies usually say.</summary>
    private const int UsualForwardedFor = 512;

    /// <summary>Writes it.</summary>
    /// <param name="exchange">The request.</param>
    /// <param name="request">Its state.</param>
    /// <param name="name">The name that it is for.</param>
    /// <param name="destination">The memory of the block.</param>
    /// <returns>Bytes written; 0 when there is no room.</returns>
    public static int Write(VisitorExchange exchange, ForwardedRequest request, ReadOnlySpan<char> name, Span<byte> destination)
    {
        Span<byte> usual = stackalloc byte[UsualForwardedFor];
        var length = exchange.CopyForwardedFor(usual);
        if (length < UsualForwardedFor)
        {
            return Write(exchange, request, name, usual[..length], destination);
        }

        var whole = ArrayPool<byte>.Shared.Rent(2 * ProtocolLimits.MaxHeaderBlockLength);
        try
        {
            // Its end counts: what trusted proxies have added last.
            ReadOnlySpan<byte> list = whole.AsSpan(0, exchange.CopyForwardedFor(whole));
            return Write(exchange, request, name, list[Math.Max(0, list.Length - NodeRequest.MaxForwardedFor)..], destination);
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(whole);
        }
    }

    private static int Write(
        VisitorExchange exchange, ForwardedRequest request, ReadOnlySpan<char> name, ReadOnlySpan<byte> forwardedFor,
        Span<byte> destination)
    {
        Span<byte> nameBytes = stackalloc byte[LongestText];
        Span<byte> address = stackalloc byte[16];
        Span<char> id = stackalloc char[LongestText];
        Span<byte> idBytes = stackalloc byte[LongestText];
        Span<byte> owner = stackalloc byte[LongestText];
        id = id[..exchange.WriteRequestId(id)];
        var addressLength = 0;
        var ownerLength = 0;
        if ((exchange.RemoteAddress is { } remote && !remote.TryWriteBytes(address, out addressLength))
            || (request.Owner is { } awaited && !Encoding.UTF8.TryGetBytes(awaited.Value, owner, out ownerLength)))
        {
            return 0;
        }

        return new NodeRequest
        {
            Hops = NodeRequest.MaxHops,
            Facts = (exchange.IsSecure ? NodeRequestFacts.Https : NodeRequestFacts.None)
                | (exchange.IsFromTrustedProxy ? NodeRequestFacts.TrustedProxy : NodeRequestFacts.None)
                | (exchange.ExpectsContinue && !request.HasContinued ? NodeRequestFacts.ExpectsContinue : NodeRequestFacts.None)
                | (request.HasOtherNodes ? NodeRequestFacts.HasOther : NodeRequestFacts.None),
            Name = nameBytes[..Encoding.Latin1.GetBytes(name, nameBytes)],
            Address = address[..addressLength],
            RequestId = idBytes[..Encoding.Latin1.GetBytes(id, idBytes)],
            Owner = owner[..ownerLength],
            ForwardedFor = forwardedFor,
        }.WritePrefix(destination);
    }
}
