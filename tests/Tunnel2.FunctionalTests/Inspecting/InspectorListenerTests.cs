using System.Diagnostics;
using System.Globalization;
using System.Net;
using System.Text;
using System.Text.Json;
using System.Text.RegularExpressions;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Inspecting;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Inspection.Capture;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Inspecting;

public sealed partial class InspectorListenerTests
{
    private const string Exchanges = "/api/v1/sessions/web/exchanges";
    private const string Token = "0123456789abcdef-token";

    [Fact]
    public Task Another_name_that_leads_here_is_refused_before_anything_is_looked_at() => InspectedTunnel.RunAsync(
        Mirror.ServeAsync,
        async inspected =>
        {
            await inspected.Tunnel.ExchangeAsync("/a");
            await inspected.EndedAsync(1);
            var port = inspected.EndPoint.Port;
            string[] strangers = [$"rebound.example:{port}", "127.0.0.1", $"127.0.0.1:{port + 1}", $"127.0.0.1.evil.example:{port}"];
            foreach (var host in strangers)
            {
                foreach (var path in new[] { "/", Exchanges, Exchanges + "/1", Exchanges + ".har" })
                {
                    Assert.Equal(403, (await inspected.RawAsync("GET", path, host)).Head.StatusCode);
                }

                var (replay, _) = await inspected.RawAsync("POST", Exchanges + "/1/replay", host, "Content-Length: 0\r\n");
                Assert.Equal(403, replay.StatusCode);
            }

            foreach (var host in new[] { $"127.0.0.1:{port}", $"localhost:{port}", $"[::1]:{port}" })
            {
                Assert.Equal(200, (await inspected.RawAsync("GET", Exchanges, host)).Head.StatusCode);
            }

            Assert.Null(inspected.Store.Find(2));
        });

    [Fact]
    public Task A_page_of_another_origin_changes_nothing() => InspectedTunnel.RunAsync(Mirror.ServeAsync, async inspected =>
    {
        await inspected.Tunnel.ExchangeAsync("/a");
        await inspected.EndedAsync(1);
        var host = $"127.0.0.1:{inspected.EndPoint.Port}";
        foreach (var fields in new[]
        {
            "Origin: http://evil.example\r\n", "Origin: null\r\n", "Origin: \r\n", "Sec-Fetch-Site: cross-site\r\n",
            $"Origin: http://{host}\r\nOrigin: http://evil.example\r\n", "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\n",
        })
        {
            var (replay, _) = await inspected.RawAsync("POST", Exchanges + "/1/replay", host, fields + "Content-Length: 0\r\n");
            Assert.Equal(403, replay.StatusCode);
            Assert.Equal(403, (await inspected.RawAsync("DELETE", Exchanges, host, fields)).Head.StatusCode);
            var (head, _) = await inspected.RawAsync("GET", Exchanges, host, fields);
            Assert.Equal(403, head.StatusCode);
            Assert.DoesNotContain("Access-Control", head.Text, StringComparison.OrdinalIgnoreCase);
        }

        Assert.Equal(403, (await inspected.RawAsync("OPTIONS", Exchanges, host, "Origin: http://evil.example\r\n")).Head.StatusCode);
        Assert.Null(inspected.Store.Find(2));
        Assert.NotNull(inspected.Store.Find(1));
        Assert.Equal(204, (await inspected.RawAsync("DELETE", Exchanges, host, $"Origin: http://{host}\r\n")).Head.StatusCode);
        Assert.Null(inspected.Store.Find(1));
    });

    /// <summary>A page that is loaded again and again leaves a wait behind each time, and there are 32 connections.</summary>
    [Fact]
    public Task Waits_of_callers_that_have_gone_take_no_connections() => InspectedTunnel.RunAsync(Mirror.ServeAsync, async inspected =>
    {
        var host = $"127.0.0.1:{inspected.EndPoint.Port}";
        using var list = JsonDocument.Parse((await inspected.RawAsync("GET", Exchanges, host)).Body.Text());
        var version = list.RootElement.GetProperty("version").GetInt64();
        for (var i = 0; i < 40; i++)
        {
            await using var caller = await RawHttpClient.ConnectAsync(inspected.EndPoint);
            await caller.WriteAsync($"GET {Exchanges}?since={version}&wait=25 HTTP/1.1\r\nHost: {host}\r\n\r\n");
        }

        var watch = Stopwatch.StartNew();
        Assert.Equal(200, (await inspected.RawAsync("GET", Exchanges, host)).Head.StatusCode);
        Assert.InRange(watch.Elapsed, TimeSpan.Zero, TimeSpan.FromSeconds(20));
    });

    [Theory]
    [InlineData("")]
    [InlineData("GET / HTTP/1.1\r\nHost: ")]
    [InlineData("POST /api/v1/sessions/web/exchanges/1/replay HTTP/1.1\r\nHost: {0}\r\nContent-Length: 9\r\n\r\n{{")]
    [InlineData("GET / HTTP/1.1\r\nHost: {0}\r\n\r\n")]
    [InlineData("GET /api/v1/sessions/web/exchanges?since=0&wait=25 HTTP/1.1\r\nHost: {0}\r\n\r\n")]
    public Task Callers_that_keep_their_connections_give_way_to_others(string sent) => InspectedTunnel.RunAsync(
        Mirror.ServeAsync,
        async inspected =>
        {
            var host = $"127.0.0.1:{inspected.EndPoint.Port}";
            var kept = new List<RawHttpClient>();
            for (var i = 0; i < 40; i++)
            {
                var caller = await RawHttpClient.ConnectAsync(inspected.EndPoint);
                kept.Add(caller);
                await caller.WriteAsync(string.Format(CultureInfo.InvariantCulture, sent, host));
            }

            var watch = Stopwatch.StartNew();
            Assert.Equal(200, (await inspected.RawAsync("GET", Exchanges, host)).Head.StatusCode);
            Assert.InRange(watch.Elapsed, TimeSpan.Zero, TimeSpan.FromSeconds(15));
            foreach (var caller in kept)
            {
                await caller.DisposeAsync();
            }
        });

    [Fact]
    public Task The_page_is_small_and_refers_to_nothing_elsewhere() => InspectedTunnel.RunAsync(Mirror.ServeAsync, async inspected =>
    {
        var host = $"127.0.0.1:{inspected.EndPoint.Port}";
        var (head, body) = await inspected.RawAsync("GET", "/", host);
        Assert.StartsWith("default-src 'none'; script-src 'self'", head["Content-Security-Policy"], StringComparison.Ordinal);
        Assert.Equal("nosniff", head["X-Content-Type-Options"]);
        var total = 0;
        var names = new Queue<string>(File().Matches(body.Text()).Select(match => match.Groups["name"].Value));
        var seen = new HashSet<string>();
        Assert.Contains("inspector.js", names);
        while (names.TryDequeue(out var name))
        {
            if (!seen.Add(name))
            {
                continue;
            }

            var (fileHead, file) = await inspected.RawAsync("GET", "/" + name, host);
            Assert.Equal(200, fileHead.StatusCode);
            total += file.Bytes.Length;
            var text = Encoding.UTF8.GetString(file.Bytes).Replace("http://www.w3.org/", "", StringComparison.Ordinal);
            Assert.DoesNotContain("://", text, StringComparison.Ordinal);
            Assert.DoesNotContain("innerHTML", text, StringComparison.Ordinal);
            Module().Matches(text).ToList().ForEach(match => names.Enqueue(match.Groups["name"].Value));
        }

        Assert.InRange(seen.Count, 7, 20);
        Assert.InRange(total, 1, 200_000);
        Assert.Equal(404, (await inspected.RawAsync("GET", "/../secret.js", host)).Head.StatusCode);
        Assert.Equal(405, (await inspected.RawAsync("PUT", "/", host, "Content-Length: 0\r\n")).Head.StatusCode);
        Assert.Empty((await inspected.RawAsync("HEAD", "/", host)).Body.Bytes);
    });

    [Fact]
    public Task What_services_send_is_never_a_page_of_this_origin() => InspectedTunnel.RunAsync(
        InspectedTunnel.Answering("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 24\r\n\r\n<script>alert()</script>"),
        async inspected =>
        {
            await inspected.Tunnel.ExchangeAsync("/<script>");
            await inspected.EndedAsync(1);
            var host = $"127.0.0.1:{inspected.EndPoint.Port}";
            var (head, _) = await inspected.RawAsync("GET", Exchanges + "/1/response/body", host);
            Assert.Equal("application/octet-stream", head["Content-Type"]);
            Assert.StartsWith("attachment", head["Content-Disposition"], StringComparison.Ordinal);
            var (_, json) = await inspected.RawAsync("GET", Exchanges + "/1", host);
            Assert.DoesNotContain("<", json.Text(), StringComparison.Ordinal);
        });

    [Fact]
    public Task A_har_file_comes_whole() => InspectedTunnel.RunAsync(Mirror.ServeAsync, async inspected =>
    {
        for (var i = 0; i < 20; i++)
        {
            await inspected.Tunnel.ExchangeAsync($"/{i}");
        }

        await inspected.EndedAsync(20);
        var (head, body) = await inspected.RawAsync("GET", Exchanges + ".har", $"127.0.0.1:{inspected.EndPoint.Port}");
        Assert.Equal((200, "chunked"), (head.StatusCode, head["Transfer-Encoding"]));
        using var har = JsonDocument.Parse(body.Bytes);
        var entries = har.RootElement.GetProperty("log").GetProperty("entries").EnumerateArray();
        Assert.Equal(
            Enumerable.Range(0, 20).Select(i => $"http://web.localhost:{inspected.Tunnel.Entry.Http.Port}/{i}"),
            entries.Select(entry => entry.GetProperty("request").GetProperty("url").GetString()));
    });

    [Theory]
    [InlineData("GET / HTTP/1.1\r\n\r\n", 400)]
    [InlineData("nonsense\r\n\r\n", 400)]
    [InlineData("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400)]
    [InlineData("POST /api/v1/login HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n", 413)]
    [InlineData("POST /api/v1/login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411)]
    public Task What_is_no_request_gets_an_answer_and_the_next_caller_is_served(string request, int status) => InspectedTunnel.RunAsync(
        Mirror.ServeAsync,
        async inspected =>
        {
            await using var visitor = await RawHttpClient.ConnectAsync(inspected.EndPoint);
            await visitor.WriteAsync(request);
            Assert.Equal(status, (await visitor.ReadHeadAsync()).StatusCode);
            Assert.Equal(200, (await inspected.RawAsync("GET", Exchanges, $"localhost:{inspected.EndPoint.Port}")).Head.StatusCode);
        });

    [Theory]
    [InlineData("HEAD / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")]
    [InlineData("HEAD /a b HTTP/1.1\r\nHost: a\r\n\r\n")]
    public Task A_refused_HEAD_gets_no_body(string request) => InspectedTunnel.RunAsync(
        Mirror.ServeAsync,
        async inspected =>
        {
            await using var visitor = await RawHttpClient.ConnectAsync(inspected.EndPoint);
            await visitor.WriteAsync(request);
            Assert.Equal(400, (await visitor.ReadHeadAsync()).StatusCode);
            Assert.Empty(await visitor.ReadToEndAsync());
        });

    [Fact]
    public void Beyond_this_machine_a_token_is_needed()
    {
        var options = Options(new InspectorAddress(IPAddress.Any, 0), null);
        Assert.Null(InspectorServer.TryStart(options, [], TimeProvider.System, out var problem));
        Assert.Contains("TUNNEL2_INSPECT_TOKEN", problem, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Beyond_this_machine_the_token_opens_and_attempts_are_limited()
    {
        var time = new ManualTimeProvider();
        var options = Options(new InspectorAddress(IPAddress.Any, 0), Token);
        await using var server = InspectorServer.TryStart(options, [new InspectedSession(options, time)], time, out _);
        Assert.Equal(401, await StatusAsync(server!, "GET", Exchanges));
        Assert.Equal(200, await StatusAsync(server!, "GET", "/"));
        Assert.Equal(200, await StatusAsync(server!, "GET", Exchanges, $"Authorization: Bearer {Token}\r\n"));
        Assert.Equal(401, await StatusAsync(server!, "GET", Exchanges, "Cookie: tunnel2-inspector=\r\n"));

        await using var visitor = await ConnectAsync(server!);
        var login = $"{{\"token\":\"{Token}\"}}";
        await visitor.WriteAsync(
            $"POST /api/v1/login HTTP/1.1\r\nHost: 127.0.0.1:{server!.EndPoint.Port}\r\nContent-Length: {login.Length}\r\n\r\n{login}");
        var head = await visitor.ReadHeadAsync();
        Assert.Equal(204, head.StatusCode);
        Assert.Contains("HttpOnly; SameSite=Strict", head["Set-Cookie"], StringComparison.Ordinal);
        var cookie = head["Set-Cookie"]!.Split(';')[0];
        Assert.Equal(200, await StatusAsync(server, "GET", Exchanges, $"Cookie: a=b; {cookie}\r\n"));

        for (var i = 0; i < 10; i++)
        {
            Assert.Equal(401, await StatusAsync(server, "GET", Exchanges, $"Authorization: Bearer wrong{i}\r\n"));
        }

        Assert.Equal(429, await StatusAsync(server, "GET", Exchanges, $"Authorization: Bearer {Token}\r\n"));
        Assert.Equal(200, await StatusAsync(server, "GET", Exchanges, $"Cookie: {cookie}\r\n"));
        time.Advance(TimeSpan.FromMinutes(1));
        Assert.Equal(200, await StatusAsync(server, "GET", Exchanges, $"Authorization: Bearer {Token}\r\n"));
    }

    [Fact]
    public async Task A_caller_beyond_the_limit_takes_the_place_of_the_longest_silent_one_and_the_others_have_30_seconds()
    {
        var time = new ManualTimeProvider();
        var options = Options(new InspectorAddress(IPAddress.Loopback, 0), null);
        await using var server = InspectorServer.TryStart(options, [new InspectedSession(options, time)], time, out _);
        var silent = new List<RawHttpClient>();
        for (var i = 0; i < 32; i++)
        {
            silent.Add(await ConnectAsync(server!));
            await time.ArmedTimers.WaitForAsync(i + 1);
            time.Advance(TimeSpan.FromTicks(1));
        }

        Assert.Equal(200, await StatusAsync(server!, "GET", Exchanges));
        await silent[0].WaitForEndAsync();
        time.Advance(TimeSpan.FromSeconds(29));
        var host = $"127.0.0.1:{server!.EndPoint.Port}";
        Assert.Equal(200, (await silent[^1].ExchangeAsync(Exchanges, host, "GET", "Connection: close\r\n")).Head.StatusCode);
        time.Advance(TimeSpan.FromSeconds(1));
        foreach (var one in silent)
        {
            await one.WaitForEndAsync();
            await one.DisposeAsync();
        }
    }

    private static AgentOptions Options(InspectorAddress address, string? token) => AgentFixture.Options(1, 2) with
    {
        InspectorAddress = address,
        InspectorToken = token,
        Inspection = new AgentInspection(new ExchangeStore(InspectionLimits.Default, TimeProvider.System)),
    };

    private static Task<RawHttpClient> ConnectAsync(InspectorServer server) =>
        RawHttpClient.ConnectAsync(new IPEndPoint(IPAddress.Loopback, server.EndPoint.Port));

    private static async Task<int> StatusAsync(InspectorServer server, string method, string path, string fields = "")
    {
        await using var visitor = await ConnectAsync(server);
        return (await visitor.ExchangeAsync(path, $"127.0.0.1:{server.EndPoint.Port}", method, fields)).Head.StatusCode;
    }

    [GeneratedRegex("(?:src|href)=\"(?<name>[a-z]+\\.[a-z]+)\"")]
    private static partial Regex File();

    [GeneratedRegex(@"from '\./(?<name>[a-z]+\.js)'")]
    private static partial Regex Module();
}
