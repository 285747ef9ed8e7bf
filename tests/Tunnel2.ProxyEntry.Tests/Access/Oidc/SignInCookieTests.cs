using System.Text;
using Tunnel2.ProxyEntry.Access.Oidc;

namespace Tunnel2.ProxyEntry.Tests.Access.Oidc;

public sealed class SignInCookieTests
{
    [Theory]
    [InlineData("", "", "")]
    [InlineData("a=b", "", "a=b")]
    [InlineData("__Host-tunnel2=x", "x", "")]
    [InlineData("a=b; __Host-tunnel2=x; c=d", "x", "a=b; c=d")]
    [InlineData("a=b;__Host-tunnel2=x;c=d", "x", "a=b; c=d")]
    [InlineData("__Host-tunnel2=x; __Host-tunnel2=y", "x", "")]
    [InlineData("__Host-tunnel2=x y", "", "")]
    [InlineData("__Host-tunnel2=", "", "")]
    [InlineData("__host-tunnel2=x", "", "__host-tunnel2=x")]
    [InlineData("a__Host-tunnel2=x", "", "a__Host-tunnel2=x")]
    [InlineData("a=\"; __Host-tunnel2=x\"", "", "a=\"")]
    [InlineData(" ;; a=b ; ", "", "a=b")]
    [InlineData("a;b;c;d", "", "a; b; c; d")]
    [InlineData("__Host-tunnel2-state.x=N; a=b; __Host-tunnel2-nonce.y=N; __Host-tunnel2=x", "x", "a=b")]
    public void It_is_found_and_the_others_stay(string cookies, string value, string others)
    {
        var bytes = Encoding.Latin1.GetBytes(cookies);
        Assert.Equal(value, Encoding.Latin1.GetString(SignInCookie.Find(bytes)));
        var room = new byte[2 * bytes.Length];
        Assert.Equal(others, Encoding.Latin1.GetString(room.AsSpan(0, SignInCookie.CopyOthers(bytes, room))));
    }

    [Fact]
    public void A_value_that_is_too_long_is_none() => Assert.True(
        SignInCookie.Find(Encoding.Latin1.GetBytes("__Host-tunnel2=" + new string('a', SignInCookie.LongestValue + 1))).IsEmpty);

    [Theory]
    [InlineData("/", "/")]
    [InlineData("/a?b=c&d=%2F", "/a?b=c&d=%2F")]
    [InlineData("/a//b", "/a//b")]
    [InlineData(null, "/")]
    [InlineData("", "/")]
    [InlineData("a", "/")]
    [InlineData("//evil.example", "/")]
    [InlineData("/\\evil.example", "/")]
    [InlineData("/a\\b", "/")]
    [InlineData("https://evil.example/", "/")]
    [InlineData("javascript:alert(1)", "/")]
    [InlineData("/a\r\nSet-Cookie: x", "/")]
    [InlineData("/\t/evil.example", "/")]
    [InlineData("/\u00e4", "/")]
    [InlineData("/.tunnel2/logout", "/")]
    [InlineData("/./.tunnel2/logout", "/")]
    [InlineData("/a/../.tunnel2/logout", "/")]
    [InlineData("/%2e/.tunnel2/logout", "/")]
    [InlineData("/a/./b/../c#/.tunnel2/", "/a/./b/../c#/.tunnel2/")]
    public void A_sign_in_leads_back_to_the_same_host_only(string? target, string expected) =>
        Assert.Equal(expected, SignInPaths.SafeTarget(target));

    [Fact]
    public void A_long_target_leads_to_the_start_page()
    {
        Assert.NotEqual("/", SignInPaths.SafeTarget("/" + new string('a', SignInPaths.LongestTarget - 1)));
        Assert.Equal("/", SignInPaths.SafeTarget("/" + new string('a', SignInPaths.LongestTarget)));
    }
}
