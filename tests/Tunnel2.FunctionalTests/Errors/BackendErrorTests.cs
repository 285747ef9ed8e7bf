using System.Diagnostics;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Errors;

public sealed class BackendErrorTests
{
    public static TheoryData<string, string> Hostile => new()
    {
        // Nothing, or only the beginning of something.
        { "", "backend-closed" },
        { "HTTP/1.1 2", "backend-closed" },
        { "HTTP/1.1 200 OK\r\nContent-Le", "backend-closed" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", "backend-closed" },
        { "HTTP/1.1 103 Early Hints\r\n\r\n", "backend-closed" },

        // Something else than HTTP.
        { "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "backend-protocol" },
        { "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "backend-speaks-tls" },
        { "\x15\x03\x01\x00\x02\x02\x46", "backend-speaks-tls" },
        { "\x15\x03\x03\x00\x02\x02\x28", "backend-speaks-tls" },
        { "\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64", "backend-speaks-http2" },
        { "\0\0\0\x04\0\0\0\0\0", "backend-speaks-http2" },
        { "\0\0\x08\a\0\0\0\0\0\0\0\0\0\0\0\0\x01", "backend-speaks-http2" },
        { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "backend-speaks-http2" },
        { "\0\0\x05\x04\0\0\0\0\0", "backend-protocol" },
        { "\x15\x02\x01\x00\x02\x02\x46", "backend-protocol" },
        { "<html>hello</html>\r\n\r\n", "backend-protocol" },
        { "ICY 200 OK\r\n\r\n", "backend-protocol" },
        { "\r\n\r\n\r\n", "backend-protocol" },
        { "HTTP/2.0 200 OK\r\n\r\n", "backend-protocol" },
        { "http/1.1 200 OK\r\n\r\n", "backend-protocol" },

        // Broken status lines.
        { "HTTP/1.1 20 OK\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1 2000 OK\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1 099 OK\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1 -10 OK\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1 abc OK\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1  200 OK\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1 200 O\0K\r\n\r\n", "backend-protocol" },

        // Illegal bytes in fields.
        { "HTTP/1.1 200 OK\r\nX-A: a\0b\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1 200 OK\r\nX-A: a\rb\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1 200 OK\r\nX A: b\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1 200 OK\r\nX-A : b\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1 200 OK\r\n: b\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1 200 OK\r\nnothing\r\n\r\n", "backend-protocol" },

        // Lengths and codings with two readings, or none.
        { "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "backend-protocol" },
        { "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\nhello", "backend-protocol" },
        { "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nhello", "backend-protocol" },
        { "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nhello", "backend-protocol" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello", "backend-protocol" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", "backend-protocol" },
        { "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", "backend-protocol" },
    };

    [Theory]
    [MemberData(nameof(Hostile))]
    public Task An_answer_that_is_no_http_is_a_502_and_the_next_request_is_fine(string answer, string code) => TunnelFixture.RunAsync(
        async connection =>
        {
            while (await connection.ReadHeadAsync() is { } head)
            {
                if (head.Target == "/good")
                {
                    await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood");
                    continue;
                }

                await connection.WriteAsync(answer);
                await connection.CloseAsync();
                return;
            }
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            for (var i = 0; i < 2; i++)
            {
                var (head, body) = await visitor.ExchangeAsync("/bad", TunnelFixture.Host);
                Assert.Equal((502, code), (head.StatusCode, head["Tunnel2-Error"]));
                Assert.Equal(ConnectionEnding.Complete, body.Ending);
                Assert.DoesNotContain("hello", body.Text(), StringComparison.Ordinal);
                Assert.Equal("no-store", head["Cache-Control"]);
                var (good, text) = await visitor.ExchangeAsync("/good", TunnelFixture.Host);
                Assert.Equal((200, "good"), (good.StatusCode, text.Text()));
            }
        });

    [Fact]
    public async Task A_backend_that_is_not_there_is_a_502_within_a_second_and_200_as_soon_as_it_is()
    {
        using var port = new RefusedPort();
        await TunnelFixture.RunAsync(port.Port, async tunnel =>
        {
            await Promptness.AssertWithinAsync(TimeSpan.FromSeconds(1), async _ =>
            {
                var start = Stopwatch.GetTimestamp();
                for (var i = 0; i < 5; i++)
                {
                    var (head, _) = await tunnel.ExchangeAsync("/");
                    Assert.Equal((502, "backend-refused"), (head.StatusCode, head["Tunnel2-Error"]));
                }

                return start;
            });
            var listener = port.Listen();
            var serving = Task.Run(async () =>
            {
                await using var connection = new RawConnection(await listener.AcceptAsync());
                await connection.ReadHeadAsync();
                await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
                await connection.WaitForEndAsync();
            });
            Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode);
            await tunnel.Agent.StopAsync();
            await serving;
        });
    }

    [Fact]
    public async Task A_post_to_a_backend_that_is_not_there_is_a_502_too()
    {
        using var port = new RefusedPort();
        await TunnelFixture.RunAsync(port.Port, static async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync(
                $"POST / HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 100000000\r\n\r\n{new string('x', 100_000)}");
            var head = await visitor.ReadHeadAsync();
            Assert.Equal((502, "backend-refused"), (head.StatusCode, head["Tunnel2-Error"]));
        });
    }

    [Fact]
    public Task A_backend_whose_name_has_no_address_is_a_502_that_says_so() => TunnelFixture.RunAsync(
        1,
        async tunnel =>
        {
            var (head, _) = await tunnel.ExchangeAsync("/");
            Assert.Equal((502, "backend-name-not-resolved"), (head.StatusCode, head["Tunnel2-Error"]));
        },
        new TunnelSetup
        {
            Agent = static options => options with { Upstream = options.Upstream with { Host = new string('x', 64) + ".invalid" } },
        });

    [Fact]
    public async Task A_backend_called_localhost_is_found_at_the_address_at_which_it_listens()
    {
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await TunnelFixture.RunAsync(
            backend.Port,
            async tunnel => Assert.Equal(200, (await tunnel.ExchangeAsync("/")).Head.StatusCode),
            new TunnelSetup { Agent = static options => options with { Upstream = options.Upstream with { Host = "localhost" } } });
    }
}
