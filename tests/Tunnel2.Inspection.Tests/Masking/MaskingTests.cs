using System.Text;
using Tunnel2.Inspection.Bodies;
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
    [InlineData("X-Shop-Key", "k", "***")]
    [InlineData("X-User-Pass", "k", "***")]
    [InlineData("X-Session", "k", "***")]
    [InlineData("Idempotency-Key", "k", "k")]
    [InlineData("X-Upstream", "Bearer abc123def456", "Bearer ***")]
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
    [InlineData("Location", "//me:secret@h/p", "//***@h/p")]
    [InlineData("Location", "https://me:sec@ret@h/p@q", "https://***@h/p@q")]
    [InlineData("Location", "https://h/https://me:secret@h/", "https://h/https://***@h/")]
    [InlineData("Location", "https://h//me@x", "https://h//me@x")]
    [InlineData("Refresh", "0; url=https://h/?token=abc", "0; url=https://h/?token=***")]
    [InlineData("Content-Type", "text/x; token=ab/cd; charset=utf-8", "text/x; token=***; charset=utf-8")]
    [InlineData("Content-Security-Policy", "default-src 'self'; report-uri /r?a=1", "default-src 'self'; report-uri /r?a=1")]
    [InlineData("Ocp-Apim-Subscription-Key", "k", "***")]
    [InlineData("DPoP", "k", "***")]
    [InlineData("Sec-WebSocket-Protocol", "access_token, abc", "***")]
    [InlineData("Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.YWJj, v4.channel.k8s.io", "***")]
    [InlineData("Sec-WebSocket-Protocol", "graphql-ws, chat", "graphql-ws, chat")]
    [InlineData("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ==")]
    [InlineData("X-Identity", "is eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbg, yes", "is ***, yes")]
    [InlineData("X-Version", "eyJ.1.2", "eyJ.1.2")]
    public void Fields(string name, string value, string shown) => Assert.Equal(shown, MaskingRules.BuiltIn.OfField(name, value));

    [Theory]
    [InlineData("/p?a=1;token=x", "/p?a=1;token=***")]
    [InlineData("/p?a=1;token=x;b=2&c=3", "/p?a=1;token=***;b=2&c=3")]
    [InlineData("/p?a;pin=1", "/p?a;pin=***")]
    [InlineData("/p?token=x;y&b=2", "/p?token=***&b=2")]
    [InlineData("/p?payload={\"token\":\"a;b\"};x=1", "/p?payload={\"token\":\"***\"};x=1")]
    [InlineData("/p;jsessionid=1F2E.node1/q?a=1", "/p;jsessionid=***/q?a=1")]
    [InlineData("/p;v=1;pin=2", "/p;v=1;pin=***")]
    [InlineData("/app#/reset?a=1&pin=2", "/app#/reset?a=1&pin=***")]
    [InlineData("/app#/reset?pin=2", "/app#/reset?pin=***")]
    [InlineData("/p?card[cvc]=1&card%5Bcvc%5D%5B%5D=2&card[name]=3", "/p?card[cvc]=***&card%5Bcvc%5D%5B%5D=***&card[name]=3")]
    [InlineData("/p?user.pin=1&pin.x=2", "/p?user.pin=***&pin.x=2")]
    [InlineData("/v/eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbg/x", "/v/***/x")]
    [InlineData("/a=b/c=d;e=f?g=h", "/a=b/c=d;e=f?g=h")]
    public void Urls(string url, string shown) => Assert.Equal(shown, MaskingRules.BuiltIn.OfUrl(url));

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
    [InlineData("""{"url":"/p\u003ftoken=x"}""", """{"url":"/p?token=***"}""")]
    [InlineData("""{"url":"https:\/\/me:pw\u0040h\/"}""", """{"url":"https://***@h/"}""")]
    [InlineData("""{"a":"\u007b\u0022pin\u0022:1}"}""", """{"a":"{\"pin\":\"***\"}"}""")]
    [InlineData("""{"body":"a=1&client_secret=x"}""", """{"body":"a=1&client_secret=***"}""")]
    [InlineData("""{"db":"Server=h;Password=x"}""", """{"db":"Server=h;Password=***"}""")]
    [InlineData("""{"error":"see https://me:pw@h/?token=x today"}""", """{"error":"see https://***@h/?token=*** today"}""")]
    [InlineData("""{"a":"line\nnext"}""", """{"a":"line\nnext"}""")]
    [InlineData("""{"id":"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbg"}""", """{"id":"***"}""")]
    [InlineData("""{"token":""", """{"token":""")]
    [InlineData(
        """{"query":"mutation { login(user: \"a\", password: \"x\") { id } }"}""",
        """{"query":"mutation { login(user: \"a\", password: \"***\") { id } }"}""")]
    [InlineData("""{"query":"mutation{login(pin:\"x\"){id}}"}""", """{"query":"mutation{login(pin:\"***\"){id}}"}""")]
    [InlineData("""{"query":"{ me(a: { api_key : \"x\" }) }"}""", """{"query":"{ me(a: { api_key : \"***\" }) }"}""")]
    [InlineData("""{"query":"{ a(note: \"token\", pin: $pin) }"}""", """{"query":"{ a(note: \"token\", pin: $pin) }"}""")]
    [InlineData(""""mutation { a(secret: """x "y" \""" z""", b: "c") }"""", """mutation { a(secret: "***", b: "c") }""")]
    [InlineData("""mutation { a(secret: "cut o""", """mutation { a(secret: "***" """)]
    [InlineData("""var password = "x", passage = "y";""", """var password = "***", passage = "y";""")]
    [InlineData("""<p data-token="x" class="y">""", """<p data-token="***" class="y">""")]
    [InlineData("""{"a":"token","b":"x"}""", """{"a":"token","b":"x"}""")]
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

    /// <summary>Each URL of the text is in the one before it: what is too deep to be looked at is not shown.</summary>
    [Fact]
    public void Urls_in_urls_take_linear_time_and_no_stack()
    {
        var shown = MaskingRules.BuiltIn.OfUrl(string.Concat(Enumerable.Repeat("/a?next=", 100_000)) + "/?token=SECRET");
        Assert.DoesNotContain("SECRET", shown, StringComparison.Ordinal);
        Assert.EndsWith("=***", shown, StringComparison.Ordinal);
    }

    /// <summary>A visitor chooses these texts. What takes the square of the time allocates the square of the bytes.</summary>
    [Theory]
    [InlineData("https://a@", "text/plain")]
    [InlineData("https://a@", "text/xml")]
    [InlineData(" name=a;", "multipart/form-data; boundary=b")]
    [InlineData(" name=a", "multipart/form-data; boundary=b")]
    [InlineData("\\\"", "text/yaml")]
    [InlineData("&a", "text/yaml")]
    [InlineData("\n a", "text/yaml")]
    [InlineData("=?a", "application/x-www-form-urlencoded")]
    [InlineData("\\\"a:", "application/json")]
    public void Each_text_takes_linear_time(string part, string type)
    {
        const int Length = 200_000;
        var begin = type.Contains("yaml", StringComparison.Ordinal) ? "token=\"" : "--b\r\n";
        var text = begin + string.Concat(Enumerable.Repeat(part, Length / part.Length)) + "\r\n\r\n";
        var capture = Sample.Asked(Sample.Store(), body: text, fields: [("Content-Type", type)]);
        var before = GC.GetAllocatedBytesForCurrentThread();
        Assert.NotEmpty(BodyView.OfRequest(capture, MaskingRules.BuiltIn).Content);
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 1000L * Length);
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

    /// <summary>Programs that make their own bodies take the line ends of their system, and services read them.</summary>
    [Theory]
    [InlineData("\n")]
    [InlineData("\r\n")]
    public void Multipart_forms_with_line_ends_of_either_kind(string end)
    {
        var body = $"--b{end}Content-Disposition: form-data; name=\"pin\"{end}{end}SECRET{end}--b{end}"
            + $"Content-Disposition: form-data; name=\"a\"{end}{end}SHOWN{end}--b--{end}";
        var shown = Encoding.ASCII.GetString(MultipartMask.Apply(Encoding.ASCII.GetBytes(body), "b", MaskingRules.BuiltIn, out _));
        Assert.Equal(body.Replace("SECRET", "***", StringComparison.Ordinal), shown);
    }

    [Theory]
    [InlineData("Content-Disposition: form-data; name=\"card[cvc]\"")]
    [InlineData("Content-Disposition: form-data; name = pin")]
    [InlineData("Content-Disposition: form-data; name*=UTF-8''pin")]
    [InlineData("Content-Disposition: form-data; filename=\"a;name=b\"; name=\"password\"")]
    [InlineData("X-Note: name=b\r\nContent-Disposition: form-data; name=password")]
    [InlineData("Content-Disposition: form-data;name=\"password\";filename=\"x\"")]
    public void A_part_is_masked_by_each_of_its_names(string head)
    {
        var body = Encoding.ASCII.GetBytes($"--b\r\n{head}\r\n\r\nhunter2\r\n--b--\r\n");
        var shown = Encoding.ASCII.GetString(MultipartMask.Apply(body, "b", MaskingRules.BuiltIn, out _));
        Assert.DoesNotContain("hunter2", shown, StringComparison.Ordinal);
    }

    /// <summary>A client that sets the type itself may forget the boundary: its author looks here for why no form arrives.</summary>
    [Theory]
    [InlineData("multipart/form-data")]
    [InlineData("multipart/form-data; boundary=")]
    [InlineData("multipart/form-data; boundary=other")]
    [InlineData("Multipart/Mixed; Boundary=\"a b\"")]
    [InlineData("application/x-www-form-urlencoded")]
    [InlineData("application/json")]
    [InlineData("text/plain")]
    [InlineData("")]
    public void Multipart_forms_are_masked_under_any_type(string type)
    {
        const string Body = "--a b\r\ncontent-disposition: form-data; name=\"password\"\r\n\r\nhunter2\r\nline two\r\n--a b\r\n"
            + "Content-Disposition: form-data; name=\"user\"\r\n\r\nme\r\n--a b--\r\n";
        var view = BodyView.OfRequest(Sample.Asked(Sample.Store(), body: Body, fields: [("Content-Type", type)]), MaskingRules.BuiltIn);
        Assert.True(view.IsMasked);
        Assert.Equal(Body.Replace("hunter2\r\nline two", "***", StringComparison.Ordinal), Encoding.ASCII.GetString(view.Content));
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
