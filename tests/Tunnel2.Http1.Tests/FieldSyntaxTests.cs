using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Http1.Tests;

public sealed class FieldSyntaxTests
{
    [Theory]
    [InlineData("X-Name", true)]
    [InlineData("a", true)]
    [InlineData("!#$%&'*+-.^_`|~", true)]
    [InlineData("X-A-Name-That-Is-Longer-Than-One-Vector-Of-Bytes", true)]
    [InlineData("", false)]
    [InlineData("X Name", false)]
    [InlineData("X:", false)]
    [InlineData("X\r\n", false)]
    [InlineData("X\0", false)]
    [InlineData("X\u00E9", false)]
    [InlineData("X-A-Name-That-Is-Longer-Than-One-Vector-Of-Bytes\r", false)]
    public void A_name_is_a_token(string name, bool valid) => Assert.Equal(valid, FieldSyntax.IsToken(Latin1.Bytes(name)));

    [Theory]
    [InlineData("", true)]
    [InlineData("a b\tc", true)]
    [InlineData("\u0080\u00FF", true)]
    [InlineData("a\r\nX: y", false)]
    [InlineData("a\r", false)]
    [InlineData("a\n", false)]
    [InlineData("a\0", false)]
    [InlineData("a\u007F", false)]
    [InlineData("a value that is longer than one vector of bytes\r\nX: y", false)]
    public void A_value_has_no_control_characters(string value, bool valid) =>
        Assert.Equal(valid, FieldSyntax.IsFieldValue(Latin1.Bytes(value)));

    [Theory]
    [InlineData("/", true)]
    [InlineData("*", true)]
    [InlineData("/a?b\\c", true)]
    [InlineData("", false)]
    [InlineData("/a\\b", false)]
    [InlineData("/a b", false)]
    [InlineData("/a#b", false)]
    [InlineData("/ HTTP/1.1\r\nX: y\r\n", false)]
    [InlineData("/\u00E9", false)]
    public void A_target_is_visible_ascii(string target, bool valid) => Assert.Equal(valid, FieldSyntax.IsTarget(Latin1.Bytes(target)));

    [Theory]
    [InlineData("a.example:80", true)]
    [InlineData("a b", false)]
    public void A_host_can_be_checked_alone(string host, bool valid) => Assert.Equal(valid, FieldSyntax.IsHost(Latin1.Bytes(host)));
}
