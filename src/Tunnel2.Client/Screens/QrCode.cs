using System.Collections;
using System.Text;
using QRCoder;
using Tunnel2.Client.Terminals;

namespace Tunnel2.Client.Screens;

/// <summary>A QR code as rows of text: two modules above each other are one character. Pure.</summary>
internal static class QrCode
{
    /// <summary>The margin that a reader wants, in modules; where room is short, half of it does.</summary>
    private const int Margin = 4;

    /// <summary>Makes the rows.</summary>
    /// <param name="text">What the code says.</param>
    /// <param name="columns">The columns that there are.</param>
    /// <param name="rows">The rows that there are.</param>
    /// <param name="hasColors">
    /// Whether it may be black on white. Otherwise its light modules are drawn, which is right on dark terminals.
    /// </param>
    /// <returns>The rows; null if they do not fit, or the text is too long for a code.</returns>
    public static IReadOnlyList<ScreenRow>? Render(string text, int columns, int rows, bool hasColors)
    {
        if (Modules(text) is not { } modules)
        {
            return null;
        }

        foreach (int margin in new[] { Margin, Margin / 2 })
        {
            // The library's own margin is of four modules.
            int cut = Margin - margin;
            int size = modules.Count - (2 * cut);
            if (size <= columns && (size + 1) / 2 <= rows)
            {
                return Draw(modules, cut, size, hasColors);
            }
        }

        return null;
    }

    private static List<BitArray>? Modules(string text)
    {
        try
        {
            using QRCodeData code = QRCodeGenerator.GenerateQrCode(text, QRCodeGenerator.ECCLevel.L);
            return code.ModuleMatrix;
        }
        catch (QRCoder.Exceptions.DataTooLongException)
        {
            return null;
        }
    }

    private static List<ScreenRow> Draw(List<BitArray> modules, int cut, int size, bool hasColors)
    {
        var drawn = new List<ScreenRow>((size + 1) / 2);
        for (int y = 0; y < size; y += 2)
        {
            var line = new StringBuilder(size);
            for (int x = 0; x < size; x++)
            {
                bool upper = modules[cut + y][cut + x];
                bool lower = y + 1 < size && modules[cut + y + 1][cut + x];

                // What is drawn is dark on paper, and light without it. Below the last row there is margin.
                bool drawsUpper = upper == hasColors;
                bool drawsLower = lower == hasColors;
                line.Append((drawsUpper, drawsLower) switch
                {
                    (true, true) => '█',
                    (true, false) => '▀',
                    (false, true) => '▄',
                    _ => ' ',
                });
            }

            drawn.Add(ScreenRow.Of(line.ToString(), ScreenStyle.Paper));
        }

        return drawn;
    }
}
