using Tunnel2.Inspection.Comparing;

namespace Tunnel2.Inspection.Tests.Comparing;

public sealed class LineDifferenceTests
{
    [Theory]
    [InlineData("", "", " ")]
    [InlineData("a", "a", " a")]
    [InlineData("a", "b", "-a|+b")]
    [InlineData("a|b|c", "a|c", " a|-b| c")]
    [InlineData("a|c", "a|b|c", " a|+b| c")]
    [InlineData("a|b|c|d", "a|x|c|y", " a|-b|+x| c|-d|+y")]
    [InlineData("a|a|a", "a|a", " a| a|-a")]
    public void Lines(string first, string second, string expected)
    {
        var lines = LineDifference.Of(first.Replace('|', '\n'), second.Replace('|', '\n'));
        Assert.Equal(expected, string.Join('|', lines!.Select(line => line.Sign + line.Text)));
    }

    [Fact]
    public void Any_two_texts_can_be_made_of_the_lines()
    {
        var random = new Random(3);
        for (var run = 0; run < 200; run++)
        {
            var (a, b) = (Text(random), Text(random));
            var lines = LineDifference.Of(a, b)!;
            Assert.Equal(a, string.Join('\n', lines.Where(line => line.Sign != '+').Select(line => line.Text)));
            Assert.Equal(b, string.Join('\n', lines.Where(line => line.Sign != '-').Select(line => line.Text)));
        }
    }

    [Fact]
    public void Too_many_lines_are_not_compared()
    {
        var a = string.Join('\n', Enumerable.Range(0, 2000).Select(i => $"a{i}"));
        var b = string.Join('\n', Enumerable.Range(0, 2000).Select(i => $"b{i}"));
        Assert.Null(LineDifference.Of(a, b));
        Assert.NotNull(LineDifference.Of(a, a + "\nb"));
    }

    private static string Text(Random random) =>
        string.Join('\n', Enumerable.Range(0, random.Next(1, 12)).Select(_ => $"{(char)('a' + random.Next(4))}"));
}
