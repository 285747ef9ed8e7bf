using System.Text;

namespace Tunnel2.Client.Terminals;

/// <summary>How a piece of text looks.</summary>
internal enum ScreenStyle
{
    Plain,
    Strong,
    Dim,
    Good,
    Note,
    Warning,
    Bad,

    /// <summary>The row that keys act on, and headings of tables.</summary>
    Marked,

    /// <summary>Black on white, for what a camera reads.</summary>
    Paper,
}

/// <summary>One row of a screen: pieces of text, each with its look. Not thread-safe.</summary>
internal sealed class ScreenRow
{
    private readonly List<(string Text, ScreenStyle Style)> _pieces = [];

    /// <summary>How many columns it takes.</summary>
    public int Width { get; private set; }

    /// <summary>A row of one piece.</summary>
    public static ScreenRow Of(string text, ScreenStyle style = ScreenStyle.Plain) => new ScreenRow().Add(text, style);

    /// <summary>Adds a piece.</summary>
    public ScreenRow Add(string text, ScreenStyle style = ScreenStyle.Plain)
    {
        _pieces.Add((text, style));
        Width += DisplayText.WidthOf(text);
        return this;
    }

    /// <summary>Adds a piece that ends at a column, or right after what is there.</summary>
    public ScreenRow AddAtRight(string text, int columns, ScreenStyle style = ScreenStyle.Plain)
    {
        int room = columns - Width - DisplayText.WidthOf(text);
        return Add(new string(' ', Math.Max(1, room))).Add(text, style);
    }

    /// <summary>The text without its look.</summary>
    public override string ToString() => string.Concat(_pieces.Select(static piece => piece.Text));

    /// <summary>The row as a terminal wants it, in at most so many columns.</summary>
    /// <param name="columns">How many.</param>
    /// <param name="hasColors">Whether colours may be used.</param>
    public string ToAnsi(int columns, bool hasColors)
    {
        var text = new StringBuilder();
        int left = columns;
        foreach ((string piece, ScreenStyle style) in _pieces)
        {
            string cut = DisplayText.Cut(piece, left);
            left -= DisplayText.WidthOf(cut);
            if (Attributes(style, hasColors) is { Length: > 0 } attributes)
            {
                text.Append("\x1b[").Append(attributes).Append('m').Append(cut).Append("\x1b[0m");
            }
            else
            {
                text.Append(cut);
            }

            // What was cut ends the row: nothing may follow its sign.
            if (left <= 0 || cut.Length < piece.Length)
            {
                break;
            }
        }

        return text.ToString();
    }

    private static string Attributes(ScreenStyle style, bool hasColors) => style switch
    {
        ScreenStyle.Strong => "1",
        ScreenStyle.Marked => "7",
        _ when !hasColors => "",
        ScreenStyle.Dim => "2",
        ScreenStyle.Good => "32",
        ScreenStyle.Note => "36",
        ScreenStyle.Warning => "33",
        ScreenStyle.Bad => "31",
        ScreenStyle.Paper => "30;107",
        _ => "",
    };
}
