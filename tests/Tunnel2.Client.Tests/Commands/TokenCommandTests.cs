using System.Text.Json;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Commands;

public sealed class TokenCommandTests : IDisposable
{
    private const string Made =
        """
        {"token":"t2_abc","info":{"name":"ci","agent":"build","names":["ci-*","web"],"tier":"pro","created":"2026-01-01T00:00:00Z",
        "expires":"2030-01-31T00:00:00Z","expired":false,"sessions":0}}
        """;

    private const string Refused =
        """{"type":"urn:x","title":"Unauthorized","status":401,"detail":"A token is needed.","code":"unauthorized"}""";

    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("tunnel2-test-");
    private readonly StringWriter _output = new() { NewLine = "\n" };
    private readonly StringWriter _error = new() { NewLine = "\n" };
    private readonly Dictionary<string, string> _variables = [];
    private string _head = "";
    private string _body = "";

    public void Dispose()
    {
        _output.Dispose();
        _error.Dispose();
        _folder.Delete(recursive: true);
    }

    [Fact]
    public async Task A_token_is_made_as_the_flags_say_and_shown()
    {
        await using RawTcpServer server = Serve("201 Created", Made);
        _variables["TUNNEL2_ADMIN_TOKEN"] = "admin-secret";
        _variables["TUNNEL2_ADMIN_URL"] = $"http://127.0.0.1:{server.Port}";
        Assert.Equal(0, await RunAsync(
            "token create --keep --name ci --agent build --names ci-*,web --tier pro --expires 2030-01-31"));
        Assert.StartsWith("POST /api/v1/tokens HTTP/1.1\r\n", _head, StringComparison.Ordinal);
        Assert.Contains("Authorization: Bearer admin-secret\r\n", _head, StringComparison.Ordinal);
        using JsonDocument sent = JsonDocument.Parse(_body);
        Assert.Equal(
            """{"name":"ci","names":["ci-*","web"],"agent":"build","tier":"pro","expires":"2030-01-31T00:00:00+00:00"}""",
            sent.RootElement.GetRawText().Replace("\\u002B", "+", StringComparison.Ordinal));
        Assert.Contains("\n  t2_abc\n", _output.ToString(), StringComparison.Ordinal);
        Assert.Contains(
            "Agent build, names ci-*, web, tier pro, until 2030-01-31 00:00:00Z.\n", _output.ToString(), StringComparison.Ordinal);
        Assert.Empty(_error.ToString());
    }

    [Fact]
    public async Task Tokens_are_listed_as_a_table_or_as_the_servers_own_JSON()
    {
        const string List =
            """
            {"tokens":[{"name":"ci","agent":"ci","names":["ci","\u001b[31m"],"created":"2026-01-01T00:00:00Z","expired":true,"sessions":2}]}
            """;
        await using RawTcpServer server = Serve("200 OK", List);
        Assert.Equal(0, await RunAsync($"token list --admin http://127.0.0.1:{server.Port}"));
        string[] lines = _output.ToString().Split('\n');
        Assert.Matches("^NAME +AGENT +NAMES +TIER +ENDS +LAST USED +SESSIONS$", lines[0]);
        Assert.Matches("^ci +ci +ci,.+ +– +expired +never +2$", lines[1]);
        Assert.DoesNotContain('\u001b', _output.ToString());
        _output.GetStringBuilder().Clear();
        Assert.Equal(0, await RunAsync($"token list --json --admin http://127.0.0.1:{server.Port}"));
        using JsonDocument json = JsonDocument.Parse(_output.ToString());
        Assert.Equal("ci", json.RootElement.GetProperty("tokens")[0].GetProperty("name").GetString());
    }

    [Fact]
    public async Task A_token_is_revoked_by_its_name()
    {
        await using RawTcpServer server = Serve("200 OK", """{"name":"a b","sessionsEnded":3}""");
        Assert.Equal(0, await AgentCli.RunAsync(
            ["token", "revoke", "a b", "--admin", $"http://127.0.0.1:{server.Port}/"], Variable,
            static _ => throw new InvalidOperationException("must not run"), _output, _error, CancellationToken.None));
        Assert.StartsWith("DELETE /api/v1/tokens/a%20b HTTP/1.1\r\n", _head, StringComparison.Ordinal);
        Assert.Equal("a b is revoked; 3 sessions were ended\n", _output.ToString());
    }

    [Theory]
    [InlineData(null, "its admin token belongs in TUNNEL2_ADMIN_TOKEN, or in a file: --admin-token-file FILE")]
    [InlineData("wrong-secret", "the token of TUNNEL2_ADMIN_TOKEN or --admin-token-file is not that of Admin:Token")]
    public async Task A_missing_or_wrong_admin_token_is_said(string? token, string words)
    {
        await using RawTcpServer server = Serve("401 Unauthorized", Refused);
        string file = Path.Combine(_folder.FullName, "token");
        await File.WriteAllTextAsync(file, token + "\n", TestContext.Current.CancellationToken);
        Assert.Equal(3, await RunAsync(
            $"token list --admin http://127.0.0.1:{server.Port}" + (token is null ? "" : $" --admin-token-file {file}")));
        Assert.Contains($"127.0.0.1:{server.Port} refused: A token is needed. [unauthorized]; {words}", _error.ToString(),
            StringComparison.Ordinal);
        Assert.DoesNotContain("wrong-secret", _error.ToString(), StringComparison.Ordinal);
        Assert.Equal(token is not null, _head.Contains("Bearer wrong-secret", StringComparison.Ordinal));
    }

    [Fact]
    public async Task An_admin_API_that_is_not_there_is_said()
    {
        int port;
        await using (RawTcpServer gone = RawTcpServer.StartAnswering(""))
        {
            port = gone.Port;
        }

        Assert.Equal(4, await RunAsync($"token list --admin http://127.0.0.1:{port}"));
        Assert.Contains($"no admin listener of a server answers at 127.0.0.1:{port}: ", _error.ToString(), StringComparison.Ordinal);
        Assert.Contains("--admin URL", _error.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("200 OK", "hello", "is no Tunnel2 server")]
    [InlineData("200 OK", "[]", "is no Tunnel2 server")]
    [InlineData("200 OK", """{"status":"ok"}""", "is no Tunnel2 server")]
    [InlineData("404 Not Found", "<html>", "it answered 404")]
    [InlineData("302 Found", "", "it answered 302")]
    [InlineData("500 No", """{"code":"\ud800","detail":"x"}""", "it answered 500")]
    public async Task Another_server_is_none(string status, string body, string words)
    {
        await using RawTcpServer server = Serve(status, body);
        Assert.Equal(4, await RunAsync($"token list --admin http://127.0.0.1:{server.Port}"));
        Assert.Contains(words, _error.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("""{"tokens":[1,null,[],"x"]}""")]
    [InlineData("""{"tokens":[{"name":1,"names":[{}],"expires":[],"lastUsed":"x","sessions":"y"}]}""")]
    [InlineData("""{"tokens":[{"name":"\ud800"}]}""")]
    public async Task What_no_server_would_say_ends_no_command(string body)
    {
        await using RawTcpServer server = Serve("200 OK", body);
        Assert.Equal(0, await RunAsync($"token list --admin http://127.0.0.1:{server.Port}"));
    }

    [Theory]
    [InlineData("token create", "--name: is missing")]
    [InlineData("token create --name a --expires soon", "--expires: is 90m, 12h, 30d")]
    [InlineData("token create a", "'a': not understood")]
    [InlineData("token revoke", "say which token")]
    [InlineData("token list --admin 127.0.0.1:12002", "--admin: is the URL")]
    [InlineData("token list --admin ftp://127.0.0.1", "--admin: is the URL")]
    [InlineData("token list --admin http://user:secret@127.0.0.1", "--admin: is the URL")]
    [InlineData("token list --admin http://127.0.0.1/api", "--admin: is the URL")]
    [InlineData("token list --admin-token-file /none/there", "--admin-token-file: cannot be read")]
    [InlineData("token lst", "'token lst' is not a command, did you mean 'token list'?")]
    [InlineData("token", "'token' needs one of these after it: create, list, revoke")]
    [InlineData("token list --jsno", "--jsno: unknown flag, did you mean --json?")]
    public async Task A_wrong_command_line_asks_no_server(string line, string words)
    {
        Assert.Equal(2, await RunAsync(line));
        Assert.Contains(words, _error.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain("secret@", _error.ToString(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("http://192.0.2.1:12002", "admin-secret", "unencrypted")]
    [InlineData("http://entry.example:12002", "admin-secret", "unencrypted")]
    [InlineData("https://entry.example", "with space", "visible ASCII")]
    public async Task The_admin_token_leaves_the_machine_only_encrypted_and_is_never_shown(string address, string token, string words)
    {
        _variables["TUNNEL2_ADMIN_TOKEN"] = token;
        _variables["TUNNEL2_ADMIN_URL"] = address;
        Assert.Equal(2, await RunAsync("token list"));
        Assert.Contains(words, _error.ToString(), StringComparison.Ordinal);
        Assert.DoesNotContain(token, _error.ToString(), StringComparison.Ordinal);
    }

    private string? Variable(string name) => _variables.GetValueOrDefault(name);

    private Task<int> RunAsync(string line) => AgentCli.RunAsync(
        line.Split(' '), Variable, static _ => throw new InvalidOperationException("must not run"), _output, _error,
        CancellationToken.None);

    /// <summary>A server that keeps what it is asked, and gives one answer.</summary>
    private RawTcpServer Serve(string status, string body) => RawTcpServer.Start(async connection =>
    {
        _head = await connection.ReadThroughAsync("\r\n\r\n");
        int length = _head.Split("\r\n").FirstOrDefault(
            static field => field.StartsWith("Content-Length: ", StringComparison.OrdinalIgnoreCase)) is { } field
                ? int.Parse(field.Split(' ')[1], System.Globalization.CultureInfo.InvariantCulture)
                : 0;
        _body = length > 0 ? System.Text.Encoding.UTF8.GetString(await connection.ReadExactlyAsync(length)) : "";
        await connection.WriteAsync(
            $"HTTP/1.1 {status}\r\nContent-Length: {System.Text.Encoding.UTF8.GetByteCount(body)}\r\nConnection: close\r\n\r\n{body}");
        await connection.WaitForEndAsync();
    });
}
