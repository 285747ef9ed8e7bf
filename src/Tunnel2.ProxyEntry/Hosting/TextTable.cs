using Tunnel2.Protocol;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>Rows of text in columns, for people. What a server sends is cleaned. Stateless.</summary>
internal static class TextTable
{
    private const string Gap = "  ";

    /// <summary>Writes a head and rows; each column is as wide as its widest cell.</summary>
    public static void Write(TextWriter output, string[] head, IEnumerable<string[]> rows)
    {
        List<string[]> all = [head, .. rows.Select(static row => Array.ConvertAll(row, static cell => PlainText.Clean(cell)))];
        var widths = Enumerable.Range(0, head.Length).Select(column => all.Max(row => row[column].Length)).ToArray();
        foreach (var row in all)
        {
            output.WriteLine(string.Join(Gap, row.Select((cell, column) => cell.PadRight(widths[column]))).TrimEnd());
        }
    }
}
