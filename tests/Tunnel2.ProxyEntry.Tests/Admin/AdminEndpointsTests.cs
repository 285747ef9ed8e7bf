using System.Text;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;

namespace Tunnel2.ProxyEntry.Tests.Admin;

public sealed class AdminEndpointsTests : IDisposable
{
    private readonly TestMeterFactory _factory = new();
    private readonly Readiness _readiness = new();
    private readonly PrometheusCollector _collector;

    public AdminEndpointsTests() => _collector = new PrometheusCollector(_factory, TimeProvider.System);

    [Fact]
    public async Task Live_is_always_200_and_ready_follows_the_phase()
    {
        Assert.Equal((200, "live\n"), await SendAsync("GET", "/health/live"));
        Assert.Equal((503, "starting\n"), await SendAsync("GET", "/health/ready"));
        _readiness.MarkReady();
        Assert.Equal((200, "ready\n"), await SendAsync("GET", "/health/ready"));
        _readiness.MarkDraining("draining");
        Assert.Equal((503, "draining\n"), await SendAsync("GET", "/health/ready"));
        Assert.Equal((200, "live\n"), await SendAsync("GET", "/health/live"));
    }

    [Fact]
    public async Task Metrics_are_served_in_the_text_format()
    {
        var context = CreateContext("GET", "/metrics", "127.0.0.1:12002", null, out var body);

        await CreateEndpoints(null).HandleAsync(context);

        Assert.Equal(200, context.Response.StatusCode);
        Assert.Equal("text/plain; version=0.0.4; charset=utf-8", context.Response.ContentType);
        Assert.Equal("no-store", context.Response.Headers.CacheControl);
        Assert.Contains("process_cpu_seconds_total", PrometheusParser.Parse(body.ToArray()).Types);
    }

    [Theory]
    [InlineData("GET", "/", 404)]
    [InlineData("GET", "/health", 404)]
    [InlineData("GET", "/Metrics", 404)]
    [InlineData("POST", "/metrics", 405)]
    [InlineData("DELETE", "/health/live", 405)]
    [InlineData("HEAD", "/health/live", 200)]
    public async Task Other_paths_and_methods_are_refused(string method, string path, int status)
    {
        var (actual, body) = await SendAsync(method, path);

        Assert.Equal(status, actual);
        Assert.Equal(method == "HEAD", body.Length == 0);
    }

    [Theory]
    [InlineData(null, 401)]
    [InlineData("", 401)]
    [InlineData("Bearer", 401)]
    [InlineData("Bearer ", 401)]
    [InlineData("Bearer s3cret-tokeN", 401)]
    [InlineData("Bearer s3cret-token2", 401)]
    [InlineData("Bearer s3cret", 401)]
    [InlineData("Basic s3cret-token", 401)]
    [InlineData("s3cret-token", 401)]
    [InlineData("Bearer s3cret-token", 200)]
    [InlineData("bearer s3cret-token", 200)]
    public async Task With_a_token_only_its_bearer_reads_metrics(string? authorization, int status)
    {
        var context = CreateContext("GET", "/metrics", "entry.example.com", authorization, out _);

        await CreateEndpoints("s3cret-token").HandleAsync(context);

        Assert.Equal(status, context.Response.StatusCode);
        Assert.Equal(status == 401, context.Response.Headers.WWWAuthenticate.ToString() == "Bearer realm=\"tunnel2\"");
    }

    [Theory]
    [InlineData("GET", "/metrics", 200)]
    [InlineData("HEAD", "/metrics", 200)]
    [InlineData("POST", "/metrics", 405)]
    [InlineData("GET", "/metrics/", 401)]
    [InlineData("GET", "/Metrics", 401)]
    [InlineData("GET", "//metrics", 401)]
    [InlineData("GET", "/api/sessions", 401)]
    [InlineData("POST", "/api/metrics", 401)]
    [InlineData("GET", "/", 401)]
    public async Task The_token_of_the_metrics_opens_one_path(string method, string path, int status)
    {
        var wasReached = false;
        var context = CreateContext(method, path, "entry.example.com", "Bearer metrics-token", out _);

        await CreateEndpoints("s3cret-token", "metrics-token").HandleAsync(context, _ =>
        {
            wasReached = true;
            return Task.CompletedTask;
        });

        Assert.Equal(status, context.Response.StatusCode);
        Assert.False(wasReached);
    }

    [Fact]
    public async Task A_token_of_any_length_is_refused_without_harm()
    {
        var context = CreateContext("GET", "/metrics", "localhost", "Bearer " + new string('x', 1_000_000), out _);

        await CreateEndpoints("s3cret-token").HandleAsync(context);

        Assert.Equal(401, context.Response.StatusCode);
    }

    [Fact]
    public async Task Probes_need_no_token()
    {
        var context = CreateContext("GET", "/health/live", "entry.example.com", null, out _);

        await CreateEndpoints("s3cret-token").HandleAsync(context);

        Assert.Equal(200, context.Response.StatusCode);
    }

    [Theory]
    [InlineData("localhost:12002", 200)]
    [InlineData("127.0.0.1:12002", 200)]
    [InlineData("[::1]:12002", 200)]
    [InlineData("evil.example.com:12002", 403)]
    [InlineData("", 403)]
    public async Task Without_a_token_a_foreign_host_name_is_refused(string host, int status)
    {
        var context = CreateContext("GET", "/metrics", host, null, out _);

        await CreateEndpoints(null).HandleAsync(context);

        Assert.Equal(status, context.Response.StatusCode);
    }

    [Theory]
    [InlineData(null, false)]
    [InlineData("Bearer s3cret-token", true)]
    public async Task The_next_step_is_guarded_too(string? authorization, bool reached)
    {
        var wasReached = false;
        var context = CreateContext("GET", "/api", "entry.example.com", authorization, out _);

        await CreateEndpoints("s3cret-token").HandleAsync(context, _ =>
        {
            wasReached = true;
            return Task.CompletedTask;
        });

        Assert.Equal(reached, wasReached);
    }

    public void Dispose()
    {
        _collector.Dispose();
        _factory.Dispose();
    }

    private static DefaultHttpContext CreateContext(string method, string path, string host, string? authorization, out MemoryStream body)
    {
        var context = new DefaultHttpContext();
        context.Request.Method = method;
        context.Request.Path = path;
        context.Request.Host = new HostString(host);
        context.Request.Headers.Authorization = authorization;
        context.Response.Body = body = new MemoryStream();
        return context;
    }

    private AdminEndpoints CreateEndpoints(string? token, string? metricsToken = null) => new(
        _readiness,
        _collector,
        new AdminAuthorization(
            token is null ? null : TokenHash.FromToken(token),
            null,
            metricsToken is null ? null : TokenHash.FromToken(metricsToken),
            ["entry.example.com"]),
        NullLogger<AdminEndpoints>.Instance);

    private async Task<(int Status, string Body)> SendAsync(string method, string path)
    {
        var context = CreateContext(method, path, "localhost", null, out var body);
        await CreateEndpoints(null).HandleAsync(context);
        return (context.Response.StatusCode, Encoding.UTF8.GetString(body.ToArray()));
    }
}
