namespace Tunnel2.Protocol.Tests;

public sealed class NearestWordTests
{
    [Theory]
    [InlineData("domian", "domain")]
    [InlineData("DOMAIN", "domain")]
    [InlineData("domainx", "domain")]
    [InlineData("omain", "domain")]
    [InlineData("lsiten", "listen")]
    [InlineData("domain", "domain")]
    public void A_misspelt_word_is_recognised(string written, string meant) =>
        Assert.Equal(meant, NearestWord.Find(written, ["listen", "domain", "park"]));

    [Theory]
    [InlineData("abcd", "ab", true)]
    [InlineData("abcde", "ab", false)]
    [InlineData("ab", "abcd", true)]
    [InlineData("ab", "abcde", false)]
    [InlineData("xy", "ab", true)]
    [InlineData("xyz", "abc", false)]
    [InlineData("abcdefghi", "abcdefxyz", true)]
    [InlineData("abcdefghi", "abcdewxyz", false)]
    public void A_word_is_near_up_to_two_changes_or_a_third_of_its_length(string written, string known, bool isNear) =>
        Assert.Equal(isNear ? known : null, NearestWord.Find(written, [known]));

    [Fact]
    public void Letters_that_changed_places_count_once()
    {
        Assert.Equal("abcd", NearestWord.Find("badc", ["abcd"]));
        Assert.Null(NearestWord.Find("badcfe", ["abcdef"]));
        Assert.Equal("--name", NearestWord.Find("--nmae", ["--same", "--name"]));
    }

    [Fact]
    public void A_word_of_any_length_is_compared_in_bounded_time()
    {
        Assert.Null(NearestWord.Find(new string('a', 10_000_000), ["domain"]));
        Assert.Null(NearestWord.Find("domain", [new string('a', 10_000_000)]));
        Assert.Null(NearestWord.Find("", ["a"]));
    }

    [Fact]
    public void Of_several_words_the_nearest_counts_and_of_equals_the_first()
    {
        Assert.Equal("park", NearestWord.Find("parks", ["port", "park", "pork"]));
        Assert.Equal("one", NearestWord.Find("oneq", ["one", "onex"]));
        Assert.Null(NearestWord.Find("anything", []));
    }
}
