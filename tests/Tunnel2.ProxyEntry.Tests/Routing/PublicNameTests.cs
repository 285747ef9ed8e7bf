using Tunnel2.ProxyEntry.Routing;

namespace Tunnel2.ProxyEntry.Tests.Routing;

public sealed class PublicNameTests
{
    [Theory]
    [InlineData("web", nameof(PublicNameProblem.None))]
    [InlineData("123", nameof(PublicNameProblem.None))]
    [InlineData("a-b", nameof(PublicNameProblem.None))]
    [InlineData("xe1", nameof(PublicNameProblem.None))]
    [InlineData("web-e12", nameof(PublicNameProblem.None))]
    [InlineData("0f8fad5b-d9cb-469f-a165-70867728950e", nameof(PublicNameProblem.None))]
    [InlineData("01234567890123456789012345678901234567890123456789", nameof(PublicNameProblem.None))]
    [InlineData("012345678901234567890123456789012345678901234567890", nameof(PublicNameProblem.TooLong))]
    [InlineData("", nameof(PublicNameProblem.Empty))]
    [InlineData("a", nameof(PublicNameProblem.None))]
    [InlineData("7", nameof(PublicNameProblem.None))]
    [InlineData("ab", nameof(PublicNameProblem.None))]
    [InlineData("e1", nameof(PublicNameProblem.None))]
    [InlineData("-", nameof(PublicNameProblem.HyphenAtEnd))]
    [InlineData("a-", nameof(PublicNameProblem.HyphenAtEnd))]
    [InlineData("-e1", nameof(PublicNameProblem.HyphenAtEnd))]
    [InlineData("a-e1", nameof(PublicNameProblem.EndsInEntryId))]
    [InlineData("Web", nameof(PublicNameProblem.BadCharacter))]
    [InlineData("w.b", nameof(PublicNameProblem.BadCharacter))]
    [InlineData("wéb", nameof(PublicNameProblem.BadCharacter))]
    [InlineData("we\0b", nameof(PublicNameProblem.BadCharacter))]
    [InlineData("-web", nameof(PublicNameProblem.HyphenAtEnd))]
    [InlineData("web-", nameof(PublicNameProblem.HyphenAtEnd))]
    [InlineData("web-e1", nameof(PublicNameProblem.EndsInEntryId))]
    public void Names_are_checked_by_the_rules(string name, string problem)
    {
        Assert.Equal(problem, PublicName.Check(name, "e1").ToString());
    }

    [Fact]
    public void Every_problem_is_described_differently()
    {
        var texts = Enum.GetValues<PublicNameProblem>().Select(problem => PublicName.Describe(problem, "e1")).ToArray();

        Assert.Equal(texts.Length, texts.Distinct().Count());
        Assert.Contains("-e1", PublicName.Describe(PublicNameProblem.EndsInEntryId, "e1"), StringComparison.Ordinal);
    }

    [Fact]
    public void Random_names_are_valid_and_differ()
    {
        var names = Enumerable.Range(0, 1000).Select(_ => RandomName.Create()).ToArray();

        Assert.All(names, name => Assert.Equal(PublicNameProblem.None, PublicName.Check(name, "e1")));
        Assert.All(names, name => Assert.Equal(10, name.Length));
        Assert.Equal(names.Length, names.Distinct().Count());
    }
}
