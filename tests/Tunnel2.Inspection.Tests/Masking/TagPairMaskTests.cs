using System.Diagnostics;
using System.Text;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Tests.Masking;

public sealed class TagPairMaskTests
{
    [Theory]
    [InlineData("<input type=hidden name=\"csrf_token\" value=\"x\">", "<input type=hidden name=\"csrf_token\" value=\"***\">")]
    [InlineData("<input value=x name=password><b>", "<input value=*** name=password><b>")]
    [InlineData("<INPUT VALUE = 'a>b' ID='api_key' />t", "<INPUT VALUE = '***' ID='api_key' />t")]
    [InlineData("<input type=PassWord name=p value=x>", "<input type=PassWord name=p value=***>")]
    [InlineData("<meta name=\"csrf-token\" content=\"x\" />", "<meta name=\"csrf-token\" content=\"***\" />")]
    [InlineData("<add key=\"Db:Password\" value=\"x\"/>", "<add key=\"Db:Password\" value=\"***\"/>")]
    [InlineData("<property name=\"password\">x</property>", "<property name=\"password\">***</property>")]
    [InlineData("<textarea name='secret'>x\ny</TextArea>z", "<textarea name='secret'>***</TextArea>z")]
    [InlineData("<textarea name=secret>cut o", "<textarea name=secret>***")]
    [InlineData("<input name=token value=\"cut o", "<input name=token value=\"***")]
    [InlineData("<input name=token value=cut", "<input name=token value=***")]
    [InlineData("<input name=token value= ", "<input name=token value= ")]
    [InlineData("<input name=token value=\"\"><b x", "<input name=token value=\"\"><b x")]
    [InlineData("<p <input name=token value=x>", "<p <input name=token value=***>")]
    [InlineData("<a name=\"token\">Tokens</a>", "<a name=\"token\">Tokens</a>")]
    [InlineData("<h2 id=\"token\">Tokens</h2>", "<h2 id=\"token\">Tokens</h2>")]
    [InlineData("<input name=token> Keep it <b>", "<input name=token> Keep it <b>")]
    [InlineData("<input name=user value=me type=text>", "<input name=user value=me type=text>")]
    [InlineData("if (a<b && value='token') x > y", "if (a<b && value='token') x > y")]
    [InlineData("<", "<")]
    [InlineData("<a", "<a")]
    [InlineData("", "")]
    public void Values_that_an_attribute_names(string text, string shown)
    {
        Assert.Equal(shown, Encoding.UTF8.GetString(TagPairMask.Apply(Encoding.UTF8.GetBytes(text), MaskingRules.BuiltIn, out var masked)));
        Assert.Equal(text != shown, masked);
    }

    [Theory]
    [InlineData("<a")]
    [InlineData("<a b=\"")]
    [InlineData("<a name=token>")]
    [InlineData("<a b = ")]
    [InlineData("<a value=x name=token ")]
    [InlineData("<x value=1 ")]
    public void Takes_linear_time(string piece)
    {
        var body = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat(piece, 1024 * 1024 / piece.Length)));
        var watch = Stopwatch.StartNew();
        TagPairMask.Apply(body, MaskingRules.BuiltIn, out _);
        Assert.InRange(watch.Elapsed, TimeSpan.Zero, TimeSpan.FromSeconds(10));
    }
}
