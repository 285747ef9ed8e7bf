using System.Buffers.Binary;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Protocol.Headers;

/// <summary>
/// The first block of a stream on a node link (docs/protocol.md section 16): what the entering node knows of the visitor, and after it the
/// request block as an agent would get it. The facts are bytes of the frame and no fields, so no visitor can send them. Views of the
/// block's bytes, valid as long as these.
/// </summary>
public readonly ref struct NodeRequest
{
    /// <summary>How many nodes may pass a request on: one.</summary>
    public const byte MaxHops = 1;

    /// <summary>How many bytes of <see cref="ForwardedFor"/> are sent at most.</summary>
    public const int MaxForwardedFor = 4096;

    /// <summary>Kind, flags and the length of the facts.</summary>
    private const int Start = 4;

    /// <summary>How many nodes have passed the request on, the sender included.</summary>
    public byte Hops { get; init; }

    /// <summary>What is known of the visitor.</summary>
    public NodeRequestFacts Facts { get; init; }

    /// <summary>The name that the request is for, in lower case.</summary>
    public ReadOnlySpan<byte> Name { get; init; }

    /// <summary>The address of the entering node's peer: 4 or 16 bytes; empty when it is not known.</summary>
    public ReadOnlySpan<byte> Address { get; init; }

    /// <summary>The request's id in the logs of the entering node; at most 255 bytes.</summary>
    public ReadOnlySpan<byte> RequestId { get; init; }

    /// <summary>The owner for whose session the request has waited; empty: any session of the name may get it.</summary>
    public ReadOnlySpan<byte> Owner { get; init; }

    /// <summary>What a trusted proxy says about the origin (<c>X-Forwarded-For</c>); empty without one.</summary>
    public ReadOnlySpan<byte> ForwardedFor { get; init; }

    /// <summary>The bytes of the request block.</summary>
    public ReadOnlySpan<byte> Block { get; private init; }

    /// <summary>Reads the first block of a stream.</summary>
    /// <param name="source">The block's bytes, exactly.</param>
    /// <param name="request">The facts; its views refer to <paramref name="source"/>.</param>
    /// <param name="block">The request.</param>
    public static ProtocolError TryRead(ReadOnlySpan<byte> source, out NodeRequest request, out HeaderBlock block)
    {
        request = default;
        block = default;
        if (source.Length > ProtocolLimits.MaxHeaderBlockLength)
        {
            return ProtocolError.HeaderBlockTooLong;
        }

        if (source.Length < Start)
        {
            return ProtocolError.MalformedHeaderBlock;
        }

        var length = BinaryPrimitives.ReadUInt16BigEndian(source[2..]);
        if (source[0] != (byte)HeaderBlockKind.NodeRequest)
        {
            return ProtocolError.UnexpectedHeaderBlock;
        }

        var rest = source[Start..];
        if (length < 2 || length > rest.Length)
        {
            return ProtocolError.MalformedHeaderBlock;
        }

        var facts = rest[2..length];
        if (!TryTake(ref facts, wide: false, out var name) || !TryTake(ref facts, wide: false, out var address)
            || !TryTake(ref facts, wide: false, out var id) || !TryTake(ref facts, wide: false, out var owner)
            || !TryTake(ref facts, wide: true, out var forwardedFor) || address.Length is not (0 or 4 or 16)
            || rest[0] is 0 or > MaxHops)
        {
            return ProtocolError.MalformedHeaderBlock;
        }

        request = new NodeRequest
        {
            Hops = rest[0],
            Facts = (NodeRequestFacts)rest[1],
            Name = name,
            Address = address,
            RequestId = id,
            Owner = owner,
            ForwardedFor = forwardedFor,
            Block = rest[length..],
        };
        var error = HeaderBlock.TryRead(request.Block, out block);
        return error != ProtocolError.None || block.Kind == HeaderBlockKind.Request ? error : ProtocolError.UnexpectedHeaderBlock;
    }

    /// <summary>
    /// Reads any block of a node link: a request comes only with its facts, and all others are as on an uplink. What it gives of a request
    /// is the request block.
    /// </summary>
    /// <param name="source">The block's bytes, exactly.</param>
    /// <param name="block">The block.</param>
    public static ProtocolError TryReadBlock(ReadOnlySpan<byte> source, out HeaderBlock block)
    {
        if (source.Length > 0 && source[0] == (byte)HeaderBlockKind.NodeRequest)
        {
            return TryRead(source, out _, out block);
        }

        var error = HeaderBlock.TryRead(source, out block);
        return error == ProtocolError.None && block.Kind == HeaderBlockKind.Request ? ProtocolError.UnexpectedHeaderBlock : error;
    }

    /// <summary>Writes everything that comes before the request block.</summary>
    /// <param name="destination">The memory of the block.</param>
    /// <returns>Bytes written; 0 when there is no room or a value is too long.</returns>
    public int WritePrefix(Span<byte> destination)
    {
        var forwardedFor = ForwardedFor[..Math.Min(ForwardedFor.Length, MaxForwardedFor)];
        var length = 2 + 4 + Name.Length + Address.Length + RequestId.Length + Owner.Length + 2 + forwardedFor.Length;
        if (destination.Length < Start + length
            || Math.Max(Math.Max(Name.Length, Address.Length), Math.Max(RequestId.Length, Owner.Length)) > byte.MaxValue)
        {
            return 0;
        }

        destination[0] = (byte)HeaderBlockKind.NodeRequest;
        destination[1] = 0;
        BinaryPrimitives.WriteUInt16BigEndian(destination[2..], (ushort)length);
        destination[4] = Hops;
        destination[5] = (byte)Facts;
        var position = 6;
        Put(destination, Name, ref position);
        Put(destination, Address, ref position);
        Put(destination, RequestId, ref position);
        Put(destination, Owner, ref position);
        BinaryPrimitives.WriteUInt16BigEndian(destination[position..], (ushort)forwardedFor.Length);
        forwardedFor.CopyTo(destination[(position + 2)..]);
        return Start + length;
    }

    private static void Put(Span<byte> destination, ReadOnlySpan<byte> value, ref int position)
    {
        destination[position++] = (byte)value.Length;
        value.CopyTo(destination[position..]);
        position += value.Length;
    }

    private static bool TryTake(scoped ref ReadOnlySpan<byte> rest, bool wide, out ReadOnlySpan<byte> taken)
    {
        taken = default;
        var prefix = wide ? 2 : 1;
        if (rest.Length < prefix)
        {
            return false;
        }

        var length = wide ? BinaryPrimitives.ReadUInt16BigEndian(rest) : rest[0];
        if (rest.Length - prefix < length)
        {
            return false;
        }

        taken = rest.Slice(prefix, length);
        rest = rest[(prefix + length)..];
        return true;
    }
}
