using System.Buffers.Text;
using System.Text;
using Tunnel2.ProxyEntry.Oidc;

namespace Tunnel2.ProxyEntry.Tests.Oidc;

public sealed class OidcIdTokenTests
{
    [Theory]
    [InlineData("""{"alg":"RS256","kid":"k"}""", "x", true)]
    [InlineData("""{"alg":"ES512"}""", "x", true)]
    [InlineData("""{"alg":"RS256","kid":"k"}""", "", false)]
    [InlineData("""{"alg":"none"}""", "", false)]
    [InlineData("""{"alg":"nOnE"}""", "x", false)]
    [InlineData("""{"alg":"HS256"}""", "x", false)]
    [InlineData("""{"alg":"RS256","crit":["b64"],"b64":false}""", "x", false)]
    [InlineData("""{}""", "x", false)]
    public void A_token_counts_when_a_private_key_signed_it_and_it_asks_for_nothing_unknown(string head, string signature, bool isSigned) =>
        Assert.Equal(isSigned, OidcIdToken.IsSigned($"{Encode(head)}.{Encode("""{"sub":"1"}""")}.{Encode(signature)}"));

    [Theory]
    [InlineData("""{"sub":"1","exp":4102444800}""", true)]
    [InlineData("""{"sub":"1","exp":"4102444800"}""", false)]
    [InlineData("""{"sub":"1","exp":4102444800,"iat":"0"}""", false)]
    [InlineData("""{"sub":1,"exp":4102444800}""", false)]
    [InlineData("""{"sub":"1"} {}""", false)]
    public void Its_claims_have_the_form_that_the_standard_gives_them(string claims, bool isRight) =>
        Assert.Equal(isRight, OidcIdToken.IsSigned($"{Encode("""{"alg":"RS256"}""")}.{Encode(claims)}.{Encode("x")}"));

    [Theory]
    [InlineData(null)]
    [InlineData("")]
    [InlineData("x")]
    [InlineData("a.b")]
    [InlineData("a.b.c")]
    [InlineData("eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0....")]
    public void What_is_no_token_counts_as_not_signed(string? text) => Assert.False(OidcIdToken.IsSigned(text));

    private static string Encode(string text) => Base64Url.EncodeToString(Encoding.UTF8.GetBytes(text));
}
