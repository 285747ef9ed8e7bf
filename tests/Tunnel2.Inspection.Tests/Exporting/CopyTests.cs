using System.Diagnostics;
using System.Text;
using Tunnel2.Inspection.Exporting;
using Tunnel2.Inspection.Masking;
using Tunnel2.Protocol.Headers;

namespace Tunnel2.Inspection.Tests.Exporting;

/// <summary>Pastes the lines into real shells, in which the program is a function that shows its arguments.</summary>
public sealed class CopyTests
{
    private const string Origin = "http://web.localhost:12000";
    private const string Address = "http://127.0.0.1:12000";

    public static TheoryData<string> Nasty =>
    [
        "plain", "it's", "\"quoted\"", "$(touch pwned)", "`touch pwned`", "a;touch pwned", "a\ntouch pwned\n", "a\r\nb", "\\",
        "a\\' touch pwned '", "!!", "!touch", "$'x'", "${IFS}", "@/etc/passwd", "-o pwned", "\u00ff\u00fe", "caf\u00c3\u00a9", "\u001b[31m",
        "\u00e2\u0080\u00ae", "%s%n", "a\tb", "* ? [a] {b,c}", "~root", "<(touch pwned)", "|| touch pwned", "&& touch pwned #", "'\\''",
        "\u007f", "'; touch pwned; '",
    ];

    public static TheoryData<string> NastyUtf8 =>
        [.. Nasty.Select(static row => row.Data).Where(static text => System.Text.Unicode.Utf8.IsValid(Sample.Bytes(text)))];

    [Theory]
    [MemberData(nameof(Nasty))]
    public async Task A_curl_line_gives_curl_exactly_the_bytes(string text)
    {
        var value = text.ReplaceLineEndings(" ");
        var capture = Sample.Asked(Sample.Store(), "POST", "/a?q=1", text, ("X-Value", value), ("Content-Type", "text/plain"));
        var (line, note) = CopyFormats.Write("curl", CopySource.Of(capture, Origin, null));
        Assert.Null(note);
        var arguments = await RunAsync("bash", "curl", line);
        Assert.Equal(
            [
                "--globoff", "--path-as-is", Origin + "/a?q=1", "-H", "X-Value: " + value, "-H", "Content-Type: text/plain",
                "-H", "User-Agent:", "-H", "Accept:", "--data-raw", text,
            ],
            arguments);
    }

    [Fact]
    public void A_body_that_is_not_in_the_coding_that_it_names_is_not_copied()
    {
        var capture = Sample.Asked(
            Sample.Store(), "POST", "/", """{"password":"hunter2"}""", ("Content-Type", "application/json"), ("Content-Encoding", "gzip"));
        foreach (var format in CopyFormats.All)
        {
            var (line, note) = CopyFormats.Write(format, CopySource.Of(capture, Origin, MaskingRules.BuiltIn));
            Assert.DoesNotContain("hunter2", line, StringComparison.Ordinal);
            Assert.Contains("could not be decoded", note, StringComparison.Ordinal);
        }
    }

    [Fact]
    public async Task Bytes_of_another_character_set_stay_what_they_are_beside_a_secret()
    {
        var capture = Sample.Asked(
            Sample.Store(), "GET", "/caf\u00e9?token=x", "", ("X-Value", "\u00e9"), ("Referer", "http://h/\u00e9?token=x"),
            ("User-Agent", "u"), ("Accept", "a"));
        var (line, _) = CopyFormats.Write("curl", CopySource.Of(capture, Origin, MaskingRules.BuiltIn));
        Assert.Equal(
            [
                "--globoff", "--path-as-is", Origin + "/caf\u00e9?token=***", "-H", "X-Value: \u00e9", "-H",
                "Referer: http://h/\u00e9?token=***", "-H", "User-Agent: u", "-H", "Accept: a",
            ],
            await RunAsync("bash", "curl", line));
    }

    [Theory]
    [MemberData(nameof(Nasty))]
    public async Task In_a_shell_without_that_quoting_nothing_runs(string text)
    {
        var capture = Sample.Asked(Sample.Store(), "POST", "/a", text, ("Content-Type", "text/plain"));
        var (line, _) = CopyFormats.Write("curl", CopySource.Of(capture, Origin, null));
        Assert.Single(await RunAsync("sh", "curl", line, ".*"), one => one == "--data-raw");
    }

    [Fact]
    public async Task A_body_with_a_zero_goes_by_way_of_a_pipe()
    {
        var capture = Sample.Asked(Sample.Store(), "POST", "/", "a\0b'$(x)", ("Content-Type", "application/octet-stream"));
        var (line, _) = CopyFormats.Write("curl", CopySource.Of(capture, Origin, null));
        Assert.StartsWith("printf %s 'YQBi", line, StringComparison.Ordinal);
        Assert.Equal("--data-binary", (await RunAsync("bash", "curl", line, "the pipe has no reader"))[^2]);
    }

    [Fact]
    public async Task Methods_fields_and_targets_that_look_like_something_else()
    {
        var capture = Sample.Asked(
            Sample.Store(), "-X$`'", "//evil/../{a,b}[1-9]", "", ("-o", "pwned"), ("Empty", ""), ("User-Agent", "u"), ("Accept", "a"));
        var (line, _) = CopyFormats.Write("curl", CopySource.Of(capture, Origin, null));
        Assert.Equal(
            [
                "--globoff", "--path-as-is", "-X", "-X$`'", Origin + "//evil/../{a,b}[1-9]", "-H", "-o: pwned", "-H", "Empty;", "-H",
                "User-Agent: u", "-H", "Accept: a",
            ],
            await RunAsync("bash", "curl", line));
    }

    [Fact]
    public async Task A_length_of_zero_is_sent_because_some_services_ask_for_one()
    {
        var empty = Sample.Asked(Sample.Store(), "POST", "/", "", ("Content-Length", "0"), ("User-Agent", "u"), ("Accept", "a"));
        var (line, _) = CopyFormats.Write("curl", CopySource.Of(empty, Origin, null));
        Assert.Equal(
            ["--globoff", "--path-as-is", "-X", "POST", Origin + "/", "-H", "Content-Length: 0", "-H", "User-Agent: u", "-H", "Accept: a"],
            await RunAsync("bash", "curl", line));
        var full = CopySource.Of(Sample.Asked(Sample.Store(), "POST", "/", "ab", ("Content-Length", "2")), Origin, null);
        Assert.DoesNotContain("Content-Length", CopyFormats.Write("curl", full).Text, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(NastyUtf8))]
    public async Task An_httpie_line_gives_its_bytes(string text)
    {
        var value = text.ReplaceLineEndings(" ").Trim();
        var capture = Sample.Asked(Sample.Store(), "PUT", "/a", text, ("X-Value", value));
        var (line, note) = CopyFormats.Write("httpie", CopySource.Of(capture, Origin, null));
        Assert.Null(note);
        var item = value[0] is '@' ? "X-Value:\\" + value : "X-Value:" + value;
        Assert.Equal(
            [
                "--path-as-is", "--ignore-stdin", "--raw=" + text, "PUT", Address + "/a", "--", "Host:web.localhost:12000", item, "Accept:",
                "Content-Type:",
            ],
            await RunAsync("bash", "http", line));
    }

    [Fact]
    public void Httpie_says_what_it_cannot_send()
    {
        foreach (var method in new[] { "M-SEARCH", "get" })
        {
            Assert.Equal("", CopyFormats.Write("httpie", CopySource.Of(Sample.Asked(Sample.Store(), method), Origin, null)).Text);
        }

        var value = Sample.Asked(Sample.Store(), fields: ("X", "a\\:b"));
        var (text, note) = CopyFormats.Write("httpie", CopySource.Of(value, Origin, null));
        Assert.DoesNotContain("X:", text, StringComparison.Ordinal);
        Assert.Contains("left out: X", note, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("/a-._~!$&'()*+,/:;=?@", true)]
    [InlineData("/%C3%A9%2F%25%7F?a=%5B%00", true)]
    [InlineData("/a|b", false)]
    [InlineData("/%s", false)]
    [InlineData("/a%", false)]
    [InlineData("/a%2", false)]
    [InlineData("/%c3%a9", false)]
    [InlineData("/?a=%2D", false)]
    [InlineData("/?a=%41%7A", false)]
    [InlineData("/a?", false)]
    [InlineData("/a;", false)]
    [InlineData("/a;?x", false)]
    [InlineData("/;a?x;", true)]
    public void A_note_says_where_httpie_writes_the_target_in_another_way(string target, bool isSentAsItIs)
    {
        var (text, note) = CopyFormats.Write("httpie", CopySource.Of(Sample.Asked(Sample.Store(), "GET", target), Origin, null));
        Assert.NotEqual("", text);
        Assert.Equal(isSentAsItIs, note is null);
    }

    [Fact]
    public void Httpie_gets_no_argument_that_is_not_utf8()
    {
        var capture = Sample.Asked(Sample.Store(), "POST", "/\u00c3\u00a9", "\u00e9", ("X-Other", "\u00e9"), ("Accept", "a"));
        var (text, note) = CopyFormats.Write("httpie", CopySource.Of(capture, Origin, null));
        Assert.Equal(
            $"printf %s '6Q==' | base64 -d | http --path-as-is 'POST' $'{Address}/\\xc3\\xa9' -- 'Host:web.localhost:12000' 'Accept:a' "
                + "'Content-Type:'",
            text);
        Assert.Contains("left out: X-Other", note, StringComparison.Ordinal);
        Assert.Contains("%XX", note, StringComparison.Ordinal);
        var target = Sample.Asked(Sample.Store(), "GET", "/\u00e9");
        Assert.Equal("", CopyFormats.Write("httpie", CopySource.Of(target, Origin, null)).Text);
    }

    [Fact]
    public void A_body_that_is_withheld_is_said_to_be_left_out()
    {
        var capture = Sample.Asked(
            Sample.Store(), "POST", "/", "a\0b", ("Content-Type", "application/x-www-form-urlencoded"));
        foreach (var format in CopyFormats.All)
        {
            var (text, note) = CopyFormats.Write(format, CopySource.Of(capture, Origin, MaskingRules.BuiltIn));
            Assert.DoesNotContain("YQBi", text, StringComparison.Ordinal);
            Assert.Contains("left out", note, StringComparison.Ordinal);
        }
    }

    [Fact]
    public void A_note_says_that_a_request_for_another_protocol_is_copied_without_it()
    {
        var block = Sample.Block("GET", "/chat", HeaderBlockFlags.Upgrade, ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"));
        foreach (var format in CopyFormats.All)
        {
            var (text, note) = CopyFormats.Write(format, CopySource.Of(Sample.Store().Begin(block)!, Origin, null));
            Assert.DoesNotContain("Upgrade", text, StringComparison.Ordinal);
            Assert.Equal("the request for another protocol is left out", note);
        }
    }

    [Fact]
    public void A_name_that_the_system_can_resolve_stays_in_the_url()
    {
        var capture = Sample.Asked(Sample.Store(), "GET", "/a", "", ("Host", "web.localhost:12000"));
        foreach (var origin in new[] { "https://web.localhost:12000", "http://web.example.org" })
        {
            var line = CopyFormats.Write("httpie", CopySource.Of(capture, origin, null)).Text;
            Assert.Contains(origin + "/a", line, StringComparison.Ordinal);
        }

        var (text, _) = CopyFormats.Write("csharp", CopySource.Of(capture, "http://other.localhost:12000", null));
        Assert.Contains("http://127.0.0.1:12000/a", text, StringComparison.Ordinal);
        Assert.Contains("(\"Host\", \"web.localhost:12000\")", text, StringComparison.Ordinal);
        Assert.DoesNotContain("other", text, StringComparison.Ordinal);
    }

    [Fact]
    public void Csharp_sends_bytes_beyond_ascii_or_says_how()
    {
        var capture = Sample.Asked(Sample.Store(), "GET", "/\u00e9?a", "", ("X-Other", "\u00c3\u00a9"));
        var (code, note) = CopyFormats.Write("csharp", CopySource.Of(capture, Origin, null));
        Assert.Contains("new Uri(\"http://127.0.0.1:12000/%E9?a\"", code, StringComparison.Ordinal);
        Assert.Contains("(\"Host\", \"web.localhost:12000\")", code, StringComparison.Ordinal);
        Assert.Contains("Latin1", code, StringComparison.Ordinal);
        Assert.Contains("\"X-Other\", \"\\u00c3\\u00a9\"", code, StringComparison.Ordinal);
        Assert.Contains("%XX", note, StringComparison.Ordinal);
        var plain = CopyFormats.Write("csharp", CopySource.Of(Sample.Asked(Sample.Store(), "GET", "/a"), Origin, null));
        Assert.DoesNotContain("Latin1", plain.Text, StringComparison.Ordinal);
        Assert.Null(plain.Note);
    }

    [Fact]
    public void Csharp_gives_fields_of_a_body_to_a_content_also_where_there_is_no_body()
    {
        var capture = Sample.Asked(Sample.Store(), "DELETE", "/", "", ("Content-Type", "a/b"), ("X-Value", "1"));
        var (code, note) = CopyFormats.Write("csharp", CopySource.Of(capture, Origin, null));
        Assert.Contains("request.Content = new", code, StringComparison.Ordinal);
        Assert.Contains("request.Content.Headers.TryAddWithoutValidation(\"Content-Type\", \"a/b\")", code, StringComparison.Ordinal);
        Assert.Null(note);
        var plain = Sample.Asked(Sample.Store(), "DELETE", "/", "", ("X-Value", "1"));
        var request = CopyFormats.Write("csharp", CopySource.Of(plain, Origin, null)).Text.Split("using var response")[0];
        Assert.DoesNotContain("Content", request, StringComparison.Ordinal);
    }

    [Fact]
    public void Csharp_says_which_names_and_methods_change()
    {
        var capture = Sample.Asked(Sample.Store(), "get", "/", "", ("X-Value", "1"), ("x-value", "2"));
        var (_, note) = CopyFormats.Write("csharp", CopySource.Of(capture, Origin, null));
        Assert.Contains("capitals", note, StringComparison.Ordinal);
        Assert.Contains("joins fields", note, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Nasty))]
    public void Csharp_is_plain_ascii_in_one_literal_each(string text)
    {
        var capture = Sample.Asked(Sample.Store(), "POST", "/a", text, ("X-Value", text.ReplaceLineEndings(" ")));
        var (code, _) = CopyFormats.Write("csharp", CopySource.Of(capture, Origin, null));
        Assert.All(code, one => Assert.True(one is '\n' or (>= ' ' and <= '~'), $"{(int)one:x}"));
        var body = System.Text.Unicode.Utf8.IsValid(Sample.Bytes(text)) ? "GetBytes(\"" : "FromBase64String(\"";
        Assert.Contains(body, code, StringComparison.Ordinal);
    }

    [Fact]
    public void Secrets_are_masked_and_the_tunnel_s_own_fields_are_left_out()
    {
        var capture = Sample.Asked(
            Sample.Store(), "POST", "/?token=abc", "{\"password\":\"hunter2\"}", ("Host", "web.localhost:12000"),
            ("Authorization", "Bearer abc"), ("Content-Length", "22"), ("X-Forwarded-For", "1.2.3.4"), ("Forwarded", "for=1.2.3.4"),
            ("Content-Type", "application/json"));
        foreach (var format in CopyFormats.All)
        {
            var (text, note) = CopyFormats.Write(format, CopySource.Of(capture, Origin, MaskingRules.BuiltIn));
            Assert.DoesNotContain("abc", text, StringComparison.Ordinal);
            Assert.DoesNotContain("hunter2", text, StringComparison.Ordinal);
            Assert.DoesNotContain("1.2.3.4", text, StringComparison.Ordinal);
            Assert.DoesNotContain("Content-Length", text, StringComparison.Ordinal);
            Assert.Equal(format != "curl", text.Contains("Host", StringComparison.Ordinal));
            Assert.Contains("masked", note, StringComparison.Ordinal);
            Assert.Contains("hunter2", CopyFormats.Write(format, CopySource.Of(capture, Origin, null)).Text, StringComparison.Ordinal);
        }
    }

    /// <summary>What the program got, as Latin-1; fails when anything else ran.</summary>
    private static async Task<string[]> RunAsync(string shell, string program, string line, string allowed = "")
    {
        var folder = Directory.CreateTempSubdirectory("tunnel2-copy-");
        try
        {
            var start = new ProcessStartInfo(shell)
            {
                RedirectStandardInput = true,
                RedirectStandardOutput = true,
                RedirectStandardError = true,
                WorkingDirectory = folder.FullName,
                StandardOutputEncoding = Encoding.Latin1,
                StandardInputEncoding = Encoding.Latin1,
            };
            start.Environment["LC_ALL"] = "C";
            using var process = Process.Start(start)!;
            await process.StandardInput.WriteAsync($"{program}() {{ for a in \"$@\"; do printf '%s\\0' \"$a\"; done; }}\n{line}\n");
            process.StandardInput.Close();
            var output = process.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken);
            var errors = await process.StandardError.ReadToEndAsync(TestContext.Current.CancellationToken);
            await process.WaitForExitAsync(TestContext.Current.CancellationToken);
            Assert.True(allowed.Length > 0 || errors.Length == 0, errors);
            Assert.Empty(Directory.GetFileSystemEntries(folder.FullName));
            return (await output).Split('\0', StringSplitOptions.RemoveEmptyEntries);
        }
        finally
        {
            folder.Delete(recursive: true);
        }
    }
}
