using System.Text;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Tests.Masking;

public sealed class MaskingTests
{
    [Theory]
    [InlineData("Authorization", "Bearer abc.def", "Bearer ***")]
    [InlineData("authorization", "Basic dXNlcjpwYXNz", "Basic ***")]
    [InlineData("Authorization", "abc", "***")]
    [InlineData("Proxy-Authorization", "Digest a=b", "Digest ***")]
    [InlineData("Cookie", "sid=1; theme=dark;x", "sid=***; theme=***;***")]
    [InlineData("Set-Cookie", "sid=abc; Path=/; HttpOnly", "sid=***; Path=/; HttpOnly")]
    [InlineData("X-Api-Key", "k", "***")]
    [InlineData("X_API_KEY", "k", "***")]
    [InlineData("X-CSRF-Token", "k", "***")]
    [InlineData("X-Auth-Key", "k", "***")]
    [InlineData("X-Amz-Security-Token", "k", "***")]
    [InlineData("Access-Control-Allow-Credentials", "true", "true")]
    [InlineData("Content-Type", "text/plain", "text/plain")]
    [InlineData("Referer", "http://h/p?access_token=abc&x=1", "http://h/p?access_token=***&x=1")]
    [InlineData("Location", "https://user:secret@h/", "https://***@h/")]
    [InlineData("Location", "/cb#id_token=abc", "/cb#id_token=***")]
    [InlineData("Location", "/cb#x?token=abc", "/cb#x?token=***")]
    [InlineData("X-Color", "#fff?", "#fff?")]
    [InlineData("Location", "/cb?a=1#id_token=abc", "/cb?a=1#id_token=***")]
    [InlineData(
        "Link", "<https://h/?page=2>; rel=\"next\", <https://h/?token=abc>; rel=\"last\"",
        "<https://h/?page=2>; rel=\"next\", <https://h/?token=***>; rel=\"last\"")]
    [InlineData("Link", "<https://h/?page=2>, <https://user:secret@h/>", "<https://h/?page=2>, <https://***@h/>")]
    [InlineData("X-Event", "{\"a\":1,\"password\":\"x\"}", "{\"a\":1,\"password\":\"***\"}")]
    public void Fields(string name, string value, string shown) => Assert.Equal(shown, MaskingRules.BuiltIn.OfField(name, value));

    [Theory]
    [InlineData("a=1&password=x&b=2", "a=1&password=***&b=2")]
    [InlineData("pass%77ord=x", "pass%77ord=***")]
    [InlineData("user%5Bpassword%5D=x", "user%5Bpassword%5D=***")]
    [InlineData("%zz=1&token", "%zz=1&token")]
    [InlineData("", "")]
    [InlineData("next=/cb?token=x&a=1", "next=/cb?token=***&a=1")]
    [InlineData("next=%2Fcb%3Ftoken%3Dx%26a%3D1", "next=%2Fcb%3Ftoken%3D***%26a%3D1")]
    [InlineData("u=https%3A%2F%2Fme%3Asecret%40h%2F", "u=https%3A%2F%2F***%40h%2F")]
    [InlineData("payload=%7B%22a%22%3A1%2C%22token%22%3A%22x%22%7D", "payload=%7B%22a%22%3A1%2C%22token%22%3A%22***%22%7D")]
    [InlineData("payload=%7B%22token%22+%3A+%22x%22%7D", "payload=%7B%22token%22%20%3A%20%22***%22%7D")]
    [InlineData("payload={\"token\":\"x\"}", "payload={\"token\":\"***\"}")]
    [InlineData("payload=%7B%22a%22%3A1%7D&b=2", "payload=%7B%22a%22%3A1%7D&b=2")]
    [InlineData("mail=me%40h.example&q=why%3F", "mail=me%40h.example&q=why%3F")]
    public void Forms(string form, string shown) => Assert.Equal(shown, MaskingRules.BuiltIn.OfForm(form));

    [Theory]
    [InlineData("""{"a":1,"password":"x"}""", """{"a":1,"password":"***"}""")]
    [InlineData("""{"password" : {"a":["}"],"b":"\"}"} , "z":1}""", """{"password" : "***" , "z":1}""")]
    [InlineData("""{"client_secret":12.5e3,"n":null}""", """{"client_secret":"***","n":null}""")]
    [InlineData("""{"pass\u0077ord":"x"}""", """{"pass\u0077ord":"***"}""")]
    [InlineData("""{"tokens":["a","b"]}""", """{"tokens":"***"}""")]
    [InlineData("""{"apiKey":"cut off in the val""", """{"apiKey":"***" """)]
    [InlineData("""{"apiKey":["a", {"b" """, """{"apiKey":"***" """)]
    [InlineData("""not json "token": "x" here""", """not json "token": "***" here""")]
    [InlineData("""{"a":"the \"token\": \"x\" is in a text"}""", """{"a":"the \"token\": \"x\" is in a text"}""")]
    [InlineData("""["password","x"]""", """["password","x"]""")]
    [InlineData("""{"body":"{\"password\":\"x\",\"a\":1}"}""", """{"body":"{\"password\":\"***\",\"a\":1}"}""")]
    [InlineData("""{"database":"postgres://app:s3cret@db/x"}""", """{"database":"postgres://***@db/x"}""")]
    [InlineData("""{"u":"\ud800?token=x"}""", "{\"u\":\"\uFFFD?token=***\"}")]
    [InlineData("""["[{\"token\":\"x\"}]"]""", """["[{\"token\":\"***\"}]"]""")]
    [InlineData("""{"a":"{\"b\":\"{\\\"pin\\\":1}\"}"}""", """{"a":"{\"b\":\"{\\\"pin\\\":\\\"***\\\"}\"}"}""")]
    [InlineData("""{"a":"{\"password\":\"cut o""", """{"a":"{\"password\":\"***\"" """)]
    [InlineData("""{"a":"{\"text\":\"a\\nb\"}"}""", """{"a":"{\"text\":\"a\\nb\"}"}""")]
    [InlineData("""{"url":"https://h/p?x=1&access_token=abc"}""", """{"url":"https://h/p?x=1&access_token=***"}""")]
    [InlineData("""{"url":"https:\/\/h\/?token=a\u0026x=1"}""", """{"url":"https://h/?token=***&x=1"}""")]
    [InlineData("""{"a":"is token=x right?"}""", """{"a":"is token=x right?"}""")]
    [InlineData("""{"url":"/login?next=%2F%3Ftoken%3Dx"}""", """{"url":"/login?next=%2F%3Ftoken%3D***"}""")]
    [InlineData("""{"token":""", """{"token":""")]
    [InlineData("\"", "\"")]
    [InlineData("\"\\", "\"\\")]
    public void Json(string json, string shown) => Assert.Equal(
        shown.TrimEnd(), Encoding.UTF8.GetString(JsonMask.Apply(Encoding.UTF8.GetBytes(json), MaskingRules.BuiltIn, out _)).TrimEnd());

    [Fact]
    public void Deep_json_takes_linear_time_and_no_stack()
    {
        var text = Encoding.ASCII.GetBytes("{\"token\":" + new string('[', 200_000));
        Assert.Equal("{\"token\":\"***\"", Encoding.ASCII.GetString(JsonMask.Apply(text, MaskingRules.BuiltIn, out var masked)));
        Assert.True(masked);
    }

    /// <summary>Each URL of the text stands in the one before it: what is too deep to be looked at is not shown.</summary>
    [Fact]
    public void Urls_in_urls_take_linear_time_and_no_stack()
    {
        var shown = MaskingRules.BuiltIn.OfUrl(string.Concat(Enumerable.Repeat("/a?next=", 100_000)) + "/?token=SECRET");
        Assert.DoesNotContain("SECRET", shown, StringComparison.Ordinal);
        Assert.EndsWith("=***", shown, StringComparison.Ordinal);
    }

    [Fact]
    public void Multipart_forms()
    {
        const string Body = "--b\r\nContent-Disposition: form-data; filename=\"name=x\"; name=\"user\"\r\n\r\nme\r\n--b\r\n"
            + "Content-Disposition: form-data; name=\"password\"\r\n\r\nhunter2\r\nline two\r\n--b--\r\n";
        var shown = Encoding.ASCII.GetString(MultipartMask.Apply(Encoding.ASCII.GetBytes(Body), "b", MaskingRules.BuiltIn, out var masked));
        Assert.True(masked);
        Assert.Contains("me\r\n--b", shown, StringComparison.Ordinal);
        Assert.DoesNotContain("hunter2", shown, StringComparison.Ordinal);
        Assert.DoesNotContain("line two", shown, StringComparison.Ordinal);
        Assert.EndsWith("***\r\n--b--\r\n", shown, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Content-Disposition: form-data; filename=\"a;name=b\"; name=\"password\"")]
    [InlineData("X-Note: name=b\r\nContent-Disposition: form-data; name=password")]
    [InlineData("Content-Disposition: form-data;name=\"password\";filename=\"x\"")]
    public void A_part_is_masked_whichever_of_its_names_counts(string head)
    {
        var body = Encoding.ASCII.GetBytes($"--b\r\n{head}\r\n\r\nhunter2\r\n--b--\r\n");
        var shown = Encoding.ASCII.GetString(MultipartMask.Apply(body, "b", MaskingRules.BuiltIn, out _));
        Assert.DoesNotContain("hunter2", shown, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("iban", "IBAN", true)]
    [InlineData("x-internal-*", "X-Internal-Id", true)]
    [InlineData("*-internal", "my_internal", true)]
    [InlineData("a*b*c", "axxbyyc", true)]
    [InlineData("a*b*c", "axxbyy", false)]
    [InlineData("iban", "ibans", false)]
    [InlineData("*", "anything", false)]
    public void Further_names(string pattern, string name, bool isSecret) =>
        Assert.Equal(isSecret, new MaskingRules([pattern]).IsSecret(name));
}
