using Tunnel2.Http1.Syntax;

namespace Tunnel2.Http1;

/// <summary>
/// Decodes the chunked coding (RFC 9112 section 7.1) as it arrives: it returns runs of body bytes as slices of the input, never waits for
/// the end of a chunk, and copies nothing. Strict: sizes of 1 to 16 hexadecimal digits, CR LF everywhere, extensions by the grammar and
/// without whitespace, bounded. A mutable struct: keep it in a field, do not copy it. Not thread-safe.
/// </summary>
internal struct ChunkedDecoder
{
    private const byte Cr = (byte)'\r';
    private const byte Lf = (byte)'\n';
    private const int MaxSizeDigits = 16;

    private readonly Http1Limits _limits;
    private readonly bool _allowPadding;
    private TrailerParser? _trailers;
    private long _remaining;
    private int _headerBytes;
    private State _state;
    private Http1Error _error;

    /// <summary>Makes a decoder for the first body; the default value of this struct is not usable.</summary>
    /// <param name="limits">Limits of chunk headers and of the trailer section.</param>
    /// <param name="allowPaddedSizes">
    /// Whether spaces between a size and its CR LF are tolerated. Some old servers pad their sizes; in requests it must be false.
    /// </param>
    public ChunkedDecoder(Http1Limits limits, bool allowPaddedSizes = false)
    {
        ArgumentNullException.ThrowIfNull(limits);
        _limits = limits;
        _allowPadding = allowPaddedSizes;
    }

    private enum State : byte
    {
        FirstDigit,
        Size,
        Padding,
        ExtensionStart,
        ExtensionName,
        ExtensionValueStart,
        ExtensionValue,
        Quoted,
        QuotedPair,
        AfterQuoted,
        HeaderLf,
        Data,
        DataCr,
        DataLf,
        Trailers,
        Done,
        Invalid,
    }

    /// <summary>Why <see cref="ChunkedStatus.Invalid"/> was returned.</summary>
    public readonly Http1Error Error => _error;

    /// <summary>Whether the next byte is data of a chunk, so that it continues the previous run.</summary>
    public readonly bool IsInData => _state == State.Data;

    /// <summary>
    /// The trailer fields, relative to the input of the call that returned <see cref="ChunkedStatus.Done"/>; valid until
    /// <see cref="Reset"/>. They include hop-by-hop fields.
    /// </summary>
    public readonly ReadOnlySpan<FieldRange> Trailers => _state == State.Done && _trailers is not null ? _trailers.Fields : default;

    /// <summary>Begins the next body.</summary>
    public void Reset()
    {
        _trailers?.Reset();
        _remaining = 0;
        _headerBytes = 0;
        _state = State.FirstDigit;
        _error = Http1Error.None;
    }

    /// <summary>Decodes until the next run of body bytes or the end.</summary>
    /// <param name="input">The bytes that no call has consumed yet, beginning with those left over from the last call.</param>
    /// <param name="consumed">
    /// How many bytes of the input were handled. With NeedMore it is all of them, except an unfinished trailer section, which must be
    /// passed again with more bytes after it. With Done, the bytes after them belong to the next message.
    /// </param>
    /// <param name="dataOffset">With Data, where the run begins in the input.</param>
    /// <param name="dataLength">With Data, the run's length, at least one; otherwise 0.</param>
    public ChunkedStatus Decode(ReadOnlySpan<byte> input, out int consumed, out int dataOffset, out int dataLength)
    {
        consumed = 0;
        dataOffset = 0;
        dataLength = 0;
        int position = 0;
        while (true)
        {
            switch (_state)
            {
                case State.Data:
                    consumed = position;
                    if (position == input.Length)
                    {
                        return ChunkedStatus.NeedMore;
                    }

                    dataOffset = position;
                    dataLength = (int)Math.Min(_remaining, input.Length - position);
                    consumed = position + dataLength;
                    _remaining -= dataLength;
                    _state = _remaining == 0 ? State.DataCr : State.Data;
                    return ChunkedStatus.Data;
                case State.Trailers:
                    return DecodeTrailers(input, position, out consumed);
                case State.Done:
                    return ChunkedStatus.Done;
                case State.Invalid:
                    return ChunkedStatus.Invalid;
                default:
                    if (position == input.Length)
                    {
                        consumed = position;
                        return ChunkedStatus.NeedMore;
                    }

                    Http1Error error = OnFramingByte(input[position++]);
                    if (error != Http1Error.None)
                    {
                        consumed = position;
                        return Fail(error);
                    }

                    break;
            }
        }
    }

    private Http1Error OnFramingByte(byte b)
    {
        switch (_state)
        {
            case State.DataCr:
                _state = State.DataLf;
                return b == Cr ? Http1Error.None : Http1Error.InvalidChunkEnd;
            case State.DataLf:
                _state = State.FirstDigit;
                return b == Lf ? Http1Error.None : Http1Error.InvalidChunkEnd;
            case State.HeaderLf:
                _state = _remaining == 0 ? State.Trailers : State.Data;
                _headerBytes = 0;
                return b == Lf ? Http1Error.None : Http1Error.BareCarriageReturn;
            default:
                break;
        }

        if (b == Lf)
        {
            return Http1Error.BareLineFeed;
        }

        if (b == Cr && _state is State.Size or State.Padding or State.ExtensionName or State.ExtensionValue or State.AfterQuoted)
        {
            _state = State.HeaderLf;
            return Http1Error.None;
        }

        if (++_headerBytes > _limits.MaxChunkHeaderBytes)
        {
            return Http1Error.ChunkHeaderTooLong;
        }

        return _state <= State.Padding ? OnSizeByte(b) : OnExtensionByte(b);
    }

    private Http1Error OnSizeByte(byte b)
    {
        int digit = _state == State.Padding ? -1 : HexValueOf(b);
        if (digit >= 0)
        {
            if (_headerBytes > MaxSizeDigits || _remaining > long.MaxValue >> 4)
            {
                return Http1Error.ChunkSizeOverflow;
            }

            _remaining = (_remaining << 4) | (long)digit;
            _state = State.Size;
            return Http1Error.None;
        }

        if (_state == State.Size && b == (byte)';')
        {
            _state = State.ExtensionStart;
            return Http1Error.None;
        }

        if (_allowPadding && _state != State.FirstDigit && b == (byte)' ')
        {
            _state = State.Padding;
            return Http1Error.None;
        }

        return Http1Error.InvalidChunkSize;
    }

    private Http1Error OnExtensionByte(byte b)
    {
        State? next = _state switch
        {
            State.ExtensionStart => ByteScanner.IsTokenByte(b) ? State.ExtensionName : null,
            State.ExtensionName => b == (byte)'=' ? State.ExtensionValueStart : AfterTokenByte(b, State.ExtensionName),
            State.ExtensionValueStart => b == (byte)'"' ? State.Quoted : ByteScanner.IsTokenByte(b) ? State.ExtensionValue : null,
            State.ExtensionValue => AfterTokenByte(b, State.ExtensionValue),
            State.Quoted when b == (byte)'"' => State.AfterQuoted,
            State.Quoted when b == (byte)'\\' => State.QuotedPair,
            State.Quoted or State.QuotedPair => ByteScanner.IsControlByte(b) ? null : State.Quoted,
            State.AfterQuoted => b == (byte)';' ? State.ExtensionStart : null,
            _ => null,
        };

        if (next is null)
        {
            return Http1Error.InvalidChunkExtension;
        }

        _state = next.Value;
        return Http1Error.None;
    }

    private ChunkedStatus DecodeTrailers(ReadOnlySpan<byte> input, int position, out int consumed)
    {
        // Most bodies have no trailers, and then need no parser. A section that has begun never starts with CR.
        ReadOnlySpan<byte> rest = input[position..];
        if (rest.StartsWith("\r\n"u8))
        {
            consumed = position + 2;
            _state = State.Done;
            return ChunkedStatus.Done;
        }

        consumed = position;
        if (rest.IsEmpty || (rest.Length == 1 && rest[0] == Cr))
        {
            return ChunkedStatus.NeedMore;
        }

        _trailers ??= new TrailerParser(_limits);
        switch (_trailers.Parse(rest, out int used))
        {
            case ParseStatus.Done:
                _trailers.Shift(position);
                consumed = position + used;
                _state = State.Done;
                return ChunkedStatus.Done;
            case ParseStatus.Invalid:
                return Fail(_trailers.Error);
            default:
                return ChunkedStatus.NeedMore;
        }
    }

    private ChunkedStatus Fail(Http1Error error)
    {
        _state = State.Invalid;
        _error = error;
        return ChunkedStatus.Invalid;
    }

    private static State? AfterTokenByte(byte b, State same) =>
        b == (byte)';' ? State.ExtensionStart : ByteScanner.IsTokenByte(b) ? same : null;

    private static int HexValueOf(byte b)
    {
        int digit = b - '0';
        if ((uint)digit <= 9)
        {
            return digit;
        }

        digit = (b | 0x20) - 'a';
        return (uint)digit <= 5 ? digit + 10 : -1;
    }
}
