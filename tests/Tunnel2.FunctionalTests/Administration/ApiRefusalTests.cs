using System.Text;
using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.Protocol;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Administration;

/// <summary>Every path of the API's document, with what it is not for. Each refusal is a problem document.</summary>
public sealed class ApiRefusalTests
{
    private const string Token = "admin-secret";

    private static readonly string[] _methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO", "get"];

    /// <summary>In place of each name and id of a path.</summary>
    private static readonly string[] _ids =
    [
        "%00", "web%00", "%2F", "a%2Fb", "..%2f..", "%2e%2e", "..", ".", "%", "%zz", "%ff", "%C3%A9", "%F0%9F%92%A9", "%E2%80%AE",
        "a%20b", "*",
        "a%0d%0aX-Evil:%201", "-1", "99999999999999999999", "1.5", "e9:1", "web;a=b", new string('a', 300), new string('a', 7000),
    ];

    /// <summary>Those of them that a session could have as its name.</summary>
    private static readonly string[] _names = ["*", "-1", "99999999999999999999", "1.5"];

    private static readonly (string Status, string Request)[] _noHttp =
    [
        ("400", "GET /api/v1/tokens/%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
        ("400", "GET /api/v1/tokens/a b HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
        ("400", "GET  HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
        ("400", "GET /api/v1/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.2\r\n\r\n"),
        ("400", "GET /api/v1/tokens HTTP/1.1\r\n\r\n"),
        ("400", "GET /api/v1/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nNo colon\r\n\r\n"),
        ("400", "GET /api/v1/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n"),
        ("400", "POST /api/v1/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: gzip\r\n\r\n"),
        ("400", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n"),
        ("505", "GET /api/v1/tokens HTTP/2.0\r\nHost: 127.0.0.1\r\n\r\n"),
    ];

    [Fact]
    public async Task Every_path_refuses_other_methods_and_names_that_cannot_be()
    {
        using var folder = new TemporaryFolder();
        await using var entry = await StartAsync(folder);
        foreach (var (path, methods) in await PathsAsync(entry))
        {
            var usual = path.Replace("{", "", StringComparison.Ordinal).Replace("}", "", StringComparison.Ordinal);
            foreach (var method in _methods.Except(methods))
            {
                var (head, body) = await SendAsync(entry, method, usual);
                Assert.True(head.StatusCode == 405, $"{method} {path}: {head.StatusCode}");
                Assert.Equal(methods.Order(), head["Allow"]!.Split(", ").Order());
                AssertProblem(head, body, method);
            }

            if (!path.Contains('{', StringComparison.Ordinal))
            {
                continue;
            }

            foreach (var id in _ids)
            {
                var target = string.Join('/', path.Split('/').Select(part => part.StartsWith('{') ? id : part));
                foreach (var method in methods)
                {
                    var (head, body) = await SendAsync(entry, method, target, method is "PUT" or "POST" && TakesBody(path) ? "[]" : null);
                    if (IsOfAnyName(path, method) && _names.Contains(id))
                    {
                        Assert.Equal(200, head.StatusCode);
                        continue;
                    }

                    Assert.True(head.StatusCode is >= 400 and < 500, $"{method} {target}: {head.StatusCode}");
                    AssertProblem(head, body, method);
                }
            }
        }

        AssertUnchanged(entry);
    }

    [Fact]
    public async Task Every_path_refuses_who_shows_no_token_or_another_one()
    {
        using var folder = new TemporaryFolder();
        await using var entry = await StartAsync(folder);
        foreach (var (path, methods) in await PathsAsync(entry))
        {
            foreach (var method in methods)
            {
                foreach (var shown in new[] { "", "Bearer ", "Bearer metrics-secret", "Basic YTpi", "Bearer " + Token + "x", Token })
                {
                    var (head, body) = await SendAsync(entry, method, path.Replace("{", "", StringComparison.Ordinal), null, shown);
                    Assert.True(head.StatusCode == 401, $"{method} {path} with '{shown}': {head.StatusCode}");
                    AssertProblem(head, body, method);
                    Assert.DoesNotContain(Token, body, StringComparison.Ordinal);
                }
            }
        }

        AssertUnchanged(entry);
        Assert.DoesNotContain(entry.Log.All, static line => line.Text.Contains("-secret", StringComparison.Ordinal));
    }

    [Fact]
    public async Task Every_path_that_takes_a_body_refuses_what_is_none_of_its()
    {
        using var folder = new TemporaryFolder();
        await using var entry = await StartAsync(folder);
        string[] bodies =
        [
            "", "null", "true", "1e999", "\"a\"", "[", "{", "{}", "{\"a\":1}", "[1]", "[[]]", "{\"name\":\"a\",\"name\":\"a\"}",
            "\xff\xfe", "\xef\xbb\xbf", "{\"a\":\"\xc3\"}", "{\"\\ud800\":1}", new string('[', 2000),
            new string('[', 100) + new string(']', 100),
            string.Concat(Enumerable.Repeat("{\"rows\":", 2000)), "/* */", "NaN", "{\"name\":\"" + new string('a', 60_000) + "\"}",
        ];
        foreach (var (path, methods) in await PathsAsync(entry))
        {
            foreach (var method in methods.Where(static method => method is "PUT" or "POST"))
            {
                var target = path.Replace("{name}", "none", StringComparison.Ordinal).Replace("{id}", "1", StringComparison.Ordinal);
                foreach (var text in bodies)
                {
                    foreach (var type in new[] { "application/json", "application/json; charset=utf-16", "text/plain", "" })
                    {
                        var (head, body) = await SendAsync(entry, method, target, text, type: type);
                        Assert.True(head.StatusCode is >= 400 and < 500, $"{method} {path} {text} {type}: {head.StatusCode}");
                        AssertProblem(head, body, method);
                    }
                }
            }
        }

        AssertUnchanged(entry);
    }

    [Fact]
    public async Task What_is_no_request_gets_a_problem_too_and_the_connection_ends()
    {
        using var folder = new TemporaryFolder();
        await using var entry = await StartAsync(folder);
        var fields = string.Concat(Enumerable.Repeat("a:\r\n", 5 * ProtocolLimits.MaxHeaderFields));
        foreach (var (status, request) in _noHttp.Append(("431", $"GET /api/v1/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\n{fields}\r\n")))
        {
            await using var caller = await RawHttpClient.ConnectAsync(entry.Admin);
            await caller.WriteAsync(Encoding.Latin1.GetBytes(request));
            var head = await caller.ReadHeadAsync();
            Assert.True(head.StatusCode.ToString() == status, $"{request[..Math.Min(60, request.Length)]}: {head.StatusCode}");
            AssertProblem(head, (await caller.ReadBodyAsync(head)).Text(), "GET");
            await caller.WaitForEndAsync();
        }

        // HEAD has no body, and its head is that of GET, also of a request whose line came before its end.
        foreach (var (status, request) in _noHttp.Where(static one => one.Request.StartsWith("GET /", StringComparison.Ordinal))
            .Append(("431", $"GET /api/v1/tokens HTTP/1.1\r\nHost: 127.0.0.1\r\n{fields}\r\n")))
        {
            await using var caller = await RawHttpClient.ConnectAsync(entry.Admin);
            await caller.WriteAsync(Encoding.Latin1.GetBytes("HEAD" + request[3..]));
            var head = await caller.ReadHeadAsync();
            Assert.Equal(status, head.StatusCode.ToString());
            AssertProblem(head, "", "HEAD");
            Assert.NotEqual("0", head["Content-Length"]);
            Assert.Empty(await caller.ReadToEndAsync());
        }

        // After one that was served, too.
        await using var second = await RawHttpClient.ConnectAsync(entry.Admin);
        await second.SendRequestAsync("/api/v1/health", "127.0.0.1", fields: $"Authorization: Bearer {Token}\r\n");
        var served = await second.ReadHeadAsync();
        Assert.Equal(200, served.StatusCode);
        await second.ReadBodyAsync(served);
        await second.SendRequestAsync("/api/v1/tokens/%00", "127.0.0.1");
        var refused = await second.ReadHeadAsync();
        AssertProblem(refused, (await second.ReadBodyAsync(refused)).Text(), "GET");
        AssertUnchanged(entry);
    }

    private static Task<EntryFixture> StartAsync(TemporaryFolder folder) => EntryFixture.StartAsync(
        null, "StateFolder=" + folder["state"], "Admin:Token=" + Token, "Admin:MetricsToken=metrics-secret", "Uplink:FailuresPerMinute=0");

    /// <summary>The paths of the document, each with its methods.</summary>
    private static async Task<List<(string Path, string[] Methods)>> PathsAsync(EntryFixture entry)
    {
        using var api = new AdminApi(entry, Token);
        return
        [
            .. (await api.GetAsync("openapi.json")).GetProperty("paths").EnumerateObject().Select(static path => (
                path.Name,
                path.Value.EnumerateObject().Select(static operation => operation.Name.ToUpperInvariant())
                    .SelectMany(static method => method == "GET" ? new[] { "GET", "HEAD" } : [method]).ToArray())),
        ];
    }

    /// <summary>Whether it answers for a name whose session may come yet: it is not inspected.</summary>
    private static bool IsOfAnyName(string path, string method) =>
        method is "GET" or "HEAD" && path.EndsWith("/inspection", StringComparison.Ordinal);

    private static bool TakesBody(string path) => path.Contains("/policies/", StringComparison.Ordinal);

    private static async Task<(RawHttpHead Head, string Body)> SendAsync(
        EntryFixture entry, string method, string target, string? body = null, string shown = "Bearer " + Token,
        string type = "application/json")
    {
        await using var caller = await RawHttpClient.ConnectAsync(entry.Admin);
        var fields = (shown.Length > 0 ? $"Authorization: {shown}\r\n" : "")
            + (body is null ? "" : $"Content-Length: {body.Length}\r\n" + (type.Length > 0 ? $"Content-Type: {type}\r\n" : ""));
        await caller.WriteAsync(Encoding.Latin1.GetBytes($"{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n{fields}\r\n{body}"));
        var head = await caller.ReadHeadAsync();
        return (head, method == "HEAD" ? "" : (await caller.ReadBodyAsync(head)).Text());
    }

    private static void AssertProblem(RawHttpHead head, string body, string method)
    {
        Assert.Equal("application/problem+json; charset=utf-8", head["Content-Type"]);
        Assert.Equal("no-store", head["Cache-Control"]);
        if (method == "HEAD")
        {
            return;
        }

        using var json = JsonDocument.Parse(body);
        Assert.Equal(head.StatusCode, json.RootElement.GetProperty("status").GetInt32());
        Assert.Equal(
            "urn:tunnel2:api:" + json.RootElement.GetProperty("code").GetString(), json.RootElement.GetProperty("type").GetString());
        Assert.NotEqual("", json.RootElement.GetProperty("title").GetString());
        Assert.NotEqual("", json.RootElement.GetProperty("detail").GetString());
        Assert.DoesNotContain("Exception", body, StringComparison.Ordinal);
        Assert.DoesNotContain("   at ", body, StringComparison.Ordinal);
    }

    private static void AssertUnchanged(EntryFixture entry)
    {
        Assert.DoesNotContain(entry.Log.All, static line => line.EventId == 2230);
        entry.Log.AssertNoErrors();
    }
}
