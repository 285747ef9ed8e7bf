using System.Net;
using System.Net.Sockets;
using System.Net.WebSockets;
using System.Text;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Live;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.Diagnostics.Prometheus;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.Telemetry.SubscriptionHub;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Live;

/// <summary>Who may listen, and what a subscriber is answered: requests made up, over a real pair of sockets.</summary>
public sealed class LiveEndpointTests : IAsyncLifetime
{
    private const string Key = "dGhlIHNhbXBsZSBub25jZQ==";
    private const string Token = "s3cret";

    private readonly string _folder = Directory.CreateTempSubdirectory("tunnel2-live-").FullName;
    private readonly ManualTimeProvider _time = new();
    private readonly TestMeterFactory _meters = new();
    private readonly List<IDisposable> _owned = [];
    private readonly LivePlane _plane;
    private int _planes;

    public LiveEndpointTests()
    {
        _time.Advance(TimeSpan.FromSeconds(1));
        _plane = CreatePlane("Live=true");
        _plane.LimitSubscribers(1000, 2000);
    }

    public ValueTask InitializeAsync() => ValueTask.CompletedTask;

    public async ValueTask DisposeAsync()
    {
        _owned.ForEach(static owned => owned.Dispose());
        await _plane.DisposeAsync();
        _meters.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    [Fact]
    public async Task Other_paths_are_for_others_and_the_root_is_the_page()
    {
        var other = Request();
        other.Request.Path = "/metrics";
        Assert.False(await Endpoint().TryHandleAsync(other));
        var root = Request();
        root.Request.Path = "/";
        Assert.True(await Endpoint().TryHandleAsync(root));
        Assert.Equal((200, "text/html; charset=utf-8"), (root.Response.StatusCode, root.Response.ContentType));
    }

    [Theory]
    [InlineData("/", null)]
    [InlineData("/dashboard/app.mjs", null)]
    [InlineData("/", "s3cret")]
    [InlineData("/dashboard/app.mjs", "s3cret")]
    public async Task A_name_that_others_may_have_pointed_here_gets_no_file(string path, string? token)
    {
        var http = Request();
        http.Request.Path = path;
        http.Request.Host = new HostString("rebound.example");
        Assert.True(await Endpoint(token).TryHandleAsync(http));
        Assert.Equal(403, http.Response.StatusCode);
    }

    [Theory]
    [InlineData("Method", "POST")]
    [InlineData("Upgrade", "h2c")]
    [InlineData("Upgrade", "")]
    [InlineData("Sec-WebSocket-Version", "12")]
    [InlineData("Sec-WebSocket-Key", "short")]
    [InlineData("IHttpUpgradeFeature", null)]
    [InlineData("IHttpUpgradeFeature", "false")]
    [InlineData("IConnectionSocketFeature", null)]
    public async Task What_is_no_WebSocket_reads_what_this_is(string part, string? value)
    {
        var http = Request();
        switch (part)
        {
            case "Method":
                http.Request.Method = value!;
                break;
            case "IHttpUpgradeFeature":
                http.Features.Set<IHttpUpgradeFeature>(value is null ? null : new Upgrade(Stream.Null, false));
                break;
            case "IConnectionSocketFeature":
                http.Features.Set<IConnectionSocketFeature>(null);
                break;
            default:
                http.Request.Headers[part] = value;
                break;
        }

        Assert.Equal((426, "websocket", null), await RefusedAsync(Endpoint(), http));
    }

    [Theory]
    [InlineData("evil.example", null, null, null, 403)]
    [InlineData("127.0.0.1:12002", "http://evil.example", null, null, 403)]
    [InlineData("127.0.0.1:12002", "null", null, null, 403)]
    [InlineData("127.0.0.1:12002", "http://127.0.0.1:12003", null, null, 403)]
    [InlineData("127.0.0.1:12002", null, Token, null, 401)]
    [InlineData("127.0.0.1:12002", null, Token, "Bearer wrong", 401)]
    [InlineData("127.0.0.1:12002", null, Token, "tunnel2.token.d3Jvbmc", 401)]
    [InlineData("127.0.0.1:12002", null, Token, "tunnel2.token.#", 401)]
    public async Task Who_may_not_listen_is_refused(string host, string? origin, string? token, string? shown, int status)
    {
        var http = Request();
        http.Request.Host = new HostString(host);
        http.Request.Headers.Origin = origin;
        Show(http, shown);
        var (actual, _, _) = await RefusedAsync(Endpoint(token), http);
        Assert.Equal(status, actual);
        Assert.Equal(status == 401 ? "Bearer realm=\"tunnel2\"" : null, http.Response.Headers.WWWAuthenticate);
    }

    [Theory]
    [InlineData("http://127.0.0.1:12002", null, null)]
    [InlineData("", Token, "Bearer s3cret")]
    [InlineData(null, Token, "tunnel2.live.v1, tunnel2.token.czNjcmV0")]
    public async Task Who_may_listen_is_let_in(string? origin, string? token, string? shown)
    {
        var http = Request();
        http.Request.Headers.Origin = origin;
        Show(http, shown);
        var (client, running) = Serve(http, token);
        await SendAsync(client, """{"op":"ping"}""");
        Assert.Equal("""{"type":"pong"}""", await ReceiveAsync(client));
        Assert.Equal(101, http.Response.StatusCode);
        Assert.Equal("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", http.Response.Headers.SecWebSocketAccept);
        Assert.Equal(
            shown?.StartsWith(LiveEndpoint.Protocol, StringComparison.Ordinal) == true ? LiveEndpoint.Protocol : null,
            http.Response.Headers.SecWebSocketProtocol);
        Assert.Equal((1, 1), (_plane.Guard!.Connections, _plane.Hub!.Connections));
        await client.CloseAsync(WebSocketCloseStatus.NormalClosure, null, TestContext.Current.CancellationToken);
        client.Dispose();
        Assert.True(await running);
        Assert.Equal((0, 0), (_plane.Guard.Connections, _plane.Hub.Connections));
    }

    [Fact]
    public async Task Where_the_live_view_is_off_that_is_said()
    {
        await using var off = CreatePlane("Live=false");
        Assert.Equal((503, null, null), await RefusedAsync(Endpoint(plane: off), Request()));
    }

    [Fact]
    public async Task One_too_many_is_asked_to_come_back_and_one_too_fast_sooner()
    {
        var guard = _plane.Guard!;
        guard.MaxConnections = 0;
        Assert.Equal((503, null, "10"), await RefusedAsync(Endpoint(), Request()));
        guard.MaxConnections = 1000;
        while (guard.TryAdmit(IPAddress.Loopback) == Admission.Admitted)
        {
        }

        Assert.Equal((429, null, "1"), await RefusedAsync(Endpoint(), Request()));
        Assert.Equal(200, guard.Connections);
    }

    [Theory]
    [InlineData("Hub:MemoryReject=0.5", "Hub:MemoryAccept=0.4", 0.9, 0, 0, "10")]
    [InlineData("Hub:CpuReject=0.5", "Hub:CpuAccept=0.4", 0, 0.9, 0, "10")]
    [InlineData("Hub:MaxThreads=10000", "Hub:Smoothing=1", 0, 0, 10_001, "10")]
    [InlineData("Hub:ConnectionsPerSecond=1", "Hub:Smoothing=1", 0, 0, 0, "1")]
    public async Task Each_limit_that_was_set_is_a_503_until_what_it_acts_on_is_less(
        string setting, string other, double memory, double cpu, int threads, string retryAfter)
    {
        await using var plane = CreatePlane(setting, other);
        plane.LimitSubscribers(1000, 2000);
        var guard = plane.Guard!;

        // The plane's own first reading; the next one is a second of manual time later.
        await WaitSignal.UntilAsync(() => guard.Use.Memory > 0, "a reading was made");
        for (var i = 0; i < 20; i++)
        {
            guard.Observe(new ContainerReading(memory, cpu, threads));
        }

        while (guard.TryAdmit(IPAddress.Loopback) == Admission.Admitted)
        {
        }

        Assert.Equal((503, null, retryAfter), await RefusedAsync(Endpoint(plane: plane), Request()));
        for (var i = 0; i < 20; i++)
        {
            guard.Observe(new ContainerReading(0, 0, 0));
        }

        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal(Admission.Admitted, guard.TryAdmit(IPAddress.Loopback));
    }

    [Fact]
    public async Task A_subscriber_gets_its_answer_then_what_is_there_and_what_comes_until_it_has_enough()
    {
        var (client, _) = Serve(Request());
        var channel = _plane.Hub!.GetChannel("a.b");
        _plane.Hub.Publish(channel, "k", "1"u8.ToArray());
        await SendAsync(client, """{"op":"subscribe","channel":"a.*","id":"7"}""");
        Assert.Equal("""{"type":"subscribed","channel":"a.*","id":"7"}""", await ReceiveAsync(client));
        Assert.Equal(
            """{"type":"snapshot","channel":"a.b","seq":1,"messages":[{"key":"k","seq":1,"data":1}]}""", await ReceiveAsync(client));
        _plane.Hub.Publish(channel, "k", "2"u8.ToArray());
        Assert.Equal("""{"type":"message","channel":"a.b","key":"k","seq":2,"data":2}""", await ReceiveAsync(client));
        await SendAsync(client, """{"op":"unsubscribe","channel":"a.*"}""");
        Assert.Equal("""{"type":"unsubscribed","channel":"a.*"}""", await ReceiveAsync(client));
        _plane.Hub.Publish(channel, "k", "3"u8.ToArray());
        await SendAsync(client, """{"op":"ping","id":"8"}""");
        Assert.Equal("""{"type":"pong","id":"8"}""", await ReceiveAsync(client));
    }

    [Theory]
    [InlineData("nonsense", """{"type":"error","code":"invalid-json"}""")]
    [InlineData("""{"op":"dance"}""", """{"type":"error","code":"unknown-op"}""")]
    [InlineData(
        """{"op":"subscribe","channel":"a..b","id":"1"}""", """{"type":"error","code":"invalid-channel","channel":"a..b","id":"1"}""")]
    [InlineData("""{"op":"unsubscribe","channel":"a"}""", """{"type":"error","code":"not-subscribed","channel":"a"}""")]
    public async Task A_mistake_is_answered_and_the_next_message_is_heard(string message, string answer)
    {
        var (client, _) = Serve(Request());
        await SendAsync(client, message);
        Assert.Equal(answer, await ReceiveAsync(client));
        await SendAsync(client, """{"op":"ping"}""");
        Assert.Equal("""{"type":"pong"}""", await ReceiveAsync(client));
    }

    [Theory]
    [InlineData(WebSocketMessageType.Binary, 1, 1003)]
    [InlineData(WebSocketMessageType.Text, 4097, 1009)]
    public async Task What_is_not_understood_ends_the_connection_with_its_reason(WebSocketMessageType type, int length, int status)
    {
        var (client, running) = Serve(Request());
        await client.SendAsync(new byte[length], type, true, TestContext.Current.CancellationToken);
        Assert.Null(await ReceiveAsync(client));
        Assert.Equal(status, (int)client.CloseStatus!);
        client.Dispose();
        Assert.True(await running);
        Assert.Equal((0, 0), (_plane.Guard!.Connections, _plane.Hub!.Connections));
    }

    private static void Show(DefaultHttpContext http, string? token)
    {
        if (token?.StartsWith("Bearer ", StringComparison.Ordinal) == true)
        {
            http.Request.Headers.Authorization = token;
        }
        else
        {
            http.Request.Headers.SecWebSocketProtocol = token;
        }
    }

    private static async Task<(int Status, string? Upgrade, string? RetryAfter)> RefusedAsync(LiveEndpoint endpoint, HttpContext http)
    {
        Assert.True(await endpoint.TryHandleAsync(http));
        Assert.Equal("no-store", http.Response.Headers.CacheControl);
        Assert.Equal(http.Response.ContentLength, http.Response.Body.Length);
        return (http.Response.StatusCode, http.Response.Headers.Upgrade, http.Response.Headers.RetryAfter);
    }

    private static Task SendAsync(WebSocket client, string text) => client.SendAsync(
        Encoding.UTF8.GetBytes(text), WebSocketMessageType.Text, true, TestContext.Current.CancellationToken);

    /// <summary>The next message, or null when the server has closed.</summary>
    private static async Task<string?> ReceiveAsync(WebSocket client)
    {
        var buffer = new byte[4096];
        var received = await client.ReceiveAsync(buffer, TestContext.Current.CancellationToken);
        return received.MessageType == WebSocketMessageType.Close ? null : Encoding.UTF8.GetString(buffer, 0, received.Count);
    }

    private LivePlane CreatePlane(params string[] settings) => new(
        SettingsFixture.LoadValid([$"Ring:File={Path.Combine(_folder, $"ring{_planes++}")}", .. settings]), new ListedSessions(), _time,
        _meters, new ContainedFaults(), new RecordedLog<LivePlane>());

    private LiveEndpoint Endpoint(string? token = null, LivePlane? plane = null) =>
        new(plane ?? _plane, new AdminAuthorization(token is null ? null : TokenHash.FromToken(token)));

    /// <summary>A request that is let in, unless the test changes it.</summary>
    private DefaultHttpContext Request()
    {
        using var listener = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        listener.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        listener.Listen(1);
        var far = new Socket(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        far.Connect(listener.LocalEndPoint!);
        var near = listener.Accept();
        _owned.AddRange([far, near]);
        var http = new DefaultHttpContext();
        http.Features.Set<IHttpUpgradeFeature>(new Upgrade(new NetworkStream(near), true));
        http.Features.Set<IConnectionSocketFeature>(new Connection(near, far));
        http.Connection.RemoteIpAddress = IPAddress.Loopback;
        http.Response.Body = new MemoryStream();
        http.Request.Method = "GET";
        http.Request.Path = LiveEndpoint.Path;
        http.Request.Host = new HostString("127.0.0.1:12002");
        http.Request.Headers.Upgrade = "WebSocket";
        http.Request.Headers.SecWebSocketVersion = "13";
        http.Request.Headers.SecWebSocketKey = Key;
        return http;
    }

    /// <summary>Serves a request, and gives the subscriber's end.</summary>
    private (WebSocket Client, Task<bool> Running) Serve(DefaultHttpContext http, string? token = null)
    {
        var running = Endpoint(token).TryHandleAsync(http);
        var far = ((Connection)http.Features.Get<IConnectionSocketFeature>()!).Far;
        var client = WebSocket.CreateFromStream(
            new NetworkStream(far, ownsSocket: true), new WebSocketCreationOptions { KeepAliveInterval = TimeSpan.Zero });
        _owned.Add(client);
        return (client, running);
    }

    private sealed record Upgrade(Stream Stream, bool IsUpgradableRequest) : IHttpUpgradeFeature
    {
        public Task<Stream> UpgradeAsync() => Task.FromResult(Stream);
    }

    private sealed record Connection(Socket Socket, Socket Far) : IConnectionSocketFeature;
}
