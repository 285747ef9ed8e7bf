using System.Text;

namespace Tunnel2.TestUtilities.Documents;

/// <summary>
/// Tables of a document whose rows are made from the code. A comment says which: <c>&lt;!-- rows: Public, Uplink --&gt;</c>, and the table
/// is the one that follows it.
/// </summary>
public static class GeneratedRows
{
    /// <summary>The environment variable that, as 1, has the documents rewritten.</summary>
    public const string AcceptVariable = "TUNNEL2_ACCEPT_DOCS";

    private const string Mark = "<!-- rows: ";

    /// <summary>Makes a document's tables again, and writes them where <see cref="AcceptVariable"/> says so.</summary>
    /// <param name="document">Its path in the repository.</param>
    /// <param name="rowsOf">Makes the rows of a comment's word.</param>
    /// <returns>The document as it is and as it has to be.</returns>
    public static (string Actual, string Expected) Make(string document, Func<string, IEnumerable<string>> rowsOf)
    {
        var path = Path.Combine(RepositoryFolder.Path, document);
        var lines = File.ReadAllLines(path);
        var expected = new StringBuilder();
        for (var i = 0; i < lines.Length; i++)
        {
            expected.Append(lines[i]).Append('\n');
            if (!lines[i].StartsWith(Mark, StringComparison.Ordinal))
            {
                continue;
            }

            // The two lines of the table's head stay.
            expected.Append(lines[++i]).Append('\n').Append(lines[++i]).Append('\n');
            foreach (var row in lines[i - 2][Mark.Length..^" -->".Length].Split(", ").SelectMany(rowsOf))
            {
                expected.Append(row).Append('\n');
            }

            while (i + 1 < lines.Length && lines[i + 1].StartsWith('|'))
            {
                i++;
            }
        }

        if (Environment.GetEnvironmentVariable(AcceptVariable) == "1")
        {
            File.WriteAllText(path, expected.ToString());
        }

        return (File.ReadAllText(path).ReplaceLineEndings("\n"), expected.ToString());
    }
}
