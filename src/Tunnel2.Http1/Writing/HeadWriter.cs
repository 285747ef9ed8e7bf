using System.Buffers.Text;

namespace Tunnel2.Http1;

/// <summary>
/// Writes a head or a trailer section into a span and checks all of it: the result parses as the same fields. After the first failure it
/// writes nothing more, and <see cref="Status"/> keeps the reason, so callers check once, at the end. Allocates nothing.
/// </summary>
internal ref struct HeadWriter
{
    private readonly Span<byte> _destination;
    private int _written;
    private HeadWriteStatus _status;

    /// <summary>Starts at the beginning of <paramref name="destination"/>.</summary>
    public HeadWriter(Span<byte> destination)
    {
        _destination = destination;
    }

    /// <summary>Whether everything was written, or why not.</summary>
    public readonly HeadWriteStatus Status => _status;

    /// <summary>Bytes written so far. Valid only while <see cref="Status"/> is Ok.</summary>
    public readonly int Written => _written;

    /// <summary>Bytes that a field line takes.</summary>
    public static int SizeOfField(int nameLength, int valueLength) => nameLength + valueLength + 4;

    /// <summary>Writes the request line of an HTTP/1.1 request.</summary>
    /// <param name="method">A token.</param>
    /// <param name="target">A target that <see cref="FieldSyntax.IsTarget"/> accepts; the caller chooses its form.</param>
    public void WriteRequestLine(ReadOnlySpan<byte> method, ReadOnlySpan<byte> target)
    {
        if (!FieldSyntax.IsToken(method) || !FieldSyntax.IsTarget(target))
        {
            Fail(HeadWriteStatus.InvalidSyntax);
        }
        else if (TryTake(method.Length + target.Length + 12, out Span<byte> line))
        {
            method.CopyTo(line);
            line[method.Length] = (byte)' ';
            target.CopyTo(line[(method.Length + 1)..]);
            " HTTP/1.1\r\n"u8.CopyTo(line[(method.Length + 1 + target.Length)..]);
        }
    }

    /// <summary>Writes the status line of an HTTP/1.1 response.</summary>
    /// <param name="statusCode">100 to 999.</param>
    /// <param name="reason">The reason phrase; may be empty.</param>
    public void WriteStatusLine(int statusCode, ReadOnlySpan<byte> reason)
    {
        if (statusCode is < 100 or > 999 || !FieldSyntax.IsFieldValue(reason))
        {
            Fail(HeadWriteStatus.InvalidSyntax);
        }
        else if (TryTake(reason.Length + 15, out Span<byte> line))
        {
            "HTTP/1.1 "u8.CopyTo(line);
            line[9] = (byte)('0' + (statusCode / 100));
            line[10] = (byte)('0' + (statusCode / 10 % 10));
            line[11] = (byte)('0' + (statusCode % 10));
            line[12] = (byte)' ';
            reason.CopyTo(line[13..]);
            "\r\n"u8.CopyTo(line[(13 + reason.Length)..]);
        }
    }

    /// <summary>Writes a field line.</summary>
    /// <param name="name">A token.</param>
    /// <param name="value">A value without control characters except HTAB; may be empty.</param>
    public void WriteField(scoped ReadOnlySpan<byte> name, scoped ReadOnlySpan<byte> value)
    {
        if (!FieldSyntax.IsToken(name) || !FieldSyntax.IsFieldValue(value))
        {
            Fail(HeadWriteStatus.InvalidSyntax);
        }
        else if (TryTake(SizeOfField(name.Length, value.Length), out Span<byte> line))
        {
            name.CopyTo(line);
            line[name.Length] = (byte)':';
            line[name.Length + 1] = (byte)' ';
            value.CopyTo(line[(name.Length + 2)..]);
            line[^2] = (byte)'\r';
            line[^1] = (byte)'\n';
        }
    }

    /// <summary>Writes a field line with a decimal number, such as Content-Length.</summary>
    /// <param name="name">A token.</param>
    /// <param name="value">Zero or more.</param>
    public void WriteField(ReadOnlySpan<byte> name, long value)
    {
        Span<byte> digits = stackalloc byte[20];
        if (value < 0 || !Utf8Formatter.TryFormat(value, digits, out int length))
        {
            Fail(HeadWriteStatus.InvalidSyntax);
            return;
        }

        WriteField(name, digits[..length]);
    }

    /// <summary>Writes complete lines that were checked before, such as constants. Their bytes are not checked again.</summary>
    /// <param name="lines">Zero or more lines, each with its CR LF.</param>
    public void WriteCheckedLines(ReadOnlySpan<byte> lines)
    {
        if (TryTake(lines.Length, out Span<byte> destination))
        {
            lines.CopyTo(destination);
        }
    }

    /// <summary>Writes the empty line that ends the head or trailer section, and returns the status of the whole.</summary>
    public HeadWriteStatus WriteEnd()
    {
        if (TryTake(2, out Span<byte> line))
        {
            line[0] = (byte)'\r';
            line[1] = (byte)'\n';
        }

        return _status;
    }

    private bool TryTake(int size, out Span<byte> taken)
    {
        if (_status != HeadWriteStatus.Ok || _destination.Length - _written < size)
        {
            Fail(HeadWriteStatus.DestinationTooSmall);
            taken = default;
            return false;
        }

        taken = _destination.Slice(_written, size);
        _written += size;
        return true;
    }

    // Invalid syntax wins over lack of room, because writing again into a larger buffer would not help.
    private void Fail(HeadWriteStatus status)
    {
        if (_status != HeadWriteStatus.InvalidSyntax)
        {
            _status = status;
        }
    }
}
