using System.Text;
using System.Text.RegularExpressions;
using Tunnel2.Architecture.Tests.Repository;

namespace Tunnel2.Architecture.Tests.Sources;

/// <summary>
/// Documents, comments and names of tests keep to the glossary of CONTRIBUTING.md: it has the words that are refused, in code marks.
/// </summary>
public sealed partial class WordsTests
{
    private const string Glossary = "CONTRIBUTING.md";

    private const int MostArchitectureLines = 150;

    [Fact]
    public void Documents_and_comments_use_the_words_of_the_glossary()
    {
        var refused = Refused();
        var found = Sources().SelectMany(path => Find(path, Prose(path), refused)).ToList();
        Assert.True(
            found.Count == 0,
            $"{Glossary} (Words) has a plainer word for "
                + string.Join(", ", found.Select(static one => $"'{one.Word}' in {one.Path}:{one.Line}"))
                + ". What quotes code or another text has code marks.");
    }

    [Fact]
    public void Names_of_tests_use_the_words_of_the_glossary()
    {
        var refused = Refused();
        var found = RepositoryFiles.All(".cs", "tests")
            .SelectMany(static path => TestName().Matches(File.ReadAllText(RepositoryFiles.FullPath(path))))
            .Select(static name => name.Groups[1].Value)
            .Where(name => refused.IsMatch(name.Replace('_', ' ')))
            .ToList();
        Assert.True(found.Count == 0, $"{Glossary} (Words) has a plainer word for one in: {string.Join(", ", found)}.");
    }

    [Fact]
    public void The_architecture_is_read_in_ten_minutes()
    {
        var lines = File.ReadLines(RepositoryFiles.FullPath("ARCHITECTURE.md")).Count();
        Assert.True(lines <= MostArchitectureLines, $"ARCHITECTURE.md has {lines} lines; at most {MostArchitectureLines} are allowed.");
    }

    [Theory]
    [InlineData("a.cs", "    // A caller that meanwhile ended.", "meanwhile")]
    [InlineData("a.cs", "    /// <summary>Nobody waits.</summary>", "nobody")]
    [InlineData("a.cs", "    return; // It goes\n    // on.", "goes on")]
    [InlineData("a.cs", "    log(\"nobody\"); var nobody = Told;", "")]
    [InlineData("a.cs", "    // <see cref=\"Told\"/> and <c>whatever</c> and `tell`.", "")]
    [InlineData("a.cs", "    var url = \"http://nobody\";", "")]
    [InlineData("a.cs", "    // It goes.\n    Run();\n    // On the way.", "")]
    [InlineData("a.md", "All but one.", "all but")]
    [InlineData("a.md", "```text\nnobody\n```\nAfter `whoever`.", "")]
    [InlineData("a.md", "An untold story stands.", "stands")]
    public void The_search_finds_words_of_prose_and_not_of_code(string path, string text, string word)
    {
        var found = Find(path, Prose(path, text.Split('\n')), Refused()).Select(static one => one.Word);
        Assert.Equal(word, string.Join(',', found));
    }

    private static Regex Refused()
    {
        var words = File.ReadLines(RepositoryFiles.FullPath(Glossary))
            .SkipWhile(static line => line != "## Words").Skip(1)
            .TakeWhile(static line => !line.StartsWith("## ", StringComparison.Ordinal))
            .Where(static line => line.StartsWith("| ", StringComparison.Ordinal))
            .SelectMany(static line => CodeMarks().Matches(line.Split('|')[2]))
            .Select(static mark => Regex.Escape(mark.Value.Trim('`')))
            .ToList();
        Assert.True(words.Count > 10, $"{Glossary}: the words that are refused have code marks in the table's second column.");
        return new Regex($@"\b(?:{string.Join('|', words)})\b", RegexOptions.IgnoreCase | RegexOptions.CultureInvariant);
    }

    private static IEnumerable<string> Sources() =>
    [
        "README.md", "ARCHITECTURE.md", Glossary,
        .. RepositoryFiles.All(".md", "docs").Where(static path => !path.StartsWith("docs/measurements/", StringComparison.Ordinal)),
        .. RepositoryFiles.All(".md", "src"), .. RepositoryFiles.All(".cs", "src"),
    ];

    /// <summary>The words are found across the ends of lines that follow one another.</summary>
    private static IEnumerable<(string Path, string Word, int Line)> Find(
        string path, IEnumerable<(int Line, string Text)> prose, Regex refused)
    {
        var text = new StringBuilder();
        var starts = new List<(int Start, int Line)>();
        foreach (var (line, part) in prose)
        {
            text.Append(starts.Count > 0 && starts[^1].Line == line - 1 ? " " : "\n\n");
            starts.Add((text.Length, line));
            text.Append(part.Trim());
        }

        return refused.Matches(text.ToString())
            .Select(match => (path, match.Value.ToLowerInvariant(), starts.FindLast(start => start.Start <= match.Index).Line));
    }

    private static IEnumerable<(int Line, string Text)> Prose(string path) =>
        Prose(path, File.ReadLines(RepositoryFiles.FullPath(path)));

    private static IEnumerable<(int Line, string Text)> Prose(string path, IEnumerable<string> lines)
    {
        var isCode = false;
        foreach (var (index, line) in lines.Index())
        {
            if (path.EndsWith(".cs", StringComparison.Ordinal))
            {
                if (Comment().Match(line) is { Success: true } comment)
                {
                    yield return (index + 1, CodeMarks().Replace(comment.Groups[1].Value, "…"));
                }
            }
            else if (line.TrimStart().StartsWith("```", StringComparison.Ordinal))
            {
                isCode = !isCode;
            }
            else if (!isCode)
            {
                yield return (index + 1, CodeMarks().Replace(line, "…"));
            }
        }
    }

    [GeneratedRegex(@"public (?:static )?(?:async )?(?:void|Task|ValueTask) ([A-Z]\w*_\w*)\(")]
    private static partial Regex TestName();

    [GeneratedRegex(@"(?:^|\s)///?\s(.*)$")]
    private static partial Regex Comment();

    [GeneratedRegex("`[^`]*`|<c>.*?</c>|\"[^\" ]*\"/?>")]
    private static partial Regex CodeMarks();
}
