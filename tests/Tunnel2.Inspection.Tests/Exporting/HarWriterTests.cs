using System.Text;
using System.Text.Json;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Exporting;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Tests.Exporting;

public sealed class HarWriterTests
{
    [Fact]
    public async Task A_file_has_what_the_format_demands()
    {
        var store = Sample.Store();
        Sample.Asked(store, "POST", "/p?a=1&b", "x=1&password=2", ("Content-Type", "application/x-www-form-urlencoded"), ("Cookie", "s=1"))
            .Answered("HTTP/1.1 302 Found\r\nLocation: /next?token=abc\r\nContent-Type: image/png", [0x89, 0, 1]);
        using var har = await WriteAsync(store);

        var log = har.RootElement.GetProperty("log");
        Assert.Equal("1.2", log.GetProperty("version").GetString());
        Assert.Equal("tunnel2", log.GetProperty("creator").GetProperty("name").GetString());
        var entry = Assert.Single(log.GetProperty("entries").EnumerateArray());
        Assert.Equal("2030-01-01T00:00:00.000Z", entry.GetProperty("startedDateTime").GetString());
        foreach (var name in new[] { "blocked", "dns", "connect", "send", "wait", "receive", "ssl" })
        {
            Assert.True(entry.GetProperty("timings").GetProperty(name).GetDouble() >= -1);
        }

        Assert.Equal(JsonValueKind.Object, entry.GetProperty("cache").ValueKind);
        var request = entry.GetProperty("request");
        Assert.Equal("http://web.localhost:12000/p?a=1&b", request.GetProperty("url").GetString());
        Assert.Equal("x=1&password=***", request.GetProperty("postData").GetProperty("text").GetString());
        Assert.Equal(["a", "b"], request.GetProperty("queryString").EnumerateArray().Select(one => one.GetProperty("name").GetString()));
        Assert.Equal(14, request.GetProperty("bodySize").GetInt32());
        var response = entry.GetProperty("response");
        Assert.Equal("/next?token=***", response.GetProperty("redirectURL").GetString());
        Assert.Equal("base64", response.GetProperty("content").GetProperty("encoding").GetString());
        Assert.Equal("iQAB", response.GetProperty("content").GetProperty("text").GetString());
    }

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Cookies_have_names_and_values_and_are_masked_as_the_fields_are(bool isMasked)
    {
        var store = Sample.Store();
        Sample.Asked(store, "GET", "/", "", ("Cookie", "s=1; theme=\"dark; \"; bare;;"), ("cookie", "last="))
            .Answered(
                "HTTP/1.1 200 OK\r\nSet-Cookie: id=a=b; Path=/x; domain=example.org; Expires=Wed, 21 Oct 2026 07:28:00 GMT; "
                + "HttpOnly; SECURE; SameSite=Lax\r\nSet-Cookie: plain=1\r\nX-Cookie: none=1");
        using var har = await WriteAsync(store, isMasked);
        var entry = har.RootElement.GetProperty("log").GetProperty("entries")[0];
        string Shown(string value) => isMasked ? "***" : value;
        Assert.Equal(
            [$"s={Shown("1")}", $"theme={Shown("\"dark")}", $"={Shown("\"")}", $"={Shown("bare")}", $"last={Shown("")}"],
            entry.GetProperty("request").GetProperty("cookies").EnumerateArray().Select(Text));
        var set = entry.GetProperty("response").GetProperty("cookies").EnumerateArray().ToList();
        Assert.Equal([$"id={Shown("a=b")}", $"plain={Shown("1")}"], set.Select(Text));
        Assert.Equal(("/x", "example.org"), (set[0].GetProperty("path").GetString(), set[0].GetProperty("domain").GetString()));
        Assert.Equal(new DateTime(2026, 10, 21, 7, 28, 0, DateTimeKind.Utc), set[0].GetProperty("expires").GetDateTime());
        Assert.True(set[0].GetProperty("httpOnly").GetBoolean() && set[0].GetProperty("secure").GetBoolean());
        Assert.False(set[1].GetProperty("httpOnly").GetBoolean() || set[1].TryGetProperty("expires", out _));

        static string Text(JsonElement cookie) => $"{cookie.GetProperty("name")}={cookie.GetProperty("value")}";
    }

    [Fact]
    public async Task Text_that_is_not_UTF_8_is_given_as_its_bytes()
    {
        const string Type = "text/plain; charset=iso-8859-1";
        var store = Sample.Store();
        Sample.Asked(store, "POST", "/", "token=abc\ncaf\u00e9", ("Content-Type", Type))
            .Answered($"HTTP/1.1 200 OK\r\nContent-Type: {Type}", Sample.Bytes("pin: 1\n\u00fc\u00ff"));
        using var har = await WriteAsync(store);
        var entry = har.RootElement.GetProperty("log").GetProperty("entries")[0];
        var request = entry.GetProperty("request").GetProperty("postData");
        Assert.Equal(Sample.Bytes("token=***\ncaf\u00e9"), request.GetProperty("text").GetBytesFromBase64());
        Assert.Equal("base64", request.GetProperty("_encoding").GetString());
        var response = entry.GetProperty("response").GetProperty("content");
        Assert.Equal(Sample.Bytes("pin: ***\n\u00fc\u00ff"), response.GetProperty("text").GetBytesFromBase64());
        Assert.Equal("base64", response.GetProperty("encoding").GetString());
    }

    [Fact]
    public async Task Trailers_are_members_of_our_own_where_there_are_any()
    {
        var store = Sample.Store();
        var capture = Sample.Asked(store);
        capture.OnResponseTrailers(Sample.Trailers(("X-Sum", "1"), ("X-Auth-Token", "hidden")));
        capture.Answered("HTTP/1.1 200 OK");
        using var har = await WriteAsync(store);
        var entry = har.RootElement.GetProperty("log").GetProperty("entries")[0];
        Assert.False(entry.GetProperty("request").TryGetProperty("_trailers", out _));
        Assert.Equal(
            ["X-Sum: 1", "X-Auth-Token: ***"],
            entry.GetProperty("response").GetProperty("_trailers").EnumerateArray()
                .Select(static field => $"{field.GetProperty("name")}: {field.GetProperty("value")}"));
    }

    [Fact]
    public async Task Markup_and_controls_are_escaped_and_nothing_is_lost()
    {
        const string Nasty = "</script><script>alert(1)</script>\u001b[31m\u0000\u202e\"\\";
        var store = Sample.Store();
        var bytes = Encoding.UTF8.GetBytes(Nasty.Replace("\u0000", "", StringComparison.Ordinal));
        Sample.Asked(store, "GET", "/<b>").Answered("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX: \u00ff<", bytes);
        var text = await TextAsync(store);
        Assert.All(text, one => Assert.InRange(one, ' ', '~'));
        Assert.DoesNotContain("<", text, StringComparison.Ordinal);
        using var har = JsonDocument.Parse(text);
        var content = har.RootElement.GetProperty("log").GetProperty("entries")[0].GetProperty("response").GetProperty("content");
        Assert.Equal(Encoding.UTF8.GetString(bytes), content.GetProperty("text").GetString());
    }

    [Fact]
    public async Task Websockets_have_chromium_s_members()
    {
        var store = Sample.Store();
        var capture = store.Begin(Sample.Block("GET", "/ws"))!;
        capture.OnResponseHead("HTTP/1.1 101 S\r\nUpgrade: websocket\r\n\r\n"u8, 101);
        capture.OnUpgraded();
        capture.OnRequestBody([0x81, 0x82, 0, 0, 0, 0, (byte)'h', (byte)'i']);
        capture.OnResponseBody([0x82, 0x01, 0xFF]);
        using var har = await WriteAsync(store);
        var entry = har.RootElement.GetProperty("log").GetProperty("entries")[0];
        Assert.Equal("websocket", entry.GetProperty("_resourceType").GetString());
        Assert.Equal(
            ["send 1 hi", "receive 2 /w=="],
            entry.GetProperty("_webSocketMessages").EnumerateArray().Select(
                one => $"{one.GetProperty("type")} {one.GetProperty("opcode")} {one.GetProperty("data")}"));
    }

    private static async Task<JsonDocument> WriteAsync(ExchangeStore store, bool isMasked = true) =>
        JsonDocument.Parse(await TextAsync(store, isMasked));

    private static async Task<string> TextAsync(ExchangeStore store, bool isMasked = true)
    {
        using var output = new MemoryStream();
        await HarWriter.WriteAsync(
            output,
            store.Latest().Reverse(),
            isMasked ? MaskingRules.BuiltIn : null,
            static _ => "http://web.localhost:12000",
            "1",
            TestContext.Current.CancellationToken);
        return Encoding.Latin1.GetString(output.ToArray());
    }
}
