using System.Globalization;
using Tunnel2.FunctionalTests.Fronts;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Processes;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Errors;

/// <summary>
/// A response that is cut after its head: every byte that came still reaches its visitor, and then an end that says that it is not whole.
/// </summary>
[Trait("Engine", "each")]
public sealed class CutResponseTests
{
    private const int Sent = 3_000_000;

    /// <summary>Less than half of a stream's window: the service and the agent can send it while the visitor reads nothing.</summary>
    private const int OnTheWay = 100_000;

    [Theory]
    [InlineData("HTTP/1.1", "length")]
    [InlineData("HTTP/1.1", "chunked")]
    [InlineData("HTTP/1.1 over TLS", "length")]
    [InlineData("HTTP/1.1 over TLS", "chunked")]
    public Task Curl_gets_the_bytes_and_the_exit_code_that_it_gets_from_the_service_itself(
        string front, string framing) => FrontVisitor.RunRawAsync(
        [],
        connection => AnswerPartAsync(connection, framing),
        async tunnel =>
        {
            var direct = await CurlAsync($"http://127.0.0.1:{tunnel.RawBackend.Port}/");
            Assert.Equal($"18 {Sent}", direct);
            for (var i = 0; i < 5; i++)
            {
                Assert.Equal(direct, await CurlAsync(UrlOf(front, tunnel), "--http1.1"));
            }
        });

    [Theory]
    [InlineData("HTTP/2 over TLS", "length")]
    [InlineData("HTTP/2 over TLS", "chunked")]
    public Task Over_HTTP_2_no_byte_is_lost_either(string front, string framing) => FrontVisitor.RunRawAsync(
        [],
        connection => AnswerPartAsync(connection, framing),
        async tunnel =>
        {
            for (var i = 0; i < 5; i++)
            {
                Assert.Equal($"92 {Sent}", await CurlAsync(UrlOf(front, tunnel), "--http2"));
            }
        });

    [Theory]
    [InlineData("HTTP/1.1", "1.0")]
    [InlineData("HTTP/1.1", "1.1")]
    [InlineData("HTTP/1.1 over TLS", "1.0")]
    [InlineData("HTTP/1.1 over TLS", "1.1")]
    public async Task A_slow_visitor_gets_every_byte_too(string front, string version)
    {
        await FrontVisitor.WithCertificateAsync(setup => TunnelFixture.RunAsync(
            connection => AnswerPartAsync(connection, "chunked"),
            async tunnel =>
            {
                await using var visitor = await FrontVisitor.ConnectRawAsync(front, tunnel);
                await visitor.WriteAsync($"GET / HTTP/{version}\r\nHost: {TunnelFixture.Host}\r\n\r\n");
                var head = await visitor.ReadHeadAsync();
                var body = visitor.OpenBody(head);
                var bytes = new MemoryStream();
                var buffer = new byte[10_000];
                while (await body.ReadAsync(buffer) is > 0 and var count)
                {
                    bytes.Write(buffer, 0, count);
                    if (bytes.Length >= Sent - OnTheWay)
                    {
                        // The agent has seen the cut and sent all it has: the rest is on its way to a visitor who does not read.
                        await tunnel.Agent.Events.RequestCount.WaitForAsync(1);
                    }
                }

                Assert.Equal(version == "1.0" ? ConnectionEnding.Reset : ConnectionEnding.Fin, body.Ending);
                Assert.Equal(Sent, bytes.Length);
                PatternBytes.Verify(bytes.ToArray(), 0);
            },
            setup with { WantsRequests = true }));
    }

    [Fact]
    public Task A_lost_agent_takes_no_byte_back_that_had_come() => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
            await connection.WriteAsync(PatternBytes.Window(0, 100_000));
            await connection.WaitForEndAsync();
        },
        async tunnel =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.SendRequestAsync("/", TunnelFixture.Host);
            var body = visitor.OpenBody(await visitor.ReadHeadAsync());
            var first = new byte[1];
            Assert.Equal(1, await body.ReadAsync(first));
            await WaitSignal.UntilAsync(() => visitor.Socket.Available >= 80_000, "the bytes have come");
            tunnel.Link.CutAll(CutMode.Reset);
            using var rest = new MemoryStream();
            var buffer = new byte[10_000];
            while (await body.ReadAsync(buffer) is > 0 and var count)
            {
                rest.Write(buffer, 0, count);
            }

            Assert.Equal((99_999, ConnectionEnding.Fin), ((int)rest.Length, body.Ending));
        },
        new TunnelSetup { CanBeCut = true });

    private static async Task AnswerPartAsync(RawConnection connection, string framing)
    {
        await connection.ReadHeadAsync();
        await connection.WriteAsync(
            $"HTTP/1.1 200 OK\r\n{(framing == "length" ? "Content-Length: 5000000" : "Transfer-Encoding: chunked")}\r\n\r\n");
        for (var offset = 0; offset < Sent; offset += 100_000)
        {
            if (framing != "length")
            {
                await connection.WriteAsync("186a0\r\n");
            }

            await connection.WriteAsync(PatternBytes.Window(offset, 100_000));
            if (framing != "length")
            {
                await connection.WriteAsync("\r\n");
            }
        }

        await connection.CloseAsync();
    }

    private static string UrlOf(string front, TunnelFixture tunnel) =>
        front.EndsWith("TLS", StringComparison.Ordinal)
            ? string.Create(CultureInfo.InvariantCulture, $"https://{TunnelFixture.Host}:{tunnel.Entry.Https.Port}/")
            : string.Create(CultureInfo.InvariantCulture, $"http://{TunnelFixture.Host}:{tunnel.Entry.Http.Port}/");

    private static async Task<string> CurlAsync(string url, params string[] flags)
    {
        var result = await Shell.RunAsync(
            "curl",
            [
                "-s", "-k", "--max-time", "60", "-o", "/dev/null", "-w", "%{exitcode} %{size_download}\n", "--resolve",
                $"{TunnelFixture.Host}:{new Uri(url).Port}:127.0.0.1", .. flags, url,
            ]);
        return result.Output.Trim();
    }
}
