using System.Buffers;

namespace Tunnel2.Http2.Hpack;

/// <summary>
/// The last fields that a header block adds to the table of compression: those that may still be in it when the block has ended. What they
/// push out is dropped, and never reaches the reader of the block. They are kept as they are written, so that the table needs not be known;
/// a name that is given by its place in the table is written out, or counted from the last field that the reader got. Not thread-safe.
/// </summary>
internal sealed class HpackRemembered
{
    private const byte Pattern = 0x40;
    private const int Prefix = 6;

    /// <summary>No code has more bits for a byte.</summary>
    private const int LongestCode = 30;

    /// <summary>A place that no table has: for a name that is not in the table any more.</summary>
    private const int Nowhere = 1 << 20;

    /// <summary>The oldest first; no more than the table could have, and one.</summary>
    private readonly List<Entry> _entries = [];
    private Entry _open = new();
    private int _least;
    private bool _hasDropped;
    private bool _wasEmptied;

    /// <summary>A field begins.</summary>
    /// <param name="index">The place of its name; 0: it is written out.</param>
    public void Begin(int index)
    {
        var place = index - HpackStaticTable.Count - 1;
        _open = new Entry { Name = index };
        if (place >= 0 && place < _entries.Count)
        {
            var named = _entries[_entries.Count - 1 - place];
            (_open.Name, _open.NameText, _open.LeastOfName) = (named.Name, named.NameText, named.LeastOfName);
        }
        else if (place >= 0)
        {
            _open.Name = _hasDropped ? Nowhere : index - _entries.Count;
        }
    }

    /// <summary>A text of the field begins: its name, if that is written out, then its value.</summary>
    /// <param name="number">Its length as it is written.</param>
    /// <param name="length">Its length.</param>
    public void BeginText(ReadOnlySpan<byte> number, int length)
    {
        _open.IsTooLong |= length > HpackShortener.LongestKept;
        if (_open.IsTooLong)
        {
            return;
        }

        var text = new byte[number.Length + length];
        number.CopyTo(text);
        var least = (number[0] & 0x80) != 0 ? length * 8 / LongestCode : length;
        if (_open is { Name: 0, NameText: null })
        {
            (_open.NameText, _open.LeastOfName) = (text, least);
        }
        else
        {
            (_open.Value, _open.LeastOfValue) = (text, least);
        }

        _open.Written = number.Length;
    }

    /// <summary>The next bytes of the text.</summary>
    public void Append(ReadOnlySpan<byte> part)
    {
        if (!_open.IsTooLong)
        {
            part.CopyTo((_open.Value ?? _open.NameText).AsSpan(_open.Written));
            _open.Written += part.Length;
        }
    }

    /// <summary>The field has ended. One that is longer than the table empties it, and is not in it.</summary>
    public void End()
    {
        if (_open.IsTooLong)
        {
            _entries.Clear();
            (_least, _hasDropped, _wasEmptied) = (0, true, true);
            return;
        }

        _entries.Add(_open);
        _least += _open.Least;
        while (_least - _entries[0].Least >= HpackDecoder.DefaultTableSize)
        {
            _least -= _entries[0].Least;
            _entries.RemoveAt(0);
            _hasDropped = true;
        }
    }

    /// <summary>Writes the fields.</summary>
    public void WriteTo(IBufferWriter<byte> output)
    {
        Span<byte> number = stackalloc byte[HpackInteger.MaxLength];
        if (_wasEmptied)
        {
            output.Write<byte>([Pattern, 1, (byte)'x']);
            output.Write(number[..HpackInteger.Write(number, 0, 7, HpackDecoder.DefaultTableSize)]);
            output.GetSpan(HpackDecoder.DefaultTableSize)[..HpackDecoder.DefaultTableSize].Fill((byte)'/');
            output.Advance(HpackDecoder.DefaultTableSize);
        }

        for (var i = 0; i < _entries.Count; i++)
        {
            // Places of the table move with each field that is added.
            var entry = _entries[i];
            var index = entry.Name > HpackStaticTable.Count ? entry.Name + i : entry.Name;
            output.Write(number[..HpackInteger.Write(number, Pattern, Prefix, index)]);
            output.Write<byte>(entry.NameText);
            output.Write<byte>(entry.Value);
        }
    }

    private sealed class Entry
    {
        /// <summary>The place of the name when the first of the fields was added; 0: it is written out.</summary>
        public int Name { get; set; }

        /// <summary>The name with its length, where it is written out; fields of the same name share it.</summary>
        public byte[]? NameText { get; set; }

        /// <summary>The value with its length.</summary>
        public byte[]? Value { get; set; }

        /// <summary>How much of the text is there that came last.</summary>
        public int Written { get; set; }

        /// <summary>Whether a text of it is longer than any that can be in the table. Then none is kept.</summary>
        public bool IsTooLong { get; set; }

        public int LeastOfName { get; set; }

        public int LeastOfValue { get; set; }

        /// <summary>The bytes of the table that it takes at least.</summary>
        public int Least => HpackDynamicTable.Overhead + LeastOfName + LeastOfValue;
    }
}
