using System.Buffers.Binary;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Protocol.Headers;

/// <summary>
/// The fields of a header block in their order: a forward-only enumerator (<c>foreach</c> works) over bytes that were walked once, so
/// that going through them again needs no checks.
/// </summary>
public ref struct HeaderFields
{
    private readonly ReadOnlySpan<byte> _fields;
    private int _position;
    private int _nameOffset;
    private int _nameLength;
    private int _valueOffset;
    private int _valueLength;

    private HeaderFields(ReadOnlySpan<byte> fields, int count)
    {
        _fields = fields;
        Count = count;
    }

    /// <summary>The number of fields, 0…<see cref="ProtocolLimits.MaxHeaderFields"/>.</summary>
    public int Count { get; }

    /// <summary>The present field's name, with the case it was sent with.</summary>
    public readonly ReadOnlySpan<byte> Name => _fields.Slice(_nameOffset, _nameLength);

    /// <summary>The present field's value.</summary>
    public readonly ReadOnlySpan<byte> Value => _fields.Slice(_valueOffset, _valueLength);

    /// <summary>The enumerator itself, so that <c>foreach</c> works.</summary>
    public readonly HeaderFields Current => this;

    /// <summary>The enumerator itself, so that <c>foreach</c> works.</summary>
    public readonly HeaderFields GetEnumerator() => this;

    /// <summary>Goes to the next field.</summary>
    /// <returns>False at the end.</returns>
    public bool MoveNext()
    {
        if (_position >= _fields.Length)
        {
            return false;
        }

        _nameLength = BinaryPrimitives.ReadUInt16BigEndian(_fields[_position..]);
        _nameOffset = _position + 2;
        var valueAt = _nameOffset + _nameLength;
        _valueLength = BinaryPrimitives.ReadUInt16BigEndian(_fields[valueAt..]);
        _valueOffset = valueAt + 2;
        _position = _valueOffset + _valueLength;
        return true;
    }

    /// <summary>Walks count and lengths; the block must end exactly behind the last field.</summary>
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
