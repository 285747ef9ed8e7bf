using Tunnel2.FunctionalTests.Harness;

namespace Tunnel2.FunctionalTests.Requests;

public sealed class RequestHeaderTests
{
    private static readonly string[] _added = ["X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "Forwarded"];

    [Fact]
    public Task Values_of_one_name_keep_their_number_and_order() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        var (_, body) = await tunnel.ExchangeAsync(
            "/", fields: "X-A: 1\r\nX-B: x\r\nX-A: 2\r\nX-A: 1\r\nx-a: 3, 4\r\nCookie: a=b\r\nCookie: c=d\r\n");
        Assert.Equal(["1", "2", "1", "3, 4"], body.Request().All("X-A"));
        Assert.Equal(["x"], body.Request().All("X-B"));
        Assert.Equal("a=b; c=d", string.Join("; ", body.Request().All("Cookie")));
    });

    [Fact]
    public Task Empty_values_and_bytes_beyond_ascii_pass_unchanged() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        var bytes = new string([.. Enumerable.Range(0xA0, 96).Select(static i => (char)i)]);
        var (head, body) = await tunnel.ExchangeAsync(
            "/", fields: $"X-Empty:\r\nX-Latin: \u00e9{bytes}\r\nX-Space:   a  b\t \r\nX-Tab: a\tb\r\nX-Odd!#$%&'*+-.^_`|~1: y\r\n");
        Assert.Equal(200, head.StatusCode);
        Assert.Equal([""], body.Request().All("X-Empty"));
        Assert.Equal(["\u00e9" + bytes], body.Request().All("X-Latin"));
        Assert.Equal(["a  b"], body.Request().All("X-Space"));
        Assert.Equal(["a\tb"], body.Request().All("X-Tab"));
        Assert.Equal(["y"], body.Request().All("X-Odd!#$%&'*+-.^_`|~1"));
    });

    [Fact]
    public Task Nothing_is_added_but_who_forwarded_what() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        var (_, body) = await tunnel.ExchangeAsync("/", fields: "Accept: */*\r\nUser-Agent: test\r\n");
        string[] expected = ["Host", "Accept", "User-Agent", .. _added];
        Assert.Equal(expected.Order(), body.Request().Fields.Select(static field => field.Key).Order());
    });

    [Fact]
    public Task A_hundred_fields_arrive() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        var fields = string.Concat(Enumerable.Range(0, 100).Select(static i => $"X-{i}: {i * i}\r\n"));
        var (head, body) = await tunnel.ExchangeAsync("/", fields: fields);
        Assert.Equal(200, head.StatusCode);
        for (var i = 0; i < 100; i++)
        {
            Assert.Equal([$"{i * i}"], body.Request().All($"X-{i}"));
        }
    });

    [Fact]
    public Task Fields_of_one_connection_end_at_it() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        var (_, body) = await tunnel.ExchangeAsync(
            "/",
            fields: "Connection: X-Private, authorization-hint\r\nX-Private: 1\r\nAuthorization-Hint: 2\r\nKeep-Alive: timeout=5\r\n"
                + "Proxy-Connection: close\r\n"
                + "Proxy-Authorization: Basic x\r\nProxy-Authenticate: Basic\r\nHTTP2-Settings: x\r\nUpgrade: h2c\r\nTE: gzip\r\n"
                    + "X-Kept: yes\r\n");
        string[] expected = ["Host", "X-Kept", .. _added];
        Assert.Equal(expected.Order(), body.Request().Fields.Select(static field => field.Key).Order());
    });

    [Fact]
    public Task Connection_cannot_take_away_what_frames_or_routes_the_request() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.WriteAsync(
            $"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nConnection: Host, Content-Length, X-Forwarded-For\r\n"
                + $"Content-Length: 2\r\n\r\nok");
        var head = await visitor.ReadHeadAsync();
        var body = await visitor.ReadBodyAsync(head);
        Assert.Equal(200, head.StatusCode);
        Assert.Equal([TunnelFixture.Host], body.Request().All("Host"));
        Assert.Equal(["2"], body.Request().All("Content-Length"));
        Assert.Equal(["127.0.0.1"], body.Request().All("X-Forwarded-For"));
        Assert.Equal("ok", body.RequestBody());
    });

    [Fact]
    public Task Te_keeps_its_trailers() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        var (_, body) = await tunnel.ExchangeAsync("/", fields: "TE: trailers\r\nConnection: TE\r\n");
        Assert.Equal(["trailers"], body.Request().All("TE"));
    });

    [Fact]
    public Task What_a_visitor_says_about_forwarding_is_overwritten() => TunnelFixture.RunAsync(Mirror.ServeAsync, async tunnel =>
    {
        var (_, body) = await tunnel.ExchangeAsync(
            "/",
            fields: "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 5.6.7.8\r\nX-Forwarded-Host: evil\r\nX-Forwarded-Proto: https\r\n"
                + "X-Forwarded-Port: 1\r\nX-Real-IP: 9.9.9.9\r\n"
                + "Forwarded: for=1.2.3.4\r\nforwarded: for=_x\r\n");
        var request = body.Request();
        Assert.Equal(["127.0.0.1"], request.All("X-Forwarded-For"));
        Assert.Equal([TunnelFixture.Host], request.All("X-Forwarded-Host"));
        Assert.Equal(["http"], request.All("X-Forwarded-Proto"));
        Assert.Equal([$"{tunnel.Entry.Http.Port}"], request.All("X-Forwarded-Port"));
        Assert.Equal(["for=127.0.0.1;host=\"web.localhost\";proto=http;by=_tunnel2"], request.All("Forwarded"));
        Assert.Empty(request.All("X-Real-IP"));
    });

    [Fact]
    public Task A_trusted_proxy_is_believed_and_its_own_address_is_added() => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            var (_, body) = await tunnel.ExchangeAsync(
                "/",
                fields: "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-For: 5.6.7.8\r\nX-Forwarded-Host: shop.example\r\n"
                    + "X-Forwarded-Proto: https\r\nX-Forwarded-Port: 443\r\nX-Real-IP: 1.2.3.4\r\n"
                    + "Forwarded: for=1.2.3.4;proto=https\r\n");
            var request = body.Request();
            Assert.Equal(["1.2.3.4, 5.6.7.8, 127.0.0.1"], request.All("X-Forwarded-For"));
            Assert.Equal(["shop.example"], request.All("X-Forwarded-Host"));
            Assert.Equal(["https"], request.All("X-Forwarded-Proto"));
            Assert.Equal(["443"], request.All("X-Forwarded-Port"));
            Assert.Equal(["1.2.3.4"], request.All("X-Real-IP"));
            Assert.Equal(
                ["for=1.2.3.4;proto=https, for=127.0.0.1;host=\"web.localhost\";proto=http;by=_tunnel2"], request.All("Forwarded"));
        },
        new TunnelSetup { Settings = ["TrustedProxies=127.0.0.0/8"] });

    [Theory]
    [InlineData(
        "1.2.3.4", "shop.example:8443", "https", "8443",
        "for=1.2.3.4;host=\"shop.example:8443\";proto=https, for=127.0.0.1;by=_tunnel2")]
    [InlineData(
        "::1, 5.6.7.8:99, x", "shop.example", "https", "443",
        "for=\"[::1]\";host=\"shop.example\";proto=https, for=5.6.7.8, for=unknown, for=127.0.0.1;by=_tunnel2")]
    public Task What_a_trusted_proxy_leaves_out_follows_from_what_it_says(
        string addresses, string host, string scheme, string port, string forwarded) => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            var (_, body) = await tunnel.ExchangeAsync(
                "/", fields: $"X-Forwarded-For: {addresses}\r\nX-Forwarded-Host: {host}\r\nX-Forwarded-Proto: {scheme}\r\n");
            var request = body.Request();
            Assert.Equal([$"{addresses}, 127.0.0.1"], request.All("X-Forwarded-For"));
            Assert.Equal([port], request.All("X-Forwarded-Port"));
            Assert.Equal([forwarded], request.All("Forwarded"));
        },
        new TunnelSetup { Settings = ["TrustedProxies=127.0.0.0/8"] });

    [Theory]
    [InlineData(1, 60 * 1024, 200)]
    [InlineData(1, 66 * 1024, 431)]
    [InlineData(190, 8, 200)]
    [InlineData(196, 8, 431)]
    [InlineData(250, 8, 431)]
    public Task Heads_are_carried_up_to_the_limits_and_refused_above_them(int count, int length, int status) => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            var fields = string.Concat(Enumerable.Range(0, count).Select(i => $"X-{i}: {new string('v', length)}\r\n"));
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync("/", TunnelFixture.Host, fields: fields);
            var head = await visitor.ReadHeadAsync();
            Assert.Equal(status, head.StatusCode);
            if (status == 200)
            {
                var body = await visitor.ReadBodyAsync(head);
                Assert.Equal(
                    count,
                    body.Request().Fields.Count(
                        static field => field.Key.StartsWith("X-", StringComparison.Ordinal) && field.Value.StartsWith('v')));
            }
            else
            {
                Assert.Equal(0, tunnel.RawBackend.ConnectionsAccepted.Value);
            }
        });

    [Theory]
    [InlineData("GET / HTTP/1.1\r\nHost: web.localhost\r\nHost: web.localhost\r\n\r\n", 400)]
    [InlineData("GET / HTTP/1.1\r\n\r\n", 400)]
    [InlineData("GET / HTTP/1.1\r\nHost: we b.localhost\r\n\r\n", 400)]
    [InlineData("GET / HTTP/1.1\r\nHost: web.localhost\r\nX : y\r\n\r\n", 400)]
    [InlineData("GET / HTTP/1.1\r\nHost: web.localhost\r\nX: a\0b\r\n\r\n", 400)]
    [InlineData("GET / HTTP/1.1\r\nHost: web.localhost\r\n folded: x\r\n\r\n", 400)]
    [InlineData("POST / HTTP/1.1\r\nHost: web.localhost\r\nContent-Length: -1\r\n\r\n", 400)]
    [InlineData("POST / HTTP/1.1\r\nHost: web.localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400)]
    [InlineData(
        "POST / HTTP/1.1\r\nHost: web.localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            + "GET /smuggled HTTP/1.1\r\nHost: web.localhost\r\n\r\n",
        400)]
    [InlineData("POST / HTTP/1.1\r\nHost: web.localhost\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", 400)]
    [InlineData("GET / HTTP/9.9\r\nHost: web.localhost\r\n\r\n", 505)]
    [InlineData("GET http://other.localhost/ HTTP/1.1\r\nHost: web.localhost\r\n\r\n", 400)]
    public Task A_request_with_two_readings_or_none_is_refused_and_the_connection_ends(
        string request, int status) => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync(request);
            var head = await visitor.ReadHeadAsync();
            Assert.Equal(status, head.StatusCode);
            var rest = System.Text.Encoding.Latin1.GetString(await visitor.ReadToEndAsync());
            Assert.DoesNotContain("HTTP/1.1 ", rest, StringComparison.Ordinal);
            Assert.Equal(0, tunnel.RawBackend.ConnectionsAccepted.Value);
        });
}
