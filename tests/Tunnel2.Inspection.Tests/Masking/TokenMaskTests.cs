using System.Text;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Tests.Masking;

public sealed class TokenMaskTests
{
    [Theory]
    [InlineData("call it with Bearer abc123def456, please", "call it with Bearer ***, please")]
    [InlineData("curl -H \"authorization: bearer abcdefghijklmnopqrstuv\" x", "curl -H \"authorization: bearer ***\" x")]
    [InlineData("Basic dXNlcjpwYXNz and more", "Basic *** and more")]
    [InlineData("Basic usage, Basic JavaScript and bearer bonds", "Basic usage, Basic JavaScript and bearer bonds")]
    [InlineData("the forbearer abc123def456", "the forbearer abc123def456")]
    [InlineData("use sk_live_abcdefghijklmnop1234 here", "use *** here")]
    [InlineData("ghp_abcdefghijklmnopqrstuvwxyz0123456789", "***")]
    [InlineData("glpat-abcdefghijklmnopqrst.", "***.")]
    [InlineData("at t2_abcdefghijklmnopqrst!", "at ***!")]
    [InlineData("AKIAIOSFODNN7EXAMPLE", "***")]
    [InlineData("sk-folding-cube-of-a-style-sheet", "sk-folding-cube-of-a-style-sheet")]
    [InlineData("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nb",
        "a\n-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----\nb")]
    [InlineData("-----BEGIN OPENSSH PRIVATE KEY-----\ncut", "-----BEGIN OPENSSH PRIVATE KEY-----***")]
    [InlineData("-----BEGIN CERTIFICATE-----\nMIIE", "-----BEGIN CERTIFICATE-----\nMIIE")]
    [InlineData("héllo Bearer abc123def456 wörld", "héllo Bearer *** wörld")]
    public void Secrets_are_known_by_their_form(string text, string shown)
    {
        Assert.Equal(shown, TokenMask.Apply(text));
        Assert.Equal(shown, Encoding.UTF8.GetString(TokenMask.Apply(Encoding.UTF8.GetBytes(text), out var isMasked)));
        Assert.Equal(shown != text, isMasked);
    }

    [Theory]
    [InlineData("""{"text":"it is sk_live_abcdefghijklmnop1234"}""", """{"text":"it is ***"}""")]
    [InlineData("""{"fields":[["Accept","a"],["Cookie","a=b"],["X-Api-Key" , "k" ]]}""",
        """{"fields":[["Accept","a"],["Cookie","***"],["X-Api-Key" , "***" ]]}""")]
    [InlineData("""{"names":["token","id","password"]}""", """{"names":["token","id","password"]}""")]
    [InlineData("const password = 'it\\'s'; let x = {token:`a\nb`}", "const password = '***'; let x = {token:`***`}")]
    [InlineData("it's a token: 'abc", "it's a token: '***")]
    [InlineData("apiKey='a'\nname='b'", "apiKey='***'\nname='b'")]
    [InlineData("isn't, don't: 'x'", "isn't, don't: 'x'")]
    public void Text_of_any_kind(string text, string shown)
    {
        Assert.Equal(shown, Encoding.UTF8.GetString(JsonMask.Apply(Encoding.UTF8.GetBytes(text), MaskingRules.BuiltIn, out var isMasked)));
        Assert.Equal(shown != text, isMasked);
    }

    [Theory]
    [InlineData("level=info msg=\"a b\" token=abc user=me", "level=info msg=\"a b\" token=*** user=me")]
    [InlineData("time=1 token=abc\nb=c secret=d\n", "time=1 token=***\nb=c secret=***\n")]
    [InlineData("ping token=abc", "ping token=abc")]
    [InlineData("app --api-key=abc --port=3", "app --api-key=*** --port=3")]
    [InlineData("note: 12:30 a=b", "note: 12:30 a=b")]
    [InlineData("a password is no token", "a password is no token")]
    public void Lines_of_several_pairs(string text, string shown)
    {
        Assert.Equal(shown, Encoding.UTF8.GetString(MaskingRules.BuiltIn.OfLines(Encoding.UTF8.GetBytes(text), out var isMasked)));
        Assert.Equal(shown != text, isMasked);
    }

    /// <summary>Nothing is looked for again from each byte: that would take a minute.</summary>
    [Theory]
    [InlineData("Bearer ")]
    [InlineData("a=''")]
    [InlineData("a=b ")]
    [InlineData("password: abc ")]
    [InlineData("-----BEGIN PRIVATE KEY----- ")]
    [InlineData("[\"token\",")]
    [InlineData("a")]
    [InlineData("sk-")]
    public void A_large_text_takes_a_moment(string part)
    {
        var text = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Repeat(part, 256 * 1024 / part.Length)));

        var took = System.Diagnostics.Stopwatch.StartNew();
        MaskingRules.BuiltIn.OfLines(text, out _);

        Assert.True(took.Elapsed < TimeSpan.FromSeconds(5), $"it took {took.Elapsed}");
    }
}
