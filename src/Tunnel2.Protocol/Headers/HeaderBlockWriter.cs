using System.Buffers.Binary;
using System.Text;

namespace Tunnel2.Protocol.Headers;

/// <summary>
/// Writes one header block into a span. It never throws and never writes outside of the span. If the span is too small,
/// <see cref="Overflowed"/> is set, and the caller starts again with a larger one. Order, case and duplicates of fields are kept.
/// </summary>
public ref struct HeaderBlockWriter
{
    private readonly Span<byte> _buffer;
    private int _position;
    private int _countPosition;
    private int _count;

    /// <summary>Begins at the start of <paramref name="buffer"/>.</summary>
    /// <param name="buffer">Memory for the block; at most <see cref="ProtocolLimits.MaxHeaderBlockLength"/> bytes of it are used.</param>
    public HeaderBlockWriter(Span<byte> buffer)
    {
        _buffer = buffer.Length > ProtocolLimits.MaxHeaderBlockLength ? buffer[..ProtocolLimits.MaxHeaderBlockLength] : buffer;
    }

    /// <summary>Whether the span was too small; the written bytes are then useless.</summary>
    public bool Overflowed { get; private set; }

    /// <summary>Whether more fields were added than <see cref="ProtocolLimits.MaxHeaderFields"/>; the block must not be sent.</summary>
    public readonly bool HasTooManyFields => _count > ProtocolLimits.MaxHeaderFields;

    /// <summary>Bytes of the block so far.</summary>
    public readonly int Length => _position;

    /// <summary>Begins a request block.</summary>
    /// <param name="flags">Flags.</param>
    /// <param name="method">The method, 1…255 bytes.</param>
    /// <param name="scheme">The scheme the visitor used, 0…255 bytes.</param>
    /// <param name="authority">Host and port as the visitor wrote them.</param>
    /// <param name="target">Path and query as the visitor wrote them, byte for byte.</param>
    public void BeginRequest(
        HeaderBlockFlags flags, ReadOnlySpan<byte> method, ReadOnlySpan<byte> scheme, ReadOnlySpan<byte> authority,
        ReadOnlySpan<byte> target)
    {
        WriteByte((byte)HeaderBlockKind.Request);
        WriteByte((byte)flags);
        WriteShort(method);
        WriteShort(scheme);
        WriteLong(authority);
        WriteLong(target);
        ReserveCount();
    }

    /// <summary>Begins a request block from strings whose characters are bytes (Latin-1).</summary>
    /// <param name="flags">Flags.</param>
    /// <param name="method">The method, 1…255 characters.</param>
    /// <param name="scheme">The scheme the visitor used, 0…255 characters.</param>
    /// <param name="authority">Host and port as the visitor wrote them.</param>
    /// <param name="target">Path and query as the visitor wrote them.</param>
    public void BeginRequest(HeaderBlockFlags flags, string method, string scheme, string authority, string target)
    {
        WriteByte((byte)HeaderBlockKind.Request);
        WriteByte((byte)flags);
        WriteShort(method);
        WriteShort(scheme);
        WriteLong(authority);
        WriteLong(target);
        ReserveCount();
    }

    /// <summary>Begins a response block.</summary>
    /// <param name="flags">Flags.</param>
    /// <param name="status">100…999.</param>
    /// <param name="reasonPhrase">The reason phrase as the backend wrote it, cut to 255 bytes.</param>
    public void BeginResponse(HeaderBlockFlags flags, int status, ReadOnlySpan<byte> reasonPhrase)
    {
        WriteByte((byte)HeaderBlockKind.Response);
        WriteByte((byte)flags);
        WriteUInt16((ushort)status);
        WriteShort(reasonPhrase.Length > byte.MaxValue ? reasonPhrase[..byte.MaxValue] : reasonPhrase);
        ReserveCount();
    }

    /// <summary>Begins a trailers block.</summary>
    public void BeginTrailers()
    {
        WriteByte((byte)HeaderBlockKind.Trailers);
        WriteByte(0);
        ReserveCount();
    }

    /// <summary>Adds a field.</summary>
    /// <param name="name">The name with the case it had.</param>
    /// <param name="value">The value.</param>
    public void AddField(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> value)
    {
        WriteLong(name);
        WriteLong(value);
        _count++;
    }

    /// <summary>Adds a field from strings whose characters are bytes (Latin-1).</summary>
    /// <param name="name">The name with the case it had.</param>
    /// <param name="value">The value.</param>
    public void AddField(string name, string value)
    {
        WriteLong(name);
        WriteLong(value);
        _count++;
    }

    /// <summary>Ends the block: writes the number of fields at its place.</summary>
    /// <returns>Bytes of the block; meaningless when <see cref="Overflowed"/> or <see cref="HasTooManyFields"/>.</returns>
    public readonly int Complete()
    {
        if (!Overflowed)
        {
            BinaryPrimitives.WriteUInt16BigEndian(_buffer[_countPosition..], (ushort)_count);
        }

        return _position;
    }

    private void ReserveCount()
    {
        _countPosition = _position;
        WriteUInt16(0);
    }

    private void WriteByte(byte value)
    {
        if (TryReserve(1))
        {
            _buffer[_position++] = value;
        }
    }

    private void WriteUInt16(ushort value)
    {
        if (TryReserve(2))
        {
            BinaryPrimitives.WriteUInt16BigEndian(_buffer[_position..], value);
            _position += 2;
        }
    }

    private void WriteShort(ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length <= byte.MaxValue && TryReserve(1 + bytes.Length))
        {
            _buffer[_position++] = (byte)bytes.Length;
            bytes.CopyTo(_buffer[_position..]);
            _position += bytes.Length;
        }
        else
        {
            Overflowed = true;
        }
    }

    private void WriteShort(string text)
    {
        if (text.Length <= byte.MaxValue && TryReserve(1 + text.Length))
        {
            _buffer[_position++] = (byte)text.Length;
            _position += Encoding.Latin1.GetBytes(text, _buffer[_position..]);
        }
        else
        {
            Overflowed = true;
        }
    }

    private void WriteLong(scoped ReadOnlySpan<byte> bytes)
    {
        if (bytes.Length <= ushort.MaxValue && TryReserve(2 + bytes.Length))
        {
            BinaryPrimitives.WriteUInt16BigEndian(_buffer[_position..], (ushort)bytes.Length);
            bytes.CopyTo(_buffer[(_position + 2)..]);
            _position += 2 + bytes.Length;
        }
        else
        {
            Overflowed = true;
        }
    }

    private void WriteLong(string text)
    {
        if (text.Length <= ushort.MaxValue && TryReserve(2 + text.Length))
        {
            BinaryPrimitives.WriteUInt16BigEndian(_buffer[_position..], (ushort)text.Length);
            _position += 2 + Encoding.Latin1.GetBytes(text, _buffer[(_position + 2)..]);
        }
        else
        {
            Overflowed = true;
        }
    }

    private bool TryReserve(int count)
    {
        if (!Overflowed && _buffer.Length - _position >= count)
        {
            return true;
        }

        Overflowed = true;
        return false;
    }
}
