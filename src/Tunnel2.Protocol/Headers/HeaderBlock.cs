using System.Buffers.Binary;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Protocol.Headers;

/// <summary>
/// A header block as it was received: views of its bytes, valid as long as these. Reading checks every length. It does not check names and
/// values: the side that writes them as HTTP does.
/// </summary>
public readonly ref struct HeaderBlock
{
    private HeaderBlock(HeaderBlockKind kind, HeaderBlockFlags flags)
    {
        Kind = kind;
        Flags = flags;
    }

    /// <summary>The kind of block.</summary>
    public HeaderBlockKind Kind { get; private init; }

    /// <summary>The flags.</summary>
    public HeaderBlockFlags Flags { get; private init; }

    /// <summary>Request: the method. Otherwise empty.</summary>
    public ReadOnlySpan<byte> Method { get; private init; }

    /// <summary>Request: the scheme that the visitor used. Otherwise empty.</summary>
    public ReadOnlySpan<byte> Scheme { get; private init; }

    /// <summary>Request: host and port as the visitor wrote them. Otherwise empty.</summary>
    public ReadOnlySpan<byte> Authority { get; private init; }

    /// <summary>Request: path and query, byte for byte. Otherwise empty.</summary>
    public ReadOnlySpan<byte> Target { get; private init; }

    /// <summary>Response: the status, 100…999. Otherwise 0.</summary>
    public int Status { get; private init; }

    /// <summary>Response: the reason phrase. Otherwise empty.</summary>
    public ReadOnlySpan<byte> ReasonPhrase { get; private init; }

    /// <summary>The fields in their order.</summary>
    public HeaderFields Fields { get; private init; }

    /// <summary>Whether this is an interim response (1xx) that a final one follows; 101 is final.</summary>
    public bool IsInterim => Kind == HeaderBlockKind.Response && Status is >= 100 and < 200 and not 101;

    /// <summary>
    /// Splits a HEADERS payload into the block and the first body bytes after it.
    /// </summary>
    /// <param name="payload">
    /// The payload; at least <see cref="ProtocolLimits.HeaderBlockPrefixLength"/> bytes, which the check of its frame header ensured.
    /// </param>
    /// <param name="block">The block's bytes.</param>
    /// <param name="body">The first body bytes; may be empty.</param>
    public static ProtocolError TrySplit(ReadOnlySpan<byte> payload, out ReadOnlySpan<byte> block, out ReadOnlySpan<byte> body)
    {
        block = default;
        body = default;
        var length = (payload[0] << 16) | BinaryPrimitives.ReadUInt16BigEndian(payload[1..]);
        var rest = payload[ProtocolLimits.HeaderBlockPrefixLength..];
        if (length > ProtocolLimits.MaxHeaderBlockLength || length > rest.Length)
        {
            return ProtocolError.HeaderBlockTooLong;
        }

        block = rest[..length];
        body = rest[length..];
        return body.Length > ProtocolLimits.MaxDataLength ? ProtocolError.HeadersBodyTooLong : ProtocolError.None;
    }

    /// <summary>Writes the prefix that <see cref="TrySplit"/> reads.</summary>
    /// <param name="destination">At least <see cref="ProtocolLimits.HeaderBlockPrefixLength"/> bytes.</param>
    /// <param name="blockLength">Bytes of the block.</param>
    public static void WritePrefix(Span<byte> destination, int blockLength)
    {
        destination[0] = (byte)(blockLength >> 16);
        BinaryPrimitives.WriteUInt16BigEndian(destination[1..], (ushort)blockLength);
    }

    /// <summary>Reads a block.</summary>
    /// <param name="source">The block's bytes, exactly.</param>
    /// <param name="block">The block; its views refer to <paramref name="source"/>.</param>
    public static ProtocolError TryRead(ReadOnlySpan<byte> source, out HeaderBlock block)
    {
        block = default;
        if (source.Length > ProtocolLimits.MaxHeaderBlockLength)
        {
            return ProtocolError.HeaderBlockTooLong;
        }

        if (source.Length < 2)
        {
            return ProtocolError.MalformedHeaderBlock;
        }

        var flags = (HeaderBlockFlags)source[1];
        var rest = source[2..];
        switch ((HeaderBlockKind)source[0])
        {
            case HeaderBlockKind.Request:
                return TryReadRequest(rest, flags, out block);
            case HeaderBlockKind.Response:
                return TryReadResponse(rest, flags, out block);
            case HeaderBlockKind.Trailers:
                var error = HeaderFields.TryRead(rest, out var fields);
                block = new HeaderBlock(HeaderBlockKind.Trailers, flags) { Fields = fields };
                return error;
            default:
                return ProtocolError.UnexpectedHeaderBlock;
        }
    }

    private static ProtocolError TryReadRequest(ReadOnlySpan<byte> rest, HeaderBlockFlags flags, out HeaderBlock block)
    {
        block = default;
        if (!TryTakeShort(ref rest, out var method) || method.IsEmpty || !TryTakeShort(ref rest, out var scheme)
            || !TryTakeLong(ref rest, out var authority) || !TryTakeLong(ref rest, out var target))
        {
            return ProtocolError.MalformedHeaderBlock;
        }

        var error = HeaderFields.TryRead(rest, out var fields);
        block = new HeaderBlock(HeaderBlockKind.Request, flags)
        {
            Method = method,
            Scheme = scheme,
            Authority = authority,
            Target = target,
            Fields = fields,
        };
        return error;
    }

    private static ProtocolError TryReadResponse(ReadOnlySpan<byte> rest, HeaderBlockFlags flags, out HeaderBlock block)
    {
        block = default;
        if (rest.Length < 2)
        {
            return ProtocolError.MalformedHeaderBlock;
        }

        var status = BinaryPrimitives.ReadUInt16BigEndian(rest);
        rest = rest[2..];
        if (status is < 100 or > 999 || !TryTakeShort(ref rest, out var reasonPhrase))
        {
            return ProtocolError.MalformedHeaderBlock;
        }

        var error = HeaderFields.TryRead(rest, out var fields);
        block = new HeaderBlock(HeaderBlockKind.Response, flags) { Status = status, ReasonPhrase = reasonPhrase, Fields = fields };
        return error;
    }

    private static bool TryTakeShort(scoped ref ReadOnlySpan<byte> rest, out ReadOnlySpan<byte> taken)
    {
        taken = default;
        if (rest.IsEmpty || rest.Length - 1 < rest[0])
        {
            return false;
        }

        taken = rest.Slice(1, rest[0]);
        rest = rest[(1 + taken.Length)..];
        return true;
    }

    private static bool TryTakeLong(scoped ref ReadOnlySpan<byte> rest, out ReadOnlySpan<byte> taken)
    {
        taken = default;
        if (rest.Length < 2)
        {
            return false;
        }

        var length = BinaryPrimitives.ReadUInt16BigEndian(rest);
        if (rest.Length - 2 < length)
        {
            return false;
        }

        taken = rest.Slice(2, length);
        rest = rest[(2 + length)..];
        return true;
    }
}
