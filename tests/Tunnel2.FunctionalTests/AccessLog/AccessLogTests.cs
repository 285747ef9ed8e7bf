using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.AccessLog;

public sealed class AccessLogTests : IDisposable
{
    private readonly TemporaryFolder _folder = new();

    private string FilePath => _folder["access.log"];

    [Fact]
    public Task Every_request_has_its_line_with_what_became_of_it() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            // On one connection, so that the lines are in the order of the requests.
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.ExchangeAsync("/bytes/1000?secret=1", TunnelFixture.Host);
            await visitor.ExchangeAsync("/status/404", TunnelFixture.Host, "DELETE");
            await visitor.ExchangeAsync("/", "nobody.example");

            var lines = await ReadLinesAsync(3);

            Assert.Equal("web", Text(lines[0], "name"));
            Assert.Equal("127.0.0.1", Text(lines[0], "visitor"));
            Assert.Equal("/bytes/1000", Text(lines[0], "path"));
            Assert.Equal(200, lines[0].GetProperty("status").GetInt32());
            Assert.Equal(1000, lines[0].GetProperty("bytes_out").GetInt64());
            Assert.InRange(lines[0].GetProperty("ttfb_ms").GetDouble(), 0.001, lines[0].GetProperty("duration_ms").GetDouble());
            Assert.Equal(tunnel.Entry.Session.DisplayId, Text(lines[0], "session"));
            Assert.Equal(0, lines[0].GetProperty("uplink").GetInt32());
            Assert.Equal("DELETE", Text(lines[1], "method"));
            Assert.Equal(404, lines[1].GetProperty("status").GetInt32());
            Assert.Equal("completed", Text(lines[1], "outcome"));
            Assert.Equal("nobody.example", Text(lines[2], "host"));
            Assert.Equal("unknown-host", Text(lines[2], "error"));
            Assert.Equal("error", Text(lines[2], "outcome"));
        },
        Setup());

    [Theory]
    [InlineData("127.0.0.1", "203.0.113.9, 198.51.100.7, 192.0.2.1")]
    [InlineData("192.0.2.1", null)]
    public Task What_a_trusted_proxy_says_of_the_visitor_is_in_its_line(string trusted, string? expected) => TunnelFixture.RunAsync(
        async tunnel =>
        {
            const string Fields = "X-Forwarded-For: 203.0.113.9\r\nx-forwarded-for: 198.51.100.7, 192.0.2.1\r\n";
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.ExchangeAsync("/bytes/1", TunnelFixture.Host, fields: Fields);
            await visitor.ExchangeAsync("/bytes/1", TunnelFixture.Host);

            // The error of a request that went nowhere has it as well.
            await visitor.ExchangeAsync("/", "nobody.localhost", fields: Fields);

            var lines = await ReadLinesAsync(3);
            Assert.Equal(expected, ForwardedFor(lines[0]));
            Assert.Null(ForwardedFor(lines[1]));
            Assert.Equal(expected, ForwardedFor(lines[2]));
        },
        new TunnelSetup
        {
            Settings = ["AccessLog:Mode=full", $"AccessLog:Path={FilePath}", $"TrustedProxies={trusted}", "Timeouts:Park=100ms"],
        });

    [Theory]
    [InlineData("GET http://user:secret@web.localhost/ HTTP/1.1\r\nHost: web.localhost\r\n\r\n")]
    [InlineData("GET /?token=secret HTTP/1.1\r\nHost: user:secret@web.localhost\r\n\r\n")]
    [InlineData("GET /#token=secret HTTP/1.1\r\nHost: nobody.localhost\r\n\r\n")]
    [InlineData(
        "GET / HTTP/1.1\r\nHost: nobody.localhost\r\nReferer: http://a/?token=secret\r\nCookie: a=secret\r\n"
            + "Authorization: Bearer secret\r\n\r\n")]
    public Task No_secret_of_a_request_is_in_its_line_or_in_the_servers_log(string request) => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync(request);
            await visitor.ReadHeadAsync();
            await ReadLinesAsync(1);
            Assert.DoesNotContain("secret", await File.ReadAllTextAsync(FilePath), StringComparison.Ordinal);
            Assert.DoesNotContain(tunnel.Entry.Log.All, static line => line.Text.Contains("secret", StringComparison.Ordinal));
        },
        Setup());

    [Fact]
    public async Task A_request_that_failed_has_the_id_of_its_log_line()
    {
        using var port = new RefusedPort();
        await TunnelFixture.RunAsync(port.Port, AssertIdsAsync, Setup());

        async Task AssertIdsAsync(TunnelFixture tunnel)
        {
            await using var visitor = await tunnel.ConnectAsync();
            for (var i = 0; i < 2; i++)
            {
                await visitor.ExchangeAsync("/", TunnelFixture.Host);
            }

            var lines = await ReadLinesAsync(2);

            var told = tunnel.Entry.Log.All.Where(static line => line.EventId == 2100).Select(static line => line.Text).ToArray();
            Assert.Equal(2, told.Length);
            Assert.All(lines, line => Assert.Contains(told, text => text.Contains(Text(line, "request_id"), StringComparison.Ordinal)));
            Assert.All(lines, static line => Assert.Equal("backend-refused", Text(line, "error")));
            Assert.NotEqual(Text(lines[0], "request_id"), Text(lines[1], "request_id"));
        }
    }

    [Fact]
    public Task A_disk_that_is_full_disturbs_no_request() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            Assert.SkipUnless(File.Exists("/dev/full"), "Needs /dev/full (Linux).");
            for (var i = 0; i < 20; i++)
            {
                Assert.Equal(200, (await tunnel.ExchangeAsync("/bytes/10")).Head.StatusCode);
            }

            await tunnel.Entry.Log.WaitForAsync(2120);
            Assert.Single(tunnel.Entry.Log.All, static line => line.EventId == 2120);
        },
        new TunnelSetup { Settings = ["AccessLog:Mode=full", "AccessLog:Path=/dev/full"] });

    public void Dispose() => _folder.Dispose();

    private TunnelSetup Setup() => new() { Settings = ["AccessLog:Mode=full", $"AccessLog:Path={FilePath}", "Timeouts:Park=100ms"] };

    private static string? ForwardedFor(JsonElement line) =>
        line.TryGetProperty("forwarded_for", out var value) ? value.GetString()!.Replace("%20", " ", StringComparison.Ordinal) : null;

    private static string Text(JsonElement line, string member) => line.GetProperty(member).GetString()!;

    private async Task<List<JsonElement>> ReadLinesAsync(int count)
    {
        await WaitSignal.UntilAsync(
            () => File.Exists(FilePath) && File.ReadAllText(FilePath).Count(static c => c == '\n') == count, "the lines are there");
        return [.. File.ReadLines(FilePath).Select(static line => JsonDocument.Parse(line).RootElement)];
    }
}
