using System.Text;
using Tunnel2.ProxyEntry.Access;

namespace Tunnel2.ProxyEntry.Tests.Access;

public sealed class VisitorCertificateTests
{
    [Theory]
    [InlineData("CN=alice, O=Example", "CN=alice, O=Example")]
    [InlineData("CN=a\r\nX-Admin: 1", "CN=a%0D%0AX-Admin: 1")]
    [InlineData("CN=bücher", "CN=b%C3%BCcher")]
    [InlineData("CN=100%25", "CN=100%2525")]
    public void A_subject_becomes_a_value_that_a_field_can_have(string subject, string user) =>
        Assert.Equal(user, Encoding.ASCII.GetString(VisitorCertificate.UserOf(subject)));

    [Fact]
    public void A_long_subject_is_cut() => Assert.Equal(512, VisitorCertificate.UserOf("CN=" + new string('a', 5000)).Length);
}
