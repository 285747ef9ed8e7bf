using System.Buffers.Binary;
using System.Text;

namespace Tunnel2.Protocol.Handshake;

/// <summary>
/// Writes a handshake message's fields one after another; throws <see cref="ArgumentException"/> for values that cannot be encoded.
/// </summary>
internal ref struct HandshakeWriter(Span<byte> buffer)
{
    private readonly Span<byte> _buffer = buffer;

    public int Length { get; private set; }

    public void Byte(byte value) => Take(1)[0] = value;

    public void UInt16(ushort value) => BinaryPrimitives.WriteUInt16BigEndian(Take(2), value);

    public void UInt32(uint value) => BinaryPrimitives.WriteUInt32BigEndian(Take(4), value);

    public void UInt64(ulong value) => BinaryPrimitives.WriteUInt64BigEndian(Take(8), value);

    public void Raw(scoped ReadOnlySpan<byte> bytes) => bytes.CopyTo(Take(bytes.Length));

    /// <summary>Writes a field that has no length prefix because every reader knows its length.</summary>
    public void Fixed(scoped ReadOnlySpan<byte> bytes, int length)
    {
        if (bytes.Length != length)
        {
            throw new ArgumentException($"A field of fixed length has {length} bytes, not {bytes.Length}.");
        }

        Raw(bytes);
    }

    public void Short(scoped ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > byte.MaxValue)
        {
            throw new ArgumentException("A short field has at most 255 bytes.");
        }

        Byte((byte)bytes.Length);
        Raw(bytes);
    }

    public void Short(string text) => Short(Encoding.UTF8.GetBytes(text));

    public void Long(scoped ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length > ushort.MaxValue)
        {
            throw new ArgumentException("A long field has at most 65535 bytes.");
        }

        UInt16((ushort)bytes.Length);
        Raw(bytes);
    }

    public void Long(string text) => Long(Encoding.UTF8.GetBytes(text));

    private Span<byte> Take(int count)
    {
        if (_buffer.Length - Length < count)
        {
            throw new ArgumentException("The handshake message exceeds its limit.");
        }

        var taken = _buffer.Slice(Length, count);
        Length += count;
        return taken;
    }
}

/// <summary>
/// Reads a handshake message's fields. After a field that does not fit, <see cref="Failed"/> stays true and all reads return empty values.
/// </summary>
internal ref struct HandshakeReader(ReadOnlySpan<byte> buffer)
{
    private ReadOnlySpan<byte> _rest = buffer;

    public bool Failed { get; private set; }

    public byte Byte()
    {
        var taken = Take(1);
        return taken.IsEmpty ? (byte)0 : taken[0];
    }

    public ushort UInt16()
    {
        var taken = Take(2);
        return taken.IsEmpty ? (ushort)0 : BinaryPrimitives.ReadUInt16BigEndian(taken);
    }

    public uint UInt32()
    {
        var taken = Take(4);
        return taken.IsEmpty ? 0 : BinaryPrimitives.ReadUInt32BigEndian(taken);
    }

    public ulong UInt64()
    {
        var taken = Take(8);
        return taken.IsEmpty ? 0 : BinaryPrimitives.ReadUInt64BigEndian(taken);
    }

    public ReadOnlySpan<byte> Raw(int count) => Take(count);

    public ReadOnlySpan<byte> Short() => Take(Byte());

    public ReadOnlySpan<byte> Long() => Take(UInt16());

    /// <summary>A text of the peer, cleaned.</summary>
    public string ShortText() => PlainText.Read(Short());

    /// <summary>A text of the peer, cleaned and cut to the limit.</summary>
    public string LongText() => PlainText.Read(Long());

    private ReadOnlySpan<byte> Take(int count)
    {
        if (Failed || _rest.Length < count)
        {
            Failed = true;
            return default;
        }

        var taken = _rest[..count];
        _rest = _rest[count..];
        return taken;
    }
}
