using Tunnel2.Architecture.Tests.Repository;

namespace Tunnel2.Architecture.Tests.Sources;

public sealed class LineLengthTests
{
    private const int MaxLength = 140;

    private const string AllowList = "tests/Tunnel2.Architecture.Tests/Sources/allowed-long-lines.txt";

    [Fact]
    public void No_line_of_code_is_longer_than_a_reader_sees()
    {
        var allowed = Allowed();
        var refused = LongLines().Where(one => !allowed.Contains(Path.GetFileName(one.Path))).ToList();
        Assert.True(
            refused.Count == 0,
            $"More than {MaxLength} characters: {string.Join(", ", refused.Select(static one => $"{one.Path}:{one.Line}"))}. Wrap them; "
                + $"{AllowList} only shrinks.");
    }

    [Fact]
    public void Every_file_that_may_have_long_lines_has_some()
    {
        var found = LongLines().Select(static one => Path.GetFileName(one.Path)).ToHashSet(StringComparer.Ordinal);
        var wrapped = Allowed().Where(name => !found.Contains(name)).ToList();
        Assert.True(wrapped.Count == 0, $"{AllowList}: {string.Join(", ", wrapped)} has no long line any more; remove it.");
    }

    private static IEnumerable<(string Path, int Line)> LongLines() =>
        from path in RepositoryFiles.All(".cs")
        from line in File.ReadLines(RepositoryFiles.FullPath(path)).Index()
        where line.Item.Length > MaxLength
        select (path, line.Index + 1);

    private static HashSet<string> Allowed() =>
        File.ReadLines(RepositoryFiles.FullPath(AllowList))
            .Where(static line => line.Length > 0 && line[0] != '#')
            .ToHashSet(StringComparer.Ordinal);
}
