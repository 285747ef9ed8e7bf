using System.Text;
using Tunnel2.Policies.Paths;

namespace Tunnel2.Policies.Tests.Paths;

public sealed class PathPatternTests
{
    [Theory]
    [InlineData("/", "/", true)]
    [InlineData("/", "/a", false)]
    [InlineData("/a", "/a", true)]
    [InlineData("/a/", "/a", true)]
    [InlineData("/a", "/a/b", false)]
    [InlineData("/a", "/ab", false)]
    [InlineData("/**", "/", true)]
    [InlineData("/**", "/a/b/c", true)]
    [InlineData("/admin/**", "/admin", true)]
    [InlineData("/admin/**", "/admin/a/b", true)]
    [InlineData("/admin/**", "/administrator", false)]
    [InlineData("/*", "/a", true)]
    [InlineData("/*", "/", false)]
    [InlineData("/*", "/a/b", false)]
    [InlineData("/*.php", "/index.php", true)]
    [InlineData("/*.php", "/index.php5", false)]
    [InlineData("/a*b*c", "/aXbYbZc", true)]
    [InlineData("/a*b*c", "/ac", false)]
    [InlineData("/ab*bc", "/abc", false)]
    [InlineData("/**/.git/**", "/.git/config", true)]
    [InlineData("/**/.git/**", "/a/b/.git", true)]
    [InlineData("/**/.git/**", "/a/b/git", false)]
    [InlineData("/**/x/y", "/x/x/y", true)]
    [InlineData("/**/x/y", "/x/y/z", false)]
    [InlineData("/a/**/z", "/a/z", true)]
    public void Stars_stand_for_parts_of_a_segment_and_two_for_segments(string pattern, string path, bool matches)
    {
        Assert.Null(PathPattern.TryParse(pattern, out var parsed));
        Assert.Equal(matches, parsed!.Matches(Encoding.UTF8.GetBytes(path)));
        Assert.Equal(matches, parsed.MatchesAny(PathOf(path.ToUpperInvariant())));
    }

    [Fact]
    public void Only_without_a_doubt_the_case_counts()
    {
        Assert.Null(PathPattern.TryParse("/Admin", out var pattern));
        Assert.True(pattern!.MatchesAny(PathOf("/aDMIN")));
        Assert.False(pattern.Matches("/aDMIN"u8));
        Assert.True(pattern.MatchesAny(PathOf("/" + new string('x', RequestPath.MaxLength))));
    }

    [Theory]
    [InlineData("/\u00dcber/**", "/%C3%BCber/x")]
    [InlineData("/\u00fcber/*", "/%C3%9CBER/x")]
    [InlineData("/a/\u0416*", "/a/%D0%B6.txt")]
    [InlineData("/key", "/%E2%84%AAey")]
    public void Without_case_all_letters_are_compared_as_services_do(string text, string path)
    {
        Assert.Null(PathPattern.TryParse(text, out var pattern));
        Assert.True(pattern!.MatchesAny(PathOf(path)));
        Assert.False(pattern.MatchesAny(PathOf("/other" + path)));
    }

    [Theory]
    [InlineData("admin")]
    [InlineData("")]
    [InlineData("/a?b")]
    [InlineData("/a#b")]
    [InlineData("/%61")]
    [InlineData("/a;b")]
    [InlineData("/a\\b")]
    [InlineData("/a//b")]
    [InlineData("/a/../b")]
    [InlineData("/./a")]
    [InlineData("/a**")]
    [InlineData("/*a*b*c*d*e")]
    [InlineData("/**/a/**/b/**/c/**/d/**")]
    public void What_is_no_pattern_is_refused(string pattern) => Assert.NotNull(PathPattern.TryParse(pattern, out _));

    [Theory]
    [InlineData("/**", "/a", true)]
    [InlineData("/**", "/", true)]
    [InlineData("/a/**", "/a", true)]
    [InlineData("/a/**", "/a/*", true)]
    [InlineData("/a/**", "/ab", false)]
    [InlineData("/a/*", "/a/b", false)]
    [InlineData("/a/*", "/a/*", true)]
    [InlineData("/a", "/a/**", false)]
    [InlineData("/*/**", "/a/b", false)]
    public void A_pattern_covers_another_where_that_is_plain(string own, string other, bool covers)
    {
        PathPattern.TryParse(own, out var left);
        PathPattern.TryParse(other, out var right);
        Assert.Equal(covers, left!.Covers(right!));
    }

    private static RequestPath PathOf(string text)
    {
        var path = new RequestPath();
        path.Read(Encoding.UTF8.GetBytes(text));
        return path;
    }
}
