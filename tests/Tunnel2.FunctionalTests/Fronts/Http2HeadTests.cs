using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.Multiplexing.Session;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Fronts;

/// <summary>Heads of HTTP/2 visitors that are seldom and legal, and what a service of HTTP/1.1 gets of them.</summary>
public sealed class Http2HeadTests
{
    private const int Many = 40;

    public static TheoryData<string[], string> Cookies => new()
    {
        { ["a=1", "b=2"], "a=1; b=2" },
        { ["a=1", ""], "a=1;" },
        { ["a=1", "", ""], "a=1; ;" },
        { ["", "a=1"], "; a=1" },
        { ["a=1", "", "b=2"], "a=1; ; b=2" },
        { ["", ""], ";" },
        { [""], "" },
    };

    /// <summary>RFC 9113 section 8.2.3: pieces of a cookie are joined by a semicolon and a space, however short they are.</summary>
    [Theory]
    [MemberData(nameof(Cookies))]
    public Task Pieces_of_a_cookie_are_joined_also_where_one_is_empty(string[] pieces, string expected) => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
            var answer = await visitor.ExchangeAsync(
                Http2Visitor.Request(isTls: false, fields: [.. pieces.Select(static piece => ("cookie", piece))]));
            Assert.Equal(200, answer.Status);
            Assert.Contains($"\r\ncookie: {expected}\r\n", answer.Body, StringComparison.OrdinalIgnoreCase);
        });

    [Theory]
    [InlineData(" ")]
    [InlineData("a=1\t")]
    [InlineData(" a=1")]
    [InlineData("a=1;  ")]
    public Task A_cookie_with_white_space_around_it_is_refused_as_any_field(string cookie) => TunnelFixture.RunAsync(
        Mirror.ServeAsync,
        async tunnel =>
        {
            await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
            var answer = await visitor.ExchangeAsync(Http2Visitor.Request(isTls: false, fields: ("cookie", cookie)));
            Assert.Equal(400, answer.Status);
        });

    /// <summary>What a visitor, or a balancer that ends TLS, writes as the scheme says nothing about the connection.</summary>
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task The_scheme_that_a_visitor_writes_is_not_believed(bool isTls) => FrontVisitor.RunRawAsync(
        [],
        Mirror.ServeAsync,
        async tunnel =>
        {
            await using var visitor = await Http2Visitor.ConnectAsync(isTls ? tunnel.Entry.Https : tunnel.Entry.Http, isTls);
            foreach (var written in new[] { !isTls, isTls, !isTls })
            {
                var answer = await visitor.ExchangeAsync(Http2Visitor.Request(written));
                Assert.Equal(200, answer.Status);
                var scheme = isTls ? "https" : "http";
                Assert.Contains($"\r\nX-Forwarded-Proto: {scheme}\r\n", answer.Body, StringComparison.OrdinalIgnoreCase);
                Assert.Contains($";proto={scheme};by=_tunnel2\r\n", answer.Body, StringComparison.OrdinalIgnoreCase);
            }
        });

    /// <summary>Compressed, each of them can come in a hundred bytes.</summary>
    [Fact]
    public async Task Large_heads_of_running_requests_have_a_share_of_the_memory_and_the_next_is_refused()
    {
        (string, string)[] large = [.. Enumerable.Repeat(("x-large", new string('a', 3_900)), 15)];
        var over = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await TunnelFixture.RunAsync(
            async connection =>
            {
                while (true)
                {
                    if ((await connection.ReadHeadAsync()).Target == "/held")
                    {
                        await over.Task;
                        return;
                    }

                    await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }
            },
            async tunnel =>
            {
                var session = tunnel.Entry.Session.Tunnel;
                await using (var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false))
                {
                    Http2VisitorStream? last = null;
                    for (var i = 0; i < Many; i++)
                    {
                        last = await visitor.OpenAsync(Http2Visitor.Request(isTls: false, "/held", fields: large), end: true);
                    }

                    Assert.Equal(7u, await last!.WaitForResetAsync());

                    // A small one is served beside them, on the same connection.
                    Assert.Equal(200, (await visitor.ExchangeAsync(Http2Visitor.Request(isTls: false))).Status);
                    await WaitSignal.UntilAsync(() => Open(session) is > 1 and < Many / 2, "the first ones run, and not all");
                    await tunnel.Entry.Log.WaitForAsync(2112);
                }

                await WaitSignal.UntilAsync(() => Open(session) == 0, "their visitor has left");
                await using var other = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
                Assert.Equal(200, (await other.ExchangeAsync(Http2Visitor.Request(isTls: false, fields: large))).Status);
                over.SetResult();
            },
            new TunnelSetup { Settings = ["Limits:BufferMegabytes=16"] });
    }

    /// <summary>A few addresses would be enough to keep out all large heads, and IPv6 gives thousands to one visitor.</summary>
    [Fact]
    public async Task The_oldest_requests_with_large_heads_end_for_those_of_an_address_that_has_less()
    {
        (string, string)[] large = [.. Enumerable.Repeat(("x-large", new string('a', 3_900)), 15)];
        await TunnelFixture.RunAsync(
            async connection =>
            {
                while ((await connection.ReadHeadAsync()).Target != "/held")
                {
                    await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                }

                await connection.WaitForEndAsync();
            },
            async tunnel =>
            {
                var session = tunnel.Entry.Session.Tunnel;
                await using var hostile = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
                var streams = new List<Http2VisitorStream>();
                for (var i = 0; i < Many; i++)
                {
                    var head = Http2Visitor.Request(isTls: false, "/held", fields: [.. large, ("x-forwarded-for", $"192.0.2.{i / 8}")]);
                    streams.Add(await hostile.OpenAsync(head, end: true));
                }

                await WaitSignal.UntilAsync(() => Open(session) > Many / 2, "most of them run");
                await using var other = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
                for (var i = 0; i < 8; i++)
                {
                    var answer = await other.ExchangeAsync(
                        Http2Visitor.Request(isTls: false, fields: [.. large, ("x-forwarded-for", "198.51.100.1")]));
                    Assert.Equal(200, answer.Status);
                }

                // The server takes up requests of one connection in no certain order, so the oldest need not be the first that was sent.
                var ended = Task.WhenEach(streams.Select(static stream => stream.ReadWholeAsync()));
                Assert.True(await ended.AnyAsync(static async (answer, _) => (await answer).Status == 503));
            },
            new TunnelSetup { Settings = ["Limits:BufferMegabytes=16", "TrustedProxies=127.0.0.1"] });
    }

    private static int Open(TunnelSession session) => session.Uplinks.Sum(static uplink => uplink.OpenStreams);
}
