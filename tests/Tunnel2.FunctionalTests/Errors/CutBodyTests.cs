using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Errors;

public sealed class CutBodyTests
{
    public static TheoryData<string, string, bool> Cuts => new()
    {
        { "Content-Length: 10", "hello", false },
        { "Content-Length: 10", "hello", true },
        { "Transfer-Encoding: chunked", "5\r\nhello\r\n", false },
        { "Transfer-Encoding: chunked", "5\r\nhello\r\n", true },
        { "Transfer-Encoding: chunked", "9\r\nhello", false },
        { "Transfer-Encoding: chunked", "5\r\nhello", false },
        { "Transfer-Encoding: chunked", "5\r\nhello\r\n5", false },
        { "Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n", false },
        { "Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\nX-Sum: 1\r\n", false },
        { "Connection: close", "hello", true },
    };

    /// <summary>Faults in the coding, after a chunk that was fine.</summary>
    public static TheoryData<string> Broken =>
    [
        "x\r\n", "-1\r\nx", "5\nhello", "\r\n", "ffffffffffffffffff\r\n", "5\r\nworldXX0\r\n\r\n", "5\r\nworld\n", "0x5\r\nworld\r\n",
        "0\r\nBad Name: x\r\n\r\n",
    ];

    [Theory]
    [MemberData(nameof(Cuts))]
    public Task A_body_that_is_cut_short_never_ends_in_order(string fields, string before, bool reset) =>
        CutAsync("1.1", fields, before, reset);

    [Theory]
    [MemberData(nameof(Cuts))]
    public Task Not_even_for_a_visitor_to_whom_the_end_of_the_connection_is_the_end(string fields, string before, bool reset) =>
        CutAsync("1.0", fields, before, reset);

    [Theory]
    [MemberData(nameof(Cuts))]
    public Task A_body_that_is_cut_at_once_is_a_cut_or_an_error_and_never_a_mixture(
        string fields, string before, bool reset) => TunnelFixture.RunAsync(
        async connection =>
        {
            await connection.ReadHeadAsync();
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n{before}");
            if (reset)
            {
                connection.Reset();
            }
            else
            {
                await connection.CloseAsync();
            }
        },
        async tunnel =>
        {
            for (var i = 0; i < 20; i++)
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.SendRequestAsync("/", TunnelFixture.Host, fields: "Connection: close\r\n");
                var bytes = System.Text.Encoding.Latin1.GetString(await visitor.ReadToEndAsync());
                if (bytes.StartsWith("HTTP/1.1 502 ", StringComparison.Ordinal))
                {
                    Assert.Contains("\r\nTunnel2-Error: backend-", bytes, StringComparison.Ordinal);
                    Assert.DoesNotContain("hello", bytes, StringComparison.Ordinal);
                }
                else
                {
                    // All of these have a framing for a visitor of HTTP/1.1, which says that the rest is missing.
                    Assert.Equal(ConnectionEnding.Fin, visitor.Ending);
                    Assert.DoesNotContain("\r\n0\r\n", bytes, StringComparison.Ordinal);
                    Assert.EndsWith("hello", bytes.TrimEnd(), StringComparison.Ordinal);
                    Assert.True(bytes.Length == 0 || bytes.StartsWith("HTTP/1.1 200 OK\r\n", StringComparison.Ordinal), bytes);
                }
            }
        });

    [Theory]
    [MemberData(nameof(Broken))]
    public async Task A_body_whose_coding_breaks_never_ends_in_order(string rest)
    {
        var mayGoOn = new WaitSignal("the visitor has the first chunk");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
                await mayGoOn.WaitAsync();
                await connection.WriteAsync(rest);
                Assert.NotEqual(ConnectionEnding.Open, await connection.WaitForEndAsync());
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.SendRequestAsync("/", TunnelFixture.Host);
                var body = visitor.OpenBody(await visitor.ReadHeadAsync());
                await ReadHelloAsync(body);
                mayGoOn.Set();
                while (await body.ReadAsync(new byte[100]) > 0)
                {
                    // What was before the fault.
                }

                Assert.Equal(ConnectionEnding.Fin, body.Ending);
            });
    }

    [Fact]
    public Task A_reset_in_the_middle_of_megabytes_reaches_the_visitor_behind_the_bytes_before_it() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            foreach (var target in new[] { "/abort/3000000?length=5000000", "/abort/3000000" })
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.SendRequestAsync(target, TunnelFixture.Host);
                var head = await visitor.ReadHeadAsync();
                Assert.Equal(200, head.StatusCode);
                var body = await visitor.ReadBodyAsync(head);
                Assert.Equal(ConnectionEnding.Fin, body.Ending);
                PatternBytes.Verify(body.Bytes, 0);
            }
        });

    private static async Task CutAsync(string version, string fields, string before, bool reset)
    {
        var mayCut = new WaitSignal("the visitor has what came before the cut");
        await TunnelFixture.RunAsync(
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync($"HTTP/1.1 200 OK\r\n{fields}\r\n\r\n{before}");
                await mayCut.WaitAsync();
                if (reset)
                {
                    connection.Reset();
                }
                else
                {
                    await connection.CloseAsync();
                }
            },
            async tunnel =>
            {
                await using var visitor = await tunnel.ConnectAsync();
                await visitor.WriteAsync($"GET / HTTP/{version}\r\nHost: {TunnelFixture.Host}\r\n\r\n");
                var body = visitor.OpenBody(await visitor.ReadHeadAsync());
                await ReadHelloAsync(body);
                mayCut.Set();

                // HTTP/1.0 knows no chunks, and its readers may take the end of the connection for that of the body.
                Assert.Equal(0, await body.ReadAsync(new byte[100]));
                Assert.Equal(version == "1.0" ? ConnectionEnding.Reset : ConnectionEnding.Fin, body.Ending);
            });
    }

    private static async Task ReadHelloAsync(RawBodyReader body)
    {
        var buffer = new byte[5];
        for (var count = 0; count < 5;)
        {
            var read = await body.ReadAsync(buffer.AsMemory(count));
            Assert.NotEqual(0, read);
            count += read;
        }

        Assert.Equal("hello"u8.ToArray(), buffer);
    }
}
