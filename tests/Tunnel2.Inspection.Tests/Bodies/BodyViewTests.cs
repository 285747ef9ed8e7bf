using System.IO.Compression;
using System.Text;
using Tunnel2.Inspection.Bodies;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Masking;

namespace Tunnel2.Inspection.Tests.Bodies;

public sealed class BodyViewTests
{
    [Theory]
    [InlineData("gzip")]
    [InlineData("br")]
    [InlineData("deflate")]
    [InlineData("gzip, br")]
    public void Coded_bodies_are_decoded_and_masked(string codings)
    {
        var body = Encoding.UTF8.GetBytes("{\"user\":\"me\",\"token\":\"abc\"}");
        foreach (var coding in codings.Split(", "))
        {
            body = Compress(coding, body);
        }

        var view = View($"Content-Encoding: {codings}\r\nContent-Type: application/json", body);
        Assert.Equal((BodyKind.Json, true, DecodingState.Whole), (view.Kind, view.IsMasked, view.Decoding));
        Assert.Equal("{\"user\":\"me\",\"token\":\"***\"}", view.Text);
        Assert.Equal(body.Length, view.Length);
    }

    /// <summary>A coded body without content is whole, and has some bytes all the same.</summary>
    [Theory]
    [InlineData("gzip", "1F8B080000000000000303000000000000000000")]
    [InlineData("gzip", "1F8B0808000000000003612E7478740003000000000000000000")]
    [InlineData("br", "3B")]
    [InlineData("deflate", "789C030000000001")]
    [InlineData("deflate", "7801010000FFFF00000001")]
    [InlineData("deflate", "0300")]
    [InlineData("deflate", "010000FFFF")]
    [InlineData("deflate", "000000FFFF000000FFFF0300")]
    public void A_coded_body_without_content_is_whole_and_not_before_its_end(string coding, string sent)
    {
        var body = Convert.FromHexString(sent);
        for (var length = 1; length <= body.Length; length++)
        {
            var view = View($"Content-Encoding: {coding}\r\nContent-Type: text/plain", body[..length]);
            Assert.Equal(length == body.Length ? DecodingState.Whole : DecodingState.Broken, view.Decoding);
            Assert.Equal(length < body.Length, view.Kind != BodyKind.Empty);
        }
    }

    /// <summary>Services exist that name a coding and send the body as it is: its reader must see what came.</summary>
    [Theory]
    [InlineData("gzip")]
    [InlineData("br")]
    [InlineData("deflate")]
    public void A_body_that_is_not_coded_as_it_says_is_shown_as_it_came(string coding)
    {
        const string Head = "Content-Type: application/json\r\nContent-Encoding: ";
        var body = "{\"user\":\"me\",\"token\":\"abc\"}"u8.ToArray();
        var view = View(Head + coding, body);
        Assert.Equal((DecodingState.Broken, BodyKind.Json), (view.Decoding, view.Kind));
        Assert.Equal("{\"user\":\"me\",\"token\":\"***\"}", view.Text);

        // What is not text may be coded in another way, with secrets in it.
        byte[] binary = [0xFE, 0, 1, 2, 3];
        view = View("Content-Type: application/octet-stream\r\nContent-Encoding: " + coding, binary);
        Assert.Empty(view.Content);
        Assert.NotNull(view.Withheld);
        Assert.Equal(binary, View(Head + coding, binary, reveal: true).Content);
    }

    [Fact]
    public void What_was_decoded_of_a_binary_body_that_ends_early_is_shown()
    {
        var body = new byte[100_000];
        new Random(1).NextBytes(body);
        var view = View("Content-Type: application/octet-stream\r\nContent-Encoding: gzip", Compress("gzip", body)[..60_000]);
        Assert.Equal((DecodingState.Broken, BodyKind.Binary, null), (view.Decoding, view.Kind, view.Withheld));
        Assert.NotEmpty(view.Content);
        Assert.Equal(body[..view.Content.Length], view.Content);
    }

    [Theory]
    [InlineData("gzip")]
    [InlineData("br")]
    [InlineData("deflate")]
    public void A_coded_body_that_ends_early_is_never_whole(string coding)
    {
        var body = Compress(coding, Encoding.UTF8.GetBytes(string.Concat(Enumerable.Range(0, 100).Select(static i => $"line {i * i}\n"))));
        for (var length = 1; length < body.Length; length++)
        {
            var view = View($"Content-Encoding: {coding}\r\nContent-Type: text/plain", body[..length]);
            Assert.True(view.Decoding == DecodingState.Broken, $"{length} of {body.Length} bytes: {view.Decoding}");
        }
    }

    [Theory]
    [InlineData("text/html", "<input name=csrf value=abc>", "<input name=csrf value=***>")]
    [InlineData("application/xml", "<add key='Password' value='abc'/>", "<add key='Password' value='***'/>")]
    [InlineData("text/csv", "user,token\nme,abc\n", "user,token\nme,***\n")]
    [InlineData("text/tab-separated-values", "user\ttoken\nme\tabc\n", "user\ttoken\nme\t***\n")]
    public void Secrets_of_tags_and_tables_are_masked(string type, string body, string shown)
    {
        var view = View($"Content-Type: {type}", Encoding.UTF8.GetBytes(body));
        Assert.Equal((shown, true), (view.Text, view.IsMasked));
    }

    [Fact]
    public void Each_member_of_a_file_of_gzip_is_decoded()
    {
        var view = View(
            "Content-Encoding: gzip\r\nContent-Type: text/plain",
            [.. Compress("gzip", "a=1\n"u8.ToArray()), .. Compress("gzip", []), .. Compress("gzip", "token=abc\n"u8.ToArray())]);
        Assert.Equal(("a=1\ntoken=***\n", DecodingState.Whole), (view.Text, view.Decoding));
    }

    /// <summary>Frames of a WebSocket, of which the messages are shown and masked.</summary>
    [Fact]
    public void The_bytes_of_an_upgraded_connection_are_withheld_unless_secrets_are_wanted()
    {
        var capture = Sample.Asked(Sample.Store());
        capture.OnResponseHead(Sample.Bytes("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n"), 101);
        capture.OnUpgraded();
        capture.OnRequestBody(Sample.Bytes("{\"token\":\"abc\"}"));
        capture.OnResponseBody(Sample.Bytes("\u0081\u000f{\"token\":\"abc\"}"));
        foreach (var view in new[]
            { BodyView.OfRequest(capture, MaskingRules.BuiltIn), BodyView.OfResponse(capture, MaskingRules.BuiltIn) })
        {
            Assert.Empty(view.Content);
            Assert.Contains("upgraded", view.Withheld, StringComparison.Ordinal);
        }

        Assert.EndsWith("abc\"}", Encoding.Latin1.GetString(BodyView.OfResponse(capture, null).Content), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("gzip")]
    [InlineData("br")]
    public void A_bomb_ends_at_the_limit(string coding)
    {
        var bomb = Compress(coding, new byte[64 * 1024 * 1024]);
        Assert.InRange(bomb.Length, 1, 200_000);
        var before = GC.GetAllocatedBytesForCurrentThread();
        var view = View($"Content-Encoding: {coding}", bomb);
        Assert.Equal((DecodingState.Cut, BodyView.DecodedLimit), (view.Decoding, view.Content.Length));
        Assert.InRange(GC.GetAllocatedBytesForCurrentThread() - before, 0, 16 * BodyView.DecodedLimit);
    }

    [Fact]
    public void A_coded_body_that_is_cut_shows_what_came_out()
    {
        var whole = Encoding.ASCII.GetBytes(string.Concat(Enumerable.Range(0, 5000).Select(i => $"line {i}\n")));
        var view = View("Content-Encoding: gzip\r\nContent-Type: text/plain", Compress("gzip", whole)[..5000]);
        Assert.StartsWith("line 0\nline 1\n", view.Text, StringComparison.Ordinal);
        Assert.NotEqual(DecodingState.Plain, view.Decoding);
    }

    /// <summary>A browser's <c>fetch</c> sends a text under this type, and <c>enctype="text/plain"</c> sends a form so.</summary>
    [Theory]
    [InlineData("user=me&password=hunter2", "user=me&password=***")]
    [InlineData("user=me\r\npassword=hunter two\r\n", "user=me\r\npassword=***\r\n")]
    [InlineData("see https://me:pw@h/?token=abc (why?)", "see https://***@h/?token=*** (why?)")]
    [InlineData("GET / HTTP/1.1\r\nAuthorization: Basic abc\r\nX: y\r\n\r\n", "GET / HTTP/1.1\r\nAuthorization: ***\r\nX: y\r\n\r\n")]
    [InlineData("data: {\"a\":\"b=c\"}\ndata: https://me:pw@h/\n", "data: {\"a\":\"b=c\"}\ndata: https://***@h/\n")]
    [InlineData("42[\"auth\",{\"token\":\"a=b\",\"x\":\"y=z\"}]", "42[\"auth\",{\"token\":\"***\",\"x\":\"y=z\"}]")]
    [InlineData("the token = x, and a password=y in prose", "the token = x, and a password=y in prose")]
    [InlineData("[db]\nuser=me\npassword=x\n", "[db]\nuser=me\npassword=***\n")]
    [InlineData("{{ settings }}\nToken: x\n", "{{ settings }}\nToken: ***\n")]
    [InlineData("<a><password>x</password></a>", "<a><password>***</password></a>")]
    [InlineData("- password: x\nexport DB_PASSWORD=y\ndata: token=z", "- password: ***\nexport DB_PASSWORD=***\ndata: token=***")]
    public void Plain_text_is_looked_through_for_forms_and_urls(string text, string shown)
    {
        Assert.Equal(shown.TrimEnd(), View("Content-Type: text/plain;charset=UTF-8", Sample.Bytes(text)).Text.TrimEnd());
        Assert.Equal(shown.TrimEnd(), View("X: y", Sample.Bytes(text)).Text.TrimEnd());
    }

    /// <summary>Blocks, lists and maps of YAML, folded fields, texts in quotes, lines that are joined.</summary>
    [Theory]
    [InlineData("db:\n  private_key: |\n    abc\n\n    def\n  user: me\n", "db:\n  private_key: ***\n    ***\n\n    ***\n  user: me\n")]
    [InlineData("\"pin\": >-\n  abc\nuser: me", "\"pin\": \"***\"\n  ***\nuser: me")]
    [InlineData("'pin': abc\nuser: me", "'pin': ***\nuser: me")]
    [InlineData("tokens:\n- abc\n- def\nuser: me", "tokens: ***\n***\n***\nuser: me")]
    [InlineData("- tokens:\n    - abc\n  user: me", "- tokens: ***\n    ***\n  user: me")]
    [InlineData("credentials:\n  user: me\n  value: abc\na: b", "credentials: ***\n  ***\n  ***\na: b")]
    [InlineData("Authorization: Bearer\r\n abc\r\nX: y", "Authorization: ***\r\n ***\r\nX: y")]
    [InlineData("KEY=a\nPRIVATE_KEY=\"ab\\\"c\ndef\n  g\"\nUSER=me", "KEY=a\nPRIVATE_KEY=***\n***\n  ***\nUSER=me")]
    [InlineData("pin = '''\nabc\n'''\nuser = 'me'", "pin =***\n***\n***\nuser = 'me'")]
    [InlineData("password=abc\\\ndef\\\nghi\nuser=me\\", "password=***\n***\n***\nuser=me\\")]
    [InlineData("DB_PASSWORD=p&abc\nuser=me&password=x&y&a=b", "DB_PASSWORD=***\nuser=me&password=***&a=b")]
    [InlineData("PASSWORD=\"a&b=c\"\nuser=\"a&b=c\"", "PASSWORD=***\nuser=\"a&b=c\"")]
    [InlineData("# password=x\n; token: x\n# see: y", "# password=***\n; token: ***\n# see: y")]
    public void A_secret_is_masked_to_the_end_of_its_lines(string text, string shown)
    {
        foreach (var type in new[] { "text/plain", "application/yaml", "application/octet-stream" })
        {
            Assert.Equal(shown, View($"Content-Type: {type}", Sample.Bytes(text)).Text);
        }
    }

    /// <summary>Programs send one thing under the type of another.</summary>
    [Theory]
    [InlineData("application/json", "user=me&password=x", "user=me&password=***")]
    [InlineData("application/json", "<password>x</password>", "<password>***</password>")]
    [InlineData("application/octet-stream", "user=me&password=x", "user=me&password=***")]
    [InlineData("application/octet-stream", "<password>x</password>", "<password>***</password>")]
    [InlineData("application/x-www-form-urlencoded", "<a><password>x</password></a>", "<a><password>***</password></a>")]
    [InlineData("application/yaml", "user: me\npassword: x\n", "user: me\npassword: ***\n")]
    [InlineData("image/png", "password=x", "password=***")]
    [InlineData("text/xml", "<a><b>https://me:pw@h/?a=1&amp;token=x</b></a>", "<a><b>https://***@h/?a=1&amp;token=***</b></a>")]
    [InlineData("image/svg+xml", "<a href='https://me:pw@h/'/>", "<a href='https://***@h/'/>")]
    [InlineData("application/javascript", "token = f(x);\nb: 1", "token = f(x);\nb: 1")]
    public void Secrets_do_not_hide_by_a_type_that_is_not_theirs(string type, string text, string shown) =>
        Assert.Equal(shown, View($"Content-Type: {type}", Sample.Bytes(text)).Text);

    /// <summary>A document of an office has "form" in its type, and is none.</summary>
    [Fact]
    public void Bytes_of_a_type_without_text_are_shown()
    {
        const string Type = "Content-Type: application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        Assert.Null(View(Type, [(byte)'P', (byte)'K', 0, 1]).Withheld);
    }

    [Theory]
    [InlineData("text/xml; charset=utf-16")]
    [InlineData("text/plain; charset=utf-16")]
    [InlineData("application/soap+xml")]
    [InlineData("application/json")]
    public void Text_of_another_encoding_is_withheld_until_secrets_are_wanted(string type)
    {
        var text = Encoding.Unicode.GetBytes("<password>x</password>");
        Assert.NotNull(View($"Content-Type: {type}", text).Withheld);
        Assert.Empty(View($"Content-Type: {type}", text).Content);
        Assert.Equal(text, View($"Content-Type: {type}", text, reveal: true).Content);
    }

    [Theory]
    [InlineData("Identity")]
    [InlineData("none")]
    [InlineData(",")]
    public void A_coding_that_codes_nothing_is_no_coding(string coding)
    {
        var view = View($"Content-Encoding: {coding}", Sample.Bytes("{\"token\":\"abc\"}"));
        Assert.Equal((DecodingState.Plain, "", "{\"token\":\"***\"}"), (view.Decoding, view.Codings, view.Text));
    }

    [Theory]
    [InlineData("zstd")]
    [InlineData("gzip, zstd")]
    [InlineData("a, b, c, d, e")]
    public void What_cannot_be_read_is_withheld_until_secrets_are_wanted(string coding)
    {
        var view = View($"Content-Encoding: {coding}", Sample.Bytes("{\"token\":\"abc\"}"));
        Assert.NotNull(view.Withheld);
        Assert.Empty(view.Content);
        Assert.NotEmpty(View($"Content-Encoding: {coding}", Sample.Bytes("{\"token\":\"abc\"}"), reveal: true).Content);
    }

    [Theory]
    [InlineData("application/json", "{\"a\":1}", BodyKind.Json)]
    [InlineData("application/problem+json", "{\"a\":1}", BodyKind.Json)]
    [InlineData("text/plain", " [1]", BodyKind.Json)]
    [InlineData("application/x-www-form-urlencoded", "a=1", BodyKind.Form)]
    [InlineData("application/x-www-form-urlencoded", "[a]=1", BodyKind.Form)]
    [InlineData("application/x-www-form-urlencoded", " {\"a\":1}", BodyKind.Json)]
    [InlineData("text/html", "<p>", BodyKind.Text)]
    [InlineData("", "plain", BodyKind.Text)]
    [InlineData("", "\0\u0001", BodyKind.Binary)]
    [InlineData("application/octet-stream", "\u00ff\u00fe", BodyKind.Binary)]
    [InlineData("text/plain", "caf\u00e9", BodyKind.Text)]
    [InlineData("image/png", "\u0089PNG\0", BodyKind.Image)]
    [InlineData("image/png", "{\"token\":\"x\"}", BodyKind.Json)]
    [InlineData("image/svg+xml", "<svg/>", BodyKind.Text)]
    [InlineData("text/plain", "", BodyKind.Empty)]
    public void Kinds(string type, string body, object kind) =>
        Assert.Equal((BodyKind)kind, View($"Content-Type: {type}", Sample.Bytes(body)).Kind);

    [Theory]
    [InlineData("[a]=1&password=hunter2", "[a]=1&password=***")]
    [InlineData("{a}&token=hunter2", "{a}&token=***")]
    [InlineData("{\"token\":\"hunter2\"}", "{\"token\":\"***\"}")]
    [InlineData("{\"token\":\"hunter2", "{\"token\":\"***\"")]
    public void A_form_is_masked_with_any_beginning(string body, string shown)
    {
        var view = View("Content-Type: application/x-www-form-urlencoded", Sample.Bytes(body));
        Assert.Equal((shown, true), (view.Text, view.IsMasked));
    }

    [Fact]
    public void Json_in_another_character_set_is_withheld()
    {
        var view = View("Content-Type: application/json; charset=utf-16", Encoding.Unicode.GetBytes("{\"token\":\"abc\"}"));
        Assert.NotNull(view.Withheld);
        Assert.Empty(view.Content);
    }

    [Fact]
    public void Text_cut_within_a_character_is_still_utf8()
    {
        var capture = Sample.Asked(Sample.Store(new InspectionLimits { BodyBytes = 4 }))
            .Answered("HTTP/1.1 200 OK\r\nContent-Type: text/plain", Encoding.UTF8.GetBytes("caf\u00e9"));
        Assert.True(BodyView.OfResponse(capture, MaskingRules.BuiltIn).IsUtf8);
        var latin = View("Content-Type: text/plain", Sample.Bytes("caf\u00e9 au lait"));
        Assert.Equal((false, "caf\u00e9 au lait"), (latin.IsUtf8, latin.Text));
    }

    /// <summary>What is whole has no character that is cut off: its last byte is one of another character set.</summary>
    [Theory]
    [InlineData("", "caf\u00e9")]
    [InlineData("Content-Encoding: gzip\r\n", "na\u00ef")]
    public void Whole_text_that_ends_within_a_character_is_not_utf8(string coding, string text)
    {
        var body = coding.Length == 0 ? Sample.Bytes(text) : Compress("gzip", Sample.Bytes(text));
        var view = View(coding + "Content-Type: text/plain", body);
        Assert.Equal((false, text), (view.IsUtf8, view.Text));
    }

    private static BodyView View(string fields, byte[] body, bool reveal = false)
    {
        var store = Sample.Store(new InspectionLimits { BodyBytes = 1024 * 1024 });
        var capture = Sample.Asked(store).Answered("HTTP/1.1 200 OK\r\n" + fields, body);
        return BodyView.Of(capture.ResponseBody, capture.Response.Fields, reveal ? null : MaskingRules.BuiltIn);
    }

    private static byte[] Compress(string coding, byte[] body)
    {
        using var output = new MemoryStream();
        using (Stream coder = coding switch
        {
            "gzip" => new GZipStream(output, CompressionLevel.Optimal, leaveOpen: true),
            "br" => new BrotliStream(output, CompressionLevel.Optimal, leaveOpen: true),
            _ => new ZLibStream(output, CompressionLevel.Optimal, leaveOpen: true),
        })
        {
            coder.Write(body);
        }

        return output.ToArray();
    }
}
