using System.Text.RegularExpressions;
using Tunnel2.Architecture.Tests.Repository;

namespace Tunnel2.Architecture.Tests.Documents;

/// <summary>What a document shows as code: its fenced blocks, and the code in running text and tables.</summary>
internal static partial class DocumentCode
{
    private static readonly string[] _shells = ["bash", "sh"];

    /// <summary>Command lines of these programs, each as its words, from the program's name on.</summary>
    public static IEnumerable<string[]> CommandsOf(string path, params string[] programs)
    {
        var text = Read(path);
        var lines = Blocks(text).Where(static block => _shells.Contains(block.Language)).SelectMany(
            static block => Continued().Replace(block.Text, " ").Split('\n'));
        return lines.Concat(Spans(text)).SelectMany(Commands).Where(words => programs.Contains(words[0]));
    }

    /// <summary>All code of the document, in one text.</summary>
    public static string All(string path)
    {
        var text = Read(path);
        return string.Join('\n', Blocks(text).Select(static block => block.Text).Concat(Spans(text)));
    }

    /// <summary>The anchors of a document's headings, as web pages of Markdown have them.</summary>
    public static IReadOnlySet<string> AnchorsOf(string path) => Heading().Matches(Fence().Replace(Read(path), ""))
        .Select(static match => NotInAnchor().Replace(match.Groups["title"].Value.Trim().ToLowerInvariant(), "").Replace(' ', '-'))
        .ToHashSet();

    private static string Read(string path) => File.ReadAllText(RepositoryFiles.FullPath(path));

    private static IEnumerable<(string Language, string Text)> Blocks(string text) =>
        Fence().Matches(text).Select(static match => (match.Groups["language"].Value, match.Groups["text"].Value));

    private static IEnumerable<string> Spans(string text) =>
        Span().Matches(Fence().Replace(text, "")).Select(static match => match.Groups["text"].Value);

    /// <summary>The commands of a line: after pipes and the like, without sudo, variables and the folder of the program.</summary>
    private static IEnumerable<string[]> Commands(string line)
    {
        var plain = Comment().Replace(Quoted().Replace(line, static quoted => NotInWord().Replace(quoted.Value, "_")), "");
        foreach (var part in Separator().Split(plain))
        {
            var words = part.Split(' ', StringSplitOptions.RemoveEmptyEntries)
                .SkipWhile(static word => word is "sudo" or "exec" or "$" || Assignment().IsMatch(word)).ToArray();
            if (words.Length > 0)
            {
                words[0] = words[0][(words[0].LastIndexOf('/') + 1)..];
                yield return words;
            }
        }
    }

    [GeneratedRegex("^```(?<language>[a-z]*)[^\n]*\n(?<text>.*?)^```", RegexOptions.Multiline | RegexOptions.Singleline)]
    private static partial Regex Fence();

    [GeneratedRegex("`(?<text>[^`\n]+)`")]
    private static partial Regex Span();

    [GeneratedRegex(@"\\\n\s*")]
    private static partial Regex Continued();

    [GeneratedRegex("\"[^\"]*\"|'[^']*'")]
    private static partial Regex Quoted();

    [GeneratedRegex(@"[\s;|&()#]")]
    private static partial Regex NotInWord();

    [GeneratedRegex(@"(^|\s)#.*$")]
    private static partial Regex Comment();

    [GeneratedRegex(@"&&|\|\||[|;&()]")]
    private static partial Regex Separator();

    [GeneratedRegex("^[A-Za-z_][A-Za-z0-9_]*=")]
    private static partial Regex Assignment();

    [GeneratedRegex("^#+ (?<title>.+)$", RegexOptions.Multiline)]
    private static partial Regex Heading();

    [GeneratedRegex(@"[^\w\s-]")]
    private static partial Regex NotInAnchor();
}
