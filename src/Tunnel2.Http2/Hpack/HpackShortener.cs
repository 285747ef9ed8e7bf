using System.Buffers;

namespace Tunnel2.Http2.Hpack;

/// <summary>
/// Makes a header block that is too large smaller, so that its reader needs little memory to refuse it and the peer's compression still
/// continues as before. From a limit on it leaves out fields that are not remembered, and of those that are, the earlier ones. It keeps the
/// last ones, which are all that the table of compression has in the end (<see cref="HpackRemembered"/>). Something short replaces texts
/// that are longer than any that can be remembered. A block of which anything was left out ends with a field that is larger than any head
/// may be, and that is valid nowhere: no reader takes it for the whole.
/// The block comes in any pieces and is kept nowhere, except as much as the table holds. It knows no table, so a block's size is that of
/// its compressed bytes. Not thread-safe.
/// </summary>
/// <param name="limits">The limits.</param>
internal sealed class HpackShortener(HpackShortenerLimits limits)
{
    /// <summary>
    /// Longer texts cannot be remembered, however they are coded: the table has 4,096 bytes, and no symbol has more than 30 bits.
    /// </summary>
    public const int LongestKept = 16 * 1024;

    private readonly byte[] _number = new byte[HpackInteger.MaxLength];
    private HpackRemembered? _remembered;
    private Place _place;
    private int _numberLength;
    private int _prefix;
    private int _rest;
    private int _written;
    private int _fields;
    private bool _hasName;
    private bool _leavesOutField;
    private bool _leavesOutText;
    private bool _isLate;
    private bool _isCaught;
    private bool _isShortened;

    private enum Place
    {
        /// <summary>Before the first byte of a field, or of a change of the table.</summary>
        Start,

        /// <summary>In its index.</summary>
        Index,

        /// <summary>In the length of a text.</summary>
        Length,

        /// <summary>In a text.</summary>
        Text,

        /// <summary>After a number that is too large: its reader ends the connection.</summary>
        Broken,
    }

    /// <summary>A block begins.</summary>
    public void Begin()
    {
        _place = Place.Start;
        _written = 0;
        _fields = 0;
        _isShortened = false;
        _remembered = null;
    }

    /// <summary>The next bytes of the block.</summary>
    /// <param name="bytes">The bytes.</param>
    /// <param name="output">Gets what is left of them.</param>
    public void Write(ReadOnlySpan<byte> bytes, IBufferWriter<byte> output)
    {
        while (!bytes.IsEmpty)
        {
            switch (_place)
            {
                case Place.Start:
                    Start(bytes[0]);
                    TakeNumber(ref bytes, output);
                    break;
                case Place.Index or Place.Length:
                    TakeNumber(ref bytes, output);
                    break;
                case Place.Text:
                    var part = bytes[..Math.Min(_rest, bytes.Length)];
                    bytes = bytes[part.Length..];
                    _rest -= part.Length;
                    if (!_leavesOutText)
                    {
                        Pass(part, output);
                    }
                    else if (_isCaught)
                    {
                        _remembered!.Append(part);
                    }

                    EndTextIfRead();
                    break;
                default:
                    return;
            }
        }
    }

    /// <summary>The block has ended.</summary>
    /// <param name="output">Gets what has to follow.</param>
    public void End(IBufferWriter<byte> output)
    {
        switch (_place)
        {
            case Place.Start when _isShortened:
                _remembered?.WriteTo(output);

                // Written out and not remembered; HTTP allows no space at the beginning of a value.
                Pass([0x00, 1, (byte)'x'], output);
                PassText((byte)' ', limits.Mark, output);
                break;
            case Place.Start or Place.Broken:
                break;
            case Place.Index or Place.Length when !_leavesOutField:
                PassNumber(output);
                break;
            case Place.Text when !_leavesOutText:
                break;
            default:
                // The block is cut off inside of what was left out. So it is here: the beginning of a number.
                Pass([0xff], output);
                break;
        }
    }

    private void Start(byte first)
    {
        _numberLength = 0;
        _place = Place.Index;
        _isCaught = false;
        if ((first & 0x80) != 0)
        {
            Begin(7, leavesOut: false);
        }
        else if ((first & 0x40) != 0)
        {
            Begin(6, leavesOut: false);
        }
        else if ((first & 0x20) != 0)
        {
            // A change of the table's size is no field.
            _prefix = 5;
            _leavesOutField = false;
        }
        else
        {
            Begin(4, leavesOut: (first & 0x0f) == 0);
        }
    }

    private void Begin(int prefix, bool leavesOut)
    {
        _prefix = prefix;
        _fields++;
        _isLate = _written > limits.Bytes || _fields > limits.Fields;
        _leavesOutField = leavesOut && _isLate;
        _isShortened |= _leavesOutField;
    }

    /// <summary>The place of a field, or of its name, in the tables is known.</summary>
    private void EndIndex(int index)
    {
        if (_prefix == 5 || !_isLate)
        {
            return;
        }

        // Fields of the request itself come first. Where one of them made the block too large, the others still pass in their order.
        if (_prefix == 6 && (_remembered is not null || index is 0 or > HpackStaticTable.SchemeHttps))
        {
            _remembered ??= new HpackRemembered();
            _remembered.Begin(index);
            _isCaught = true;
        }

        // In the reader's table other fields have these places. Two fields say how the request is to be answered.
        _leavesOutField |= _isCaught || index > HpackStaticTable.Count
            || (_prefix == 4 && index is > HpackStaticTable.SchemeHttps and not (HpackStaticTable.Accept or HpackStaticTable.ContentType));
        _isShortened |= _leavesOutField;
    }

    /// <summary>Reads one number, an index or a length, which may come in pieces.</summary>
    private void TakeNumber(ref ReadOnlySpan<byte> bytes, IBufferWriter<byte> output)
    {
        var mask = (1 << _prefix) - 1;
        do
        {
            var next = bytes[0];
            bytes = bytes[1..];
            _number[_numberLength++] = next;
            if (_numberLength == 1 ? (next & mask) < mask : next < 0x80)
            {
                EndNumber(output);
                return;
            }

            if (_numberLength == _number.Length)
            {
                Break(output);
                return;
            }
        }
        while (!bytes.IsEmpty);
    }

    private void EndNumber(IBufferWriter<byte> output)
    {
        ReadOnlySpan<byte> number = _number.AsSpan(0, _numberLength);
        var first = number[0];
        if (!HpackInteger.TryRead(ref number, _prefix, out var value))
        {
            Break(output);
            return;
        }

        if (_place == Place.Index)
        {
            EndIndex(value);
            PassNumber(output);
            if ((first & 0x80) != 0 || _prefix == 5)
            {
                _place = Place.Start;
                return;
            }

            _hasName = value != 0;
            BeginLength();
            return;
        }

        _rest = value;
        _leavesOutText = _leavesOutField;
        if (_isCaught)
        {
            _remembered!.BeginText(_number.AsSpan(0, _numberLength), value);
        }
        else if (!_leavesOutField && value > LongestKept && _written + (long)value > limits.Bytes)
        {
            _isShortened = true;
            _leavesOutText = true;
            PassText((byte)'/', limits.StandIn, output);
        }
        else
        {
            PassNumber(output);
        }

        _place = Place.Text;
        EndTextIfRead();
    }

    private void BeginLength()
    {
        _place = Place.Length;
        _prefix = 7;
        _numberLength = 0;
    }

    private void EndTextIfRead()
    {
        if (_rest > 0)
        {
            return;
        }

        if (_hasName)
        {
            if (_isCaught)
            {
                _remembered!.End();
            }

            _place = Place.Start;
            return;
        }

        _hasName = true;
        BeginLength();
    }

    private void Break(IBufferWriter<byte> output)
    {
        // Also where the number itself was to be left out.
        Pass([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], output);
        _place = Place.Broken;
    }

    private void PassNumber(IBufferWriter<byte> output)
    {
        if (!_leavesOutField)
        {
            Pass(_number.AsSpan(0, _numberLength), output);
        }
    }

    private void PassText(byte character, int length, IBufferWriter<byte> output)
    {
        Span<byte> number = stackalloc byte[HpackInteger.MaxLength];
        Pass(number[..HpackInteger.Write(number, 0, 7, length)], output);
        output.GetSpan(length)[..length].Fill(character);
        output.Advance(length);
        _written += length;
    }

    private void Pass(scoped ReadOnlySpan<byte> bytes, IBufferWriter<byte> output)
    {
        output.Write(bytes);
        _written += bytes.Length;
    }
}
