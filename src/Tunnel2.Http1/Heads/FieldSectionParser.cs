using System.Buffers.Binary;
using System.Runtime.CompilerServices;
using Tunnel2.Http1.Syntax;

namespace Tunnel2.Http1;

/// <summary>
/// Reads an optional start line and then field lines up to the empty line (RFC 9112 sections 2 and 5), strictly: every line ends with CR
/// LF, no line is folded, and no whitespace is before a colon. Order, case and duplicates are kept. When a call resumes, scanned bytes are
/// not scanned again. Reusable, not thread-safe; allocates only when a message has more fields than all before it.
/// </summary>
internal abstract class FieldSectionParser
{
    private const byte Cr = (byte)'\r';
    private const byte Lf = (byte)'\n';

    private FieldRange[] _fields;
    private int _fieldCount;
    private Phase _phase;

    // The position of the next byte; in a line also where the line began and where its colon was.
    private int _position;
    private int _nameStart;
    private int _nameEnd;

    /// <summary>Sets the limits of all messages.</summary>
    protected FieldSectionParser(Http1Limits limits)
    {
        ArgumentNullException.ThrowIfNull(limits);
        Limits = limits;
        _fields = new FieldRange[Math.Min(32, limits.MaxFields)];
    }

    private enum Phase : byte
    {
        StartLine,
        LineStart,
        FieldName,
        FieldValue,
        Done,
        Invalid,
    }

    /// <summary>Why <see cref="Parse"/> returned <see cref="ParseStatus.Invalid"/>.</summary>
    public Http1Error Error { get; private set; }

    /// <summary>Index of the byte that broke the rule, for messages to people; zero without an error.</summary>
    public int ErrorOffset { get; private set; }

    /// <summary>The field lines so far, in their order. Valid until the next <c>Reset</c>.</summary>
    public ReadOnlySpan<FieldRange> Fields => _fields.AsSpan(0, _fieldCount);

    /// <summary>The limits.</summary>
    protected Http1Limits Limits { get; }

    /// <summary>
    /// Continues to read. <paramref name="buffer"/> starts at the section's first byte in every call and has all bytes so far. It may move
    /// in memory between calls, and may have bytes of the body after the section.
    /// </summary>
    /// <param name="buffer">All bytes so far.</param>
    /// <param name="consumed">With <see cref="ParseStatus.Done"/> the section's length, otherwise 0.</param>
    /// <returns>After Done or Invalid, the same again until the parser is reset.</returns>
    /// <exception cref="ArgumentException">The buffer is shorter than the bytes scanned before.</exception>
    public ParseStatus Parse(ReadOnlySpan<byte> buffer, out int consumed)
    {
        consumed = 0;
        if (buffer.Length < _position)
        {
            throw new ArgumentException("The buffer must hold all bytes that were passed before.", nameof(buffer));
        }

        // Cutting the view at the limit keeps the loops below free of checks for it.
        ReadOnlySpan<byte> view = buffer.Length > Limits.MaxHeadBytes ? buffer[..Limits.MaxHeadBytes] : buffer;
        ParseStatus status = _phase switch
        {
            Phase.Done => ParseStatus.Done,
            Phase.Invalid => ParseStatus.Invalid,
            Phase.StartLine => ParseFromStartLine(view),
            _ => ParseFields(view),
        };

        if (status == ParseStatus.NeedMore && view.Length == Limits.MaxHeadBytes)
        {
            status = Fail(Http1Error.HeadTooLarge, view.Length);
        }

        consumed = status == ParseStatus.Done ? _position : 0;
        return status;
    }

    /// <summary>Prepares for the next message.</summary>
    protected void ResetSection(bool hasStartLine)
    {
        _phase = hasStartLine ? Phase.StartLine : Phase.LineStart;
        _position = 0;
        _fieldCount = 0;
        Error = Http1Error.None;
        ErrorOffset = 0;
    }

    /// <summary>
    /// Reads the start line from <paramref name="position"/> on and advances it; returns Done after its CR LF. Only called for sections
    /// that were reset to have a start line.
    /// </summary>
    protected abstract ParseStatus ParseStartLine(ReadOnlySpan<byte> buffer, ref int position);

    /// <summary>Evaluates the last field of <see cref="Fields"/>; called only for <see cref="KnownFields.IsEvaluated"/>.</summary>
    protected abstract Http1Error OnField(ReadOnlySpan<byte> buffer, in FieldRange field);

    /// <summary>Evaluates the whole section after its empty line was read.</summary>
    protected abstract Http1Error OnEnd(ReadOnlySpan<byte> buffer);

    /// <summary>Removes the last field, whose value was merged into an earlier one.</summary>
    protected void RemoveLastField() => _fieldCount--;

    /// <summary>Shortens the last field's value to its first <paramref name="valueLength"/> bytes.</summary>
    protected void ShortenLastField(int valueLength)
    {
        ref FieldRange field = ref _fields[_fieldCount - 1];
        field = new FieldRange(field.NameOffset, field.NameLength, field.ValueOffset, valueLength, field.Known);
    }

    /// <summary>Shifts all ranges, for a buffer that has <paramref name="delta"/> more bytes at its start.</summary>
    protected void ShiftFields(int delta)
    {
        for (int i = 0; i < _fieldCount; i++)
        {
            _fields[i] = _fields[i].Shift(delta);
        }
    }

    /// <summary>Ends the message with an error.</summary>
    protected ParseStatus Fail(Http1Error error, int offset)
    {
        _phase = Phase.Invalid;
        Error = error;
        ErrorOffset = offset;
        return ParseStatus.Invalid;
    }

    private ParseStatus ParseFromStartLine(ReadOnlySpan<byte> buffer)
    {
        ParseStatus status = ParseStartLine(buffer, ref _position);
        if (status != ParseStatus.Done)
        {
            return status;
        }

        _phase = Phase.LineStart;
        return ParseFields(buffer);
    }

    private ParseStatus ParseFields(ReadOnlySpan<byte> buffer)
    {
        int position = _position;
        Phase phase = _phase;
        while (true)
        {
            if (phase == Phase.LineStart)
            {
                if (!TakeUsualLines(buffer, ref position))
                {
                    return ParseStatus.Invalid;
                }

                if (position >= buffer.Length)
                {
                    return Suspend(phase, position);
                }

                if (buffer[position] == Cr)
                {
                    return EndSection(buffer, position);
                }

                _nameStart = position;
                phase = Phase.FieldName;
            }

            if (phase == Phase.FieldName)
            {
                position = ByteScanner.EndOfToken(buffer, position);
                if (position >= buffer.Length)
                {
                    return Suspend(phase, position);
                }

                if (buffer[position] != (byte)':' || position == _nameStart)
                {
                    return Fail(ErrorInName(buffer[position], position == _nameStart), position);
                }

                _nameEnd = position++;
                phase = Phase.FieldValue;
            }

            position = ByteScanner.EndOfFieldValue(buffer, position);
            if (position + 1 >= buffer.Length && (position >= buffer.Length || buffer[position] == Cr))
            {
                return Suspend(phase, position);
            }

            if (buffer[position] != Cr || buffer[position + 1] != Lf)
            {
                return Fail(ErrorOfControl(buffer[position]), position);
            }

            if (!AddField(buffer, _nameStart, _nameEnd, position))
            {
                return ParseStatus.Invalid;
            }

            position += 2;
            phase = Phase.LineStart;
        }
    }

    // The fast path: whole lines without anything unusual. All other cases (an incomplete line, a rare name, an error, the end) are left to
    // the loop above, which works step by step.
    private bool TakeUsualLines(ReadOnlySpan<byte> buffer, ref int position)
    {
        int start = position;
        while (start < buffer.Length
            && ByteScanner.TryScanFieldLine(buffer, start, out int colon, out int end)
            && buffer.Length - end >= 2
            && BinaryPrimitives.ReadUInt16LittleEndian(buffer[end..]) == (Cr | (Lf << 8)))
        {
            if (!AddField(buffer, start, colon, end))
            {
                return false;
            }

            start = end + 2;
        }

        position = start;
        return true;
    }

    private ParseStatus Suspend(Phase phase, int position)
    {
        _phase = phase;
        _position = position;
        return ParseStatus.NeedMore;
    }

    private ParseStatus EndSection(ReadOnlySpan<byte> buffer, int position)
    {
        if (position + 1 >= buffer.Length)
        {
            return Suspend(Phase.LineStart, position);
        }

        if (buffer[position + 1] != Lf)
        {
            return Fail(Http1Error.BareCarriageReturn, position);
        }

        Http1Error error = OnEnd(buffer);
        if (error != Http1Error.None)
        {
            return Fail(error, position);
        }

        _phase = Phase.Done;
        _position = position + 2;
        return ParseStatus.Done;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private bool AddField(ReadOnlySpan<byte> buffer, int nameStart, int nameEnd, int lineEnd)
    {
        // Usually one space comes before the value and none after it.
        int start = buffer[nameEnd + 1] == (byte)' ' ? nameEnd + 2 : nameEnd + 1;
        int end = lineEnd;
        if (IsWhitespace(buffer[start]) || IsWhitespace(buffer[end - 1]))
        {
            (start, end) = Trim(buffer, start, end);
        }

        int count = _fieldCount;
        if (count >= _fields.Length && !TryGrow())
        {
            Fail(Http1Error.TooManyFields, nameStart);
            return false;
        }

        KnownField known = KnownFields.Classify(buffer[nameStart..nameEnd]);
        ref FieldRange field = ref _fields[count];
        field = new FieldRange(nameStart, nameEnd - nameStart, start, end - start, known);
        _fieldCount = count + 1;
        return !KnownFields.IsEvaluated(known) || Evaluate(buffer, in field);
    }

    private bool Evaluate(ReadOnlySpan<byte> buffer, in FieldRange field)
    {
        Http1Error error = OnField(buffer, in field);
        if (error != Http1Error.None)
        {
            Fail(error, field.NameOffset);
        }

        return error == Http1Error.None;
    }

    private bool TryGrow()
    {
        if (_fields.Length == Limits.MaxFields)
        {
            return false;
        }

        Array.Resize(ref _fields, Math.Min(_fields.Length * 2, Limits.MaxFields));
        return true;
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static bool IsWhitespace(byte b) => b is (byte)' ' or (byte)'\t';

    [MethodImpl(MethodImplOptions.NoInlining)]
    private static (int Start, int End) Trim(ReadOnlySpan<byte> buffer, int start, int end)
    {
        while (start < end && IsWhitespace(buffer[start]))
        {
            start++;
        }

        while (end > start && IsWhitespace(buffer[end - 1]))
        {
            end--;
        }

        return (start, end);
    }

    private static Http1Error ErrorInName(byte found, bool isFirst) => found switch
    {
        (byte)' ' or (byte)'\t' => isFirst ? Http1Error.ObsoleteFolding : Http1Error.WhitespaceBeforeColon,
        Cr => Http1Error.MissingColon,
        Lf => Http1Error.BareLineFeed,
        _ => Http1Error.InvalidFieldName,
    };

    /// <summary>The error for a control character in a place of text and CR LF.</summary>
    protected static Http1Error ErrorOfControl(byte found) => found switch
    {
        Cr => Http1Error.BareCarriageReturn,
        Lf => Http1Error.BareLineFeed,
        _ => Http1Error.ControlCharacter,
    };
}
