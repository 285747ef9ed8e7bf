using System.Text;
using Tunnel2.Protocol.Handshake;

namespace Tunnel2.Protocol.Tests.Handshake;

public sealed class PasswordHashTests
{
    private const string Salt = "AAAAAAAAAAAAAAAAAAAAAA";
    private const string Digest = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

    [Fact]
    public void A_hash_matches_its_password_and_no_other()
    {
        var hash = PasswordHash.Create("p:w \u00e4", PasswordHash.LeastIterations);
        Assert.True(hash.Matches(Encoding.UTF8.GetBytes("p:w \u00e4")));
        foreach (var other in new[] { "", "p:w", "p:w \u00e4 ", "P:w \u00e4", new string('x', 500) })
        {
            Assert.False(hash.Matches(Encoding.UTF8.GetBytes(other)));
        }
    }

    [Fact]
    public void Two_hashes_of_one_password_have_nothing_in_common() => Assert.NotEqual(
        PasswordHash.Create("same", PasswordHash.LeastIterations).ToText(),
        PasswordHash.Create("same", PasswordHash.LeastIterations).ToText());

    [Fact]
    public void The_text_is_read_as_it_was_written()
    {
        var hash = PasswordHash.Create("secret", PasswordHash.LeastIterations);
        Assert.True(PasswordHash.TryParse(hash.ToText(), out var read));
        Assert.Equal(hash.ToText(), read!.ToText());
        Assert.True(read.Matches("secret"u8));
        Assert.DoesNotContain("secret", hash.ToText(), StringComparison.Ordinal);
        Assert.Equal("PasswordHash", hash.ToString());
    }

    /// <summary>A known answer (Python: hashlib.pbkdf2_hmac), so that hashes outlive this program.</summary>
    [Fact]
    public void The_function_is_pbkdf2_with_sha256()
    {
        Assert.True(PasswordHash.TryParse(
            "pbkdf2-sha256:10000:MDEyMzQ1Njc4OWFiY2RlZg:TI2grtvV1HW5nz2rBY4tctlrmOj5bZs0dw9j8NHpRRc", out var hash));
        Assert.True(hash!.Matches("correct horse"u8));
        Assert.False(hash.Matches("correct horsf"u8));
    }

    [Theory]
    [InlineData("")]
    [InlineData("secret")]
    [InlineData("pbkdf2-sha256:")]
    [InlineData("pbkdf2-sha256:10000:" + Salt)]
    [InlineData("pbkdf2-sha256:10000:" + Salt + ":" + Digest + ":")]
    [InlineData("pbkdf2-sha256:9999:" + Salt + ":" + Digest)]
    [InlineData("pbkdf2-sha256:1000001:" + Salt + ":" + Digest)]
    [InlineData("pbkdf2-sha256:99999999999:" + Salt + ":" + Digest)]
    [InlineData("pbkdf2-sha256:-10000:" + Salt + ":" + Digest)]
    [InlineData("pbkdf2-sha256:10000:AAAA:" + Digest)]
    [InlineData("pbkdf2-sha256:10000:" + Salt + ":" + Salt)]
    [InlineData("pbkdf2-sha256:10000:" + Salt + ":" + Digest + "AAAA")]
    [InlineData("pbkdf2-sha256:10000:" + Salt + ":!" + Digest)]
    [InlineData("PBKDF2-SHA256:10000:" + Salt + ":" + Digest)]
    public void A_text_that_is_no_hash_is_refused(string text) => Assert.False(PasswordHash.TryParse(text, out _));

    [Theory]
    [InlineData("", 10_000)]
    [InlineData("x", 9_999)]
    [InlineData("x", 1_000_001)]
    public void A_hash_out_of_range_is_not_made(string password, int iterations) =>
        Assert.Throws<ArgumentException>(() => PasswordHash.Create(password, iterations));
}
