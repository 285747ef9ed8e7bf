using System.Text;
using Tunnel2.Policies.Paths;

namespace Tunnel2.Policies.Tests.Paths;

public sealed class RequestPathTests
{
    [Theory]
    [InlineData("/")]
    [InlineData("/a/b.c")]
    [InlineData("/a/b-c_d~e!$&'()*+,=:@")]
    public void An_ordinary_path_has_one_reading(string path) => Assert.Equal([path], Read(path));

    [Theory]
    [InlineData("/a/", "/a")]
    [InlineData("*", "/")]
    [InlineData("", "/")]
    public void A_slash_at_the_end_and_other_forms_do_not_count(string path, string reading) => Assert.Equal([reading], Read(path));

    [Theory]
    [InlineData("/%61dmin", "/admin")]
    [InlineData("/%2561dmin", "/admin")]
    [InlineData("/%252561dmin", "/admin")]
    [InlineData("//admin", "/admin")]
    [InlineData("/./admin", "/admin")]
    [InlineData("/x/../admin", "/admin")]
    [InlineData("/x/%2e%2e/admin", "/admin")]
    [InlineData("/x%2f..%2fadmin", "/admin")]
    [InlineData("/x/..;/admin", "/admin")]
    [InlineData("/admin;v=1", "/admin")]
    [InlineData("/x/..%5cadmin", "/admin")]
    [InlineData("/admin%00.html", "/admin")]
    [InlineData("/%c1%a1dmin", "/admin")]
    [InlineData("/x%c0%af..%c0%afadmin", "/admin")]
    [InlineData("/%e0%81%a1dmin", "/admin")]
    [InlineData("/x/..%e0%80%afadmin", "/admin")]
    [InlineData("/%u0061dmin", "/admin")]
    [InlineData("/%25U0061dmin", "/admin")]
    [InlineData("/x/..%u002Fadmin", "/admin")]
    [InlineData("/files/a%u002fb", "/files/a%u002fb")]
    [InlineData("/%u00fc", "/\u00c3\u00bc")]
    [InlineData("/%ud800%u006", "/%ud800%u006")]
    [InlineData("/admin.%20.", "/admin")]
    [InlineData("/admin//../secret", "/admin/secret")]
    [InlineData("/admin//../secret", "/secret")]
    [InlineData("/files/a%2fb", "/files/a%2fb")]
    [InlineData("/files/a%2fb", "/files/a/b")]
    [InlineData("/../../admin", "/admin")]
    [InlineData("/x/%zz/%", "/x/%zz/%")]
    public void Other_spellings_have_the_reading_that_a_service_may_have(string path, string reading) =>
        Assert.Contains(reading, Read(path));

    [Fact]
    public void What_is_too_long_is_not_read()
    {
        var path = new RequestPath();
        path.Read(Encoding.ASCII.GetBytes("/" + new string('a', RequestPath.MaxLength)));
        Assert.True(path.IsTooLong);
        Assert.Equal(0, path.Count);
        path.Read("/a"u8);
        Assert.False(path.IsTooLong);
    }

    [Fact]
    public void Any_bytes_are_read_within_the_room()
    {
        var random = new Random(20_261_124);
        var path = new RequestPath();
        byte[] alphabet = [.. "/%.;\\25ecf0au3?"u8, 0, 0xC0, 0xAF, 0xFF];
        for (var i = 0; i < 20_000; i++)
        {
            var bytes = new byte[random.Next(0, 40)];
            for (var j = 0; j < bytes.Length; j++)
            {
                bytes[j] = alphabet[random.Next(alphabet.Length)];
            }

            path.Read([(byte)'/', .. bytes]);
            Assert.InRange(path.Count, 1, 33);
            for (var j = 0; j < path.Count; j++)
            {
                Assert.Equal((byte)'/', path[j][0]);
            }

            path.Release();
        }
    }

    private static string[] Read(string text)
    {
        var path = new RequestPath();
        path.Read(Encoding.Latin1.GetBytes(text));
        return [.. Enumerable.Range(0, path.Count).Select(index => Encoding.Latin1.GetString(path[index]))];
    }
}
