using System.Buffers.Binary;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Protocol.Headers;

/// <summary>
/// The fields of a header block in their order (<c>foreach</c> works). Their bytes were checked once, so enumerating them finds no error.
/// </summary>
public readonly ref struct HeaderFields
{
    private readonly ReadOnlySpan<byte> _fields;

    private HeaderFields(ReadOnlySpan<byte> fields, int count)
    {
        _fields = fields;
        Count = count;
    }

    /// <summary>The number of fields, 0…<see cref="ProtocolLimits.MaxHeaderFields"/>.</summary>
    public int Count { get; }

    /// <summary>Begins before the first field.</summary>
    public HeaderFieldEnumerator GetEnumerator() => new(_fields);

    /// <summary>Checks count and lengths; the block must end exactly after the last field.</summary>
    internal static ProtocolError TryRead(ReadOnlySpan<byte> source, out HeaderFields fields)
    {
        fields = default;
        if (source.Length < 2)
        {
            return ProtocolError.MalformedHeaderBlock;
        }

        var count = BinaryPrimitives.ReadUInt16BigEndian(source);
        if (count > ProtocolLimits.MaxHeaderFields)
        {
            return ProtocolError.TooManyHeaderFields;
        }

        var rest = source[2..];
        var position = 0;
        for (var i = 0; i < 2 * count; i++)
        {
            if (rest.Length - position < 2)
            {
                return ProtocolError.MalformedHeaderBlock;
            }

            position += 2 + BinaryPrimitives.ReadUInt16BigEndian(rest[position..]);
            if (position > rest.Length)
            {
                return ProtocolError.MalformedHeaderBlock;
            }
        }

        if (position != rest.Length)
        {
            return ProtocolError.MalformedHeaderBlock;
        }

        fields = new HeaderFields(rest, count);
        return ProtocolError.None;
    }
}
