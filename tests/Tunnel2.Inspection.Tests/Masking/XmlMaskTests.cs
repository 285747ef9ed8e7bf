using System.Diagnostics;
using System.Text;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Tests.Masking;

public sealed class XmlMaskTests
{
    [Theory]
    [InlineData("<a><password>x</password><b>y</b></a>", "<a><password>***</password><b>y</b></a>")]
    [InlineData("<w:Password Type=\"#Text\">x</w:Password >", "<w:Password Type=\"#Text\">***</w:Password >")]
    [InlineData("<secret><![CDATA[<b>x</b>]]></secret>", "<secret>***</secret>")]
    [InlineData("<a w:api-key='x' id=\"1\"/>", "<a w:api-key='***' id=\"1\"/>")]
    [InlineData("<a token = \"x>y\" b=\"z\">t</a>", "<a token = \"***\" b=\"z\">t</a>")]
    [InlineData("<secret><![CDATA[</secret>x]]></secret>y", "<secret>***</secret>y")]
    [InlineData("<secret><!-- </secret> -->x</secret>y", "<secret>***</secret>y")]
    [InlineData("<secret><secretId>1</secretId><v>x</v></secret><b>y</b>", "<secret>***</secret><b>y</b>")]
    [InlineData("<token><token a='>'>1</token><token/>x</token><b>y</b>", "<token>***</token><b>y</b>")]
    [InlineData("<token><![CDATA[</token>x", "<token>***")]
    [InlineData("<token/><b>y</b>", "<token/><b>y</b>")]
    [InlineData("<password>cut o", "<password>***")]
    [InlineData("<password", "<password")]
    [InlineData("<a password=\"cut o", "<a password=\"***")]
    [InlineData("<?xml version=\"1.0\"?><!-- a < b -->", "<?xml version=\"1.0\"?><!-- a < b -->")]
    [InlineData("a < b and \"c\" > 'd", "a < b and \"c\" > 'd")]
    [InlineData("<", "<")]
    [InlineData("<>", "<>")]
    [InlineData("", "")]
    public void Elements_and_attributes(string xml, string shown)
    {
        Assert.Equal(shown, Encoding.UTF8.GetString(XmlMask.Apply(Encoding.UTF8.GetBytes(xml), MaskingRules.BuiltIn, out var masked)));
        Assert.Equal(xml != shown, masked);
    }

    /// <summary>Tags without an end, quotes without an end and secrets without an end, as many as a body may have.</summary>
    [Theory]
    [InlineData("<")]
    [InlineData("<a")]
    [InlineData("<a b=\"")]
    [InlineData("<a b='c\" ")]
    [InlineData("<token>")]
    [InlineData("<token></a>")]
    [InlineData("<token></tokens>")]
    [InlineData("<token '")]
    [InlineData("<token><![CDATA[")]
    [InlineData("<token><!--")]
    public void Takes_linear_time(string piece)
    {
        var body = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat(piece, 1024 * 1024 / piece.Length)));
        var watch = Stopwatch.StartNew();
        XmlMask.Apply(body, MaskingRules.BuiltIn, out _);
        Assert.InRange(watch.Elapsed, TimeSpan.Zero, TimeSpan.FromSeconds(10));
    }
}
