using System.Text.Json;

namespace Tunnel2.Client.Tests.Commands;

public sealed class PolicyTestCommandTests : IDisposable
{
    private const string Rows =
        """
        [
          { "path": "/health", "method": "GET", "allow": true },
          { "path": "/admin/**", "address": "10.0.0.0/8", "allow": true },
          { "path": "/admin/**", "deny": true },
          { "path": "/old/**", "redirect": "https://new.example.com", "keep-path": true },
          { "header": { "X-Key": "k1" }, "set-request-header": { "X-Role": "s3cret" }, "body-limit": "1KB", "timeout": "5s",
            "rate-limit": { "rate": "10/minute", "per-header": "X-Key" } },
          { "country": "DE", "answer": { "status": 451 } }
        ]
        """;

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");
    private readonly StringWriter _output = new() { NewLine = "\n" };
    private readonly StringWriter _error = new() { NewLine = "\n" };

    private string FileName => Path.Combine(_folder.FullName, "policy.json");

    public void Dispose()
    {
        _output.Dispose();
        _error.Dispose();
        _folder.Delete(recursive: true);
    }

    [Fact]
    public async Task It_says_row_by_row_what_happens_and_why()
    {
        Assert.Equal(5, await RunAsync(Rows, "--request", "GET /a/..%2fADMIN/x", "--address", "198.51.100.7"));
        Assert.Equal(
            """
            row 1: no match: the path /a/../ADMIN/x is not /health
            row 2: no match: the path is not /admin/** in each way in which a service may read it, and 'allow' wants that
            row 3: matches: deny (403 policy-denied)
            rows 4 to 6: not looked at
            The request does not reach the service.

            """.ReplaceLineEndings("\n"),
            _output.ToString());
    }

    [Theory]
    [InlineData(0, "a row allows it", "HEAD /health")]
    [InlineData(0, "no row stops it", "/")]
    [InlineData(5, "redirect (302) to https://new.example.com/old/a?b=c", "POST /old/a?b=c")]
    [InlineData(0, "row 2: matches: allow", "/admin/x", "--address", "10.1.2.3")]
    [InlineData(5, "row 2: no match: the address (not known) is not in 10.0.0.0/8", "/admin/x")]
    [InlineData(5, "row 6: matches: answer (451", "/", "--country", "de")]
    [InlineData(0, "the country XX is not DE", "/")]
    [InlineData(0, "Set X-Role of the request; at most 10/minute, 10 at once, for each X-Key; a body", "/", "--header", "x-key: k1")]
    [InlineData(0, "a body of at most 1024 bytes; the answer begins within 5 s", "/", "--header", "x-key: k1")]
    [InlineData(5, "and it has 1025 (413 request-body-too-large)", "POST /", "--header", "X-Key: k1", "--body", "1025")]
    public async Task Flags_describe_the_request(int exitCode, string words, string request, params string[] flags)
    {
        Assert.Equal(exitCode, await RunAsync(Rows, ["--request", request, .. flags]));
        Assert.Contains(words, _output.ToString(), StringComparison.OrdinalIgnoreCase);
        Assert.DoesNotContain("s3cret", _output.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("POST /denied", "row 2: matches: deny (403 policy-denied)")]
    [InlineData("POST /answered", "row 3: matches: answer (200")]
    public async Task A_body_that_is_too_large_is_judged_after_the_walk_as_the_server_does(string request, string words)
    {
        const string LimitFirst =
            """[ { "body-limit": 10 }, { "path": "/denied", "deny": true }, { "path": "/answered", "answer": {} }, { "timeout": "9s" } ]""";
        Assert.Equal(5, await RunAsync(LimitFirst, "--request", request, "--body", "11"));
        Assert.Contains("row 1: matches: a body of at most 10 bytes, and it has 11\n", _output.ToString(), StringComparison.Ordinal);
        Assert.Contains(words, _output.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("413", _output.ToString(), StringComparison.Ordinal);

        Assert.Equal(5, await RunAsync(LimitFirst, "--request", "POST /", "--body", "11"));
        Assert.Contains("and it has 11 (413 request-body-too-large)\n", _output.ToString(), StringComparison.Ordinal);
        Assert.Contains("row 4: matches: the answer begins within 9 s\n", _output.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(5, "--body", "1")]
    [InlineData(5, "--body", "0")]
    [InlineData(0, "--body", "1", "--header", "Transfer-Encoding: chunked")]
    [InlineData(0)]
    public async Task A_body_has_a_declared_length_unless_it_comes_in_chunks(int exitCode, params string[] flags) => Assert.Equal(
        exitCode,
        await RunAsync("""[ { "header": { "Content-Length": true }, "deny": true } ]""", ["--request", "POST /", .. flags]));

    [Theory]
    [InlineData(0, "X-Key: k1", "Connection: close, x-KEY")]
    [InlineData(0, "X-Key: k1", "Connection: close", "connection: X-Key")]
    [InlineData(0, "Authorization: Bearer x", "Connection: Authorization")]
    [InlineData(5, "X-Key: k1", "Connection: close, X-Keys")]
    [InlineData(5, "Host: a.example.com", "Connection: Host")]
    [InlineData(5, "Content-Length: 2", "Connection: Content-Length")]
    public async Task A_header_of_one_connection_is_none_of_the_request_as_at_the_server(int exitCode, params string[] headers)
    {
        const string Deny =
            """
            [
              { "header": { "X-Key": true }, "deny": true }, { "header": { "Authorization": true }, "deny": true },
              { "header": { "Host": "a.example.com" }, "deny": true }, { "header": { "Content-Length": true }, "deny": true }
            ]
            """;
        var flags = headers.SelectMany(static header => (string[])["--header", header]);
        Assert.Equal(exitCode, await RunAsync(Deny, ["--request", "POST /", .. flags]));
    }

    [Fact]
    public async Task Json_has_the_same()
    {
        Assert.Equal(5, await RunAsync(Rows, "--request", "/admin", "--json"));
        var json = JsonDocument.Parse(_output.ToString()).RootElement;
        Assert.False(json.GetProperty("reachesService").GetBoolean());
        var rows = json.GetProperty("rows").EnumerateArray().ToArray();
        Assert.Equal([false, false, true], rows.Select(static row => row.GetProperty("matches").GetBoolean()));
        Assert.Equal("deny (403 policy-denied)", rows[2].GetProperty("why").GetString());
    }

    [Theory]
    [InlineData("--request", "GET admin")]
    [InlineData("--request", "GET /a b")]
    [InlineData("--request", "GET /a#b")]
    [InlineData("--request", "GET /a\\b")]
    [InlineData("--request", "/", "--header", "nonsense")]
    [InlineData("--request", "/", "--address", "host")]
    [InlineData("--request", "/", "--address", "010.0.0.1")]
    [InlineData("--request", "/", "--address", "10.1")]
    [InlineData("--request", "/", "--country", "Germany")]
    [InlineData("--request", "/", "--body", "-1")]
    [InlineData("--reqest", "/")]
    [InlineData("--json")]
    public async Task A_mistake_on_the_command_line_is_exit_code_2(params string[] words)
    {
        Assert.Equal(2, await RunAsync(Rows, words));
        Assert.NotEmpty(_error.ToString());
        Assert.Empty(_output.ToString());
    }

    [Fact]
    public async Task All_mistakes_of_the_policy_come_at_once()
    {
        Assert.Equal(2, await RunAsync("[\n{ \"path\": \"a\", \"deny\": true },\n{ \"timeout\": \"0s\" } ]", "--request", "/"));
        Assert.Equal(2, _error.ToString().Split('\n', StringSplitOptions.RemoveEmptyEntries).Length);
        Assert.Contains("policy.json: row 2 (line 3): timeout", _error.ToString(), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_file_that_is_not_there_is_exit_code_1() => Assert.Equal(1, await RunAsync(null, "--request", "/"));

    private async Task<int> RunAsync(string? text, params string[] words)
    {
        if (text is not null)
        {
            await File.WriteAllTextAsync(FileName, text, TestContext.Current.CancellationToken);
        }

        return await AgentCli.RunAsync(
            ["policy", "test", FileName, .. words],
            static _ => null,
            static _ => throw new InvalidOperationException("must not run"),
            _output,
            _error,
            CancellationToken.None);
    }
}
