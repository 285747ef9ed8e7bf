using System.Globalization;
using System.Text;

namespace Tunnel2.TestUtilities;

/// <summary>
/// A terminal as far as a test needs one (the VT100's sequences that programs of today use): what a person would see. What it does not know
/// is kept in <see cref="Unknown"/>. Not thread-safe.
/// </summary>
public sealed class VirtualTerminal
{
    private const string Empty = " ";

    private readonly Decoder _utf8 = Encoding.UTF8.GetDecoder();
    private readonly StringBuilder _sequence = new();
    private readonly List<string> _unknown = [];
    private readonly List<string> _attributes = [];
    private string[,] _cells;
    private string[,] _styles;
    private string[,]? _main;
    private (int Row, int Column) _mainCursor;
    private (int Row, int Column) _cursor;
    private char _highSurrogate;
    private bool _isInSequence;
    private bool _wraps = true;
    private string _style = "";

    /// <param name="columns">How many columns it has.</param>
    /// <param name="rows">How many rows it has.</param>
    public VirtualTerminal(int columns, int rows)
    {
        _cells = Blank(columns, rows);
        _styles = Blank(columns, rows);
    }

    /// <summary>Columns.</summary>
    public int Columns => _cells.GetLength(1);

    /// <summary>Rows.</summary>
    public int Rows => _cells.GetLength(0);

    /// <summary>Whether it shows the screen of a program in the place of the shell's.</summary>
    public bool IsAlternate => _main is not null;

    /// <summary>Whether the cursor is shown.</summary>
    public bool IsCursorVisible { get; private set; } = true;

    /// <summary>Sequences and controls that it does not know.</summary>
    public IReadOnlyList<string> Unknown => _unknown;

    /// <summary>All that was set by SGR, each once, in the order of the first use.</summary>
    public IReadOnlyList<string> Attributes => _attributes;

    /// <summary>What is seen, row by row, without spaces at the ends.</summary>
    public string Text => string.Join('\n', Enumerable.Range(0, Rows).Select(Row)).TrimEnd('\n');

    /// <summary>A row as it is seen, without spaces at its end.</summary>
    public string Row(int row)
    {
        var text = new StringBuilder();
        for (var column = 0; column < Columns; column++)
        {
            text.Append(_cells[row, column]);
        }

        return text.ToString().TrimEnd();
    }

    /// <summary>The first row that contains a text; -1: none does.</summary>
    public int Find(string text) =>
        Enumerable.Range(0, Rows).FirstOrDefault(row => Row(row).Contains(text, StringComparison.Ordinal), -1);

    /// <summary>What SGR said about a cell; empty: nothing.</summary>
    public string StyleAt(int row, int column) => _styles[row, column].Trim();

    /// <summary>Gets another size; what is shown stays where it fits.</summary>
    public void Resize(int columns, int rows)
    {
        _cells = Resized(_cells, columns, rows);
        _styles = Resized(_styles, columns, rows);
        _main = _main is null ? null : Resized(_main, columns, rows);
        _cursor = (Math.Min(_cursor.Row, rows - 1), Math.Min(_cursor.Column, columns - 1));
    }

    /// <summary>Takes bytes of a program.</summary>
    public void Write(ReadOnlySpan<byte> bytes)
    {
        var characters = new char[Encoding.UTF8.GetMaxCharCount(bytes.Length)];
        var count = _utf8.GetChars(bytes, characters, flush: false);
        foreach (var character in characters.AsSpan(0, count))
        {
            Write(character);
        }
    }

    private static string[,] Blank(int columns, int rows)
    {
        var cells = new string[rows, columns];
        for (var row = 0; row < rows; row++)
        {
            for (var column = 0; column < columns; column++)
            {
                cells[row, column] = Empty;
            }
        }

        return cells;
    }

    private static string[,] Resized(string[,] cells, int columns, int rows)
    {
        var other = Blank(columns, rows);
        for (var row = 0; row < Math.Min(rows, cells.GetLength(0)); row++)
        {
            for (var column = 0; column < Math.Min(columns, cells.GetLength(1)); column++)
            {
                other[row, column] = cells[row, column];
            }
        }

        return other;
    }

    private static int WidthOf(Rune rune) =>
        Rune.GetUnicodeCategory(rune) is UnicodeCategory.NonSpacingMark or UnicodeCategory.EnclosingMark ? 0
        : rune.Value is (>= 0x1100 and <= 0x115F) or (>= 0x2E80 and <= 0xA4CF) or (>= 0xAC00 and <= 0xD7A3) or (>= 0xF900 and <= 0xFAFF)
            or (>= 0xFF01 and <= 0xFF60) or (>= 0x1F300 and <= 0x1FAFF) or (>= 0x20000 and <= 0x3FFFD) ? 2
        : 1;

    private void Write(char character)
    {
        if (_isInSequence)
        {
            Continue(character);
            return;
        }

        switch (character)
        {
            case '\x1b':
                _isInSequence = true;
                _sequence.Clear();
                break;
            case '\r':
                _cursor.Column = 0;
                break;
            case '\n':
                LineFeed();
                break;
            case '\b':
                _cursor.Column = Math.Max(0, _cursor.Column - 1);
                break;
            case '\x18' or '\a':
                break;
            case < ' ' or (>= '\x7f' and < '\xa0'):
                _unknown.Add($"0x{(int)character:x2}");
                break;
            default:
                if (char.IsHighSurrogate(character))
                {
                    _highSurrogate = character;
                }
                else
                {
                    Show(char.IsLowSurrogate(character) ? new Rune(_highSurrogate, character) : new Rune(character));
                }

                break;
        }
    }

    private void Continue(char character)
    {
        if (character is '\x18')
        {
            _isInSequence = false;
            return;
        }

        if (character is '\x1b')
        {
            _sequence.Clear();
            return;
        }

        _sequence.Append(character);
        var isControl = _sequence[0] == '[';
        if (isControl ? _sequence.Length > 1 && character is >= '@' and <= '~' : _sequence[0] is not ('(' or ')') || _sequence.Length == 2)
        {
            _isInSequence = false;
            Apply(_sequence.ToString());
        }
    }

    private void Apply(string sequence)
    {
        var parameters = sequence.Length < 2 ? "" : sequence[1..^1];
        var first = int.TryParse(parameters.Split(';')[0], NumberStyles.None, CultureInfo.InvariantCulture, out var number) ? number : 0;
        switch ((sequence[0], sequence[^1]))
        {
            case ('[', 'H') or ('[', 'f'):
                var second = parameters.Split(';') is [_, var text] ? int.Parse(text, CultureInfo.InvariantCulture) : 1;
                _cursor = (Math.Clamp(first - 1, 0, Rows - 1), Math.Clamp(second - 1, 0, Columns - 1));
                break;
            case ('[', 'A'):
                _cursor.Row = Math.Max(0, _cursor.Row - Math.Max(1, first));
                break;
            case ('[', 'J') when first == 2:
                Clear(0, 0, Rows, Columns);
                break;
            case ('[', 'J') when first == 0:
                Clear(_cursor.Row, _cursor.Column, _cursor.Row + 1, Columns);
                Clear(_cursor.Row + 1, 0, Rows, Columns);
                break;
            case ('[', 'K'):
                Clear(_cursor.Row, first == 0 ? _cursor.Column : 0, _cursor.Row + 1, first == 1 ? _cursor.Column + 1 : Columns);
                break;
            case ('[', 'm'):
                SetStyle(parameters);
                break;
            case ('[', 'h' or 'l'):
                SetMode(parameters, sequence[^1] == 'h');
                break;
            case ('=' or '>' or '(' or ')', _):
                break;
            default:
                _unknown.Add(sequence);
                break;
        }
    }

    private void SetStyle(string parameters)
    {
        _style = parameters is "" or "0" ? "" : _style.Length == 0 ? parameters : $"{_style};{parameters}";
        if (_style.Length > 0 && !_attributes.Contains(parameters))
        {
            _attributes.Add(parameters);
        }
    }

    private void SetMode(string mode, bool isOn)
    {
        switch (mode)
        {
            case "?25":
                IsCursorVisible = isOn;
                break;
            case "?7":
                _wraps = isOn;
                break;
            case "?1049" when isOn:
                (_main, _mainCursor) = (_main ?? _cells, _main is null ? _cursor : _mainCursor);
                (_cells, _styles) = (Blank(Columns, Rows), Blank(Columns, Rows));
                break;
            case "?1049" when _main is not null:
                (_cells, _cursor, _main) = (_main, _mainCursor, null);
                _styles = Blank(Columns, Rows);
                break;
            case "?1049" or "?1" or "?2004":
                break;
            default:
                _unknown.Add(mode);
                break;
        }
    }

    private void Show(Rune rune)
    {
        var width = WidthOf(rune);
        if (width == 0)
        {
            if (_cursor.Column > 0)
            {
                _cells[_cursor.Row, _cursor.Column - 1] += rune.ToString();
            }

            return;
        }

        if (_cursor.Column + width > Columns)
        {
            if (_wraps)
            {
                _cursor.Column = 0;
                LineFeed();
            }
            else
            {
                _cursor.Column = Columns - width;
            }
        }

        _cells[_cursor.Row, _cursor.Column] = rune.ToString();
        _styles[_cursor.Row, _cursor.Column] = _style;
        if (width == 2)
        {
            _cells[_cursor.Row, _cursor.Column + 1] = "";
        }

        _cursor.Column += width;
    }

    private void LineFeed()
    {
        if (_cursor.Row + 1 < Rows)
        {
            _cursor.Row++;
            return;
        }

        for (var row = 1; row < Rows; row++)
        {
            for (var column = 0; column < Columns; column++)
            {
                _cells[row - 1, column] = _cells[row, column];
                _styles[row - 1, column] = _styles[row, column];
            }
        }

        Clear(Rows - 1, 0, Rows, Columns);
    }

    private void Clear(int fromRow, int fromColumn, int toRow, int toColumn)
    {
        for (var row = fromRow; row < toRow; row++)
        {
            for (var column = fromColumn; column < toColumn; column++)
            {
                _cells[row, column] = Empty;
                _styles[row, column] = "";
            }
        }
    }
}
