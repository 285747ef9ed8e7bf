using System.Globalization;
using System.Text.Json;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Bodies;

public sealed class TransferTests
{
    private const int Large = 64 * 1024 * 1024;

    public static TheoryData<int> Lengths => [0, 1, 2, 16_383, 16_384, 16_385, 65_536, 262_143, 262_144, 262_145, 1_048_579, 5_000_000];

    [Theory]
    [MemberData(nameof(Lengths))]
    [InlineData(Large)]
    public Task A_download_arrives_whole(int length) => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.SendRequestAsync($"/bytes/{length}", TunnelFixture.Host);
        var head = await visitor.ReadHeadAsync();
        Assert.Equal(length.ToString(CultureInfo.InvariantCulture), head["Content-Length"]);
        Assert.Equal((length, ConnectionEnding.Complete), await VerifyAsync(visitor.OpenBody(head)));
    });

    [Theory]
    [InlineData(1000, 1)]
    [InlineData(500, 10_000)]
    [InlineData(40, 1_000_000)]
    public Task A_chunked_download_arrives_whole(int count, int size) => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.SendRequestAsync($"/stream/{count}/{size}/0", TunnelFixture.Host);
        var head = await visitor.ReadHeadAsync();
        Assert.Equal("chunked", head["Transfer-Encoding"]);
        Assert.Equal((count * size, ConnectionEnding.Complete), await VerifyAsync(visitor.OpenBody(head)));
    });

    [Theory]
    [MemberData(nameof(Lengths))]
    [InlineData(Large)]
    public Task An_upload_of_known_length_arrives_whole(int length) => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.WriteAsync($"POST /sink?hash=1 HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: {length}\r\n\r\n");
        await SendAsync(visitor, length, chunked: false);
        await AssertReceivedAsync(visitor, length);
    });

    [Theory]
    [MemberData(nameof(Lengths))]
    [InlineData(Large)]
    public Task A_chunked_upload_arrives_whole(int length) => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.WriteAsync($"PUT /sink?hash=1 HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nTransfer-Encoding: chunked\r\n\r\n");
        await SendAsync(visitor, length, chunked: true);
        await AssertReceivedAsync(visitor, length);
    });

    [Theory]
    [InlineData(1, false)]
    [InlineData(100_000, true)]
    [InlineData(32 * 1024 * 1024, false)]
    [InlineData(32 * 1024 * 1024, true)]
    public Task Both_directions_move_at_once(int length, bool chunked) => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var visitor = await tunnel.ConnectAsync();
        await visitor.WriteAsync(
            $"POST /echo HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\n"
                + $"{(chunked ? "Transfer-Encoding: chunked" : $"Content-Length: {length}")}\r\n\r\n");

        // The answer's head comes before the body was sent: nothing waits for the whole.
        var head = await visitor.ReadHeadAsync();
        Assert.Equal(200, head.StatusCode);
        var sending = SendAsync(visitor, length, chunked);
        Assert.Equal((length, ConnectionEnding.Complete), await VerifyAsync(visitor.OpenBody(head)));
        await sending;
    });

    [Fact]
    public Task Many_transfers_at_once_do_not_mix() => TunnelFixture.RunAsync(async tunnel =>
    {
        var transfers = Enumerable.Range(0, 40).Select(async i =>
        {
            await using var visitor = await tunnel.ConnectAsync();
            for (var round = 0; round < 5; round++)
            {
                var length = 10_000 + (i * 37_001 * (round + 1) % 700_000);
                await visitor.WriteAsync($"POST /echo HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: {length}\r\n\r\n");
                var sending = SendAsync(visitor, length, chunked: false);
                var head = await visitor.ReadHeadAsync();
                Assert.Equal((length, ConnectionEnding.Complete), await VerifyAsync(visitor.OpenBody(head)));
                await sending;
            }
        });
        await Task.WhenAll(transfers);
    });

    [Fact]
    public Task The_visitors_own_client_gets_what_it_asked_for() => TunnelFixture.RunAsync(async tunnel =>
    {
        var client = tunnel.CreateClient();
        var content = new ByteArrayContent(PatternBytes.Window(0, 300_000).ToArray());
        using var response = await client.PostAsync("/sink?hash=1", content);
        using var json = JsonDocument.Parse(await response.Content.ReadAsStringAsync());
        Assert.Equal(300_000, json.RootElement.GetProperty("bytes").GetInt64());
        Assert.Equal(PatternBytes.Sha256Hex(300_000), json.RootElement.GetProperty("sha256").GetString());
        Assert.Equal(await client.GetStringAsync("/hash/1234567"), PatternBytes.Sha256Hex(1_234_567));
    });

    private static async Task SendAsync(RawHttpClient visitor, long length, bool chunked)
    {
        for (long position = 0; position < length;)
        {
            var piece = PatternBytes.Window(position, Math.Min(200_003, length - position));
            if (chunked)
            {
                await visitor.WriteAsync($"{piece.Length:x}\r\n");
            }

            await visitor.WriteAsync(piece);
            position += piece.Length;
            if (chunked)
            {
                await visitor.WriteAsync("\r\n");
            }
        }

        if (chunked)
        {
            await visitor.WriteAsync("0\r\n\r\n");
        }
    }

    private static async Task<(int Length, ConnectionEnding Ending)> VerifyAsync(RawBodyReader body)
    {
        var buffer = new byte[64 * 1024];
        var total = 0;
        while (await body.ReadAsync(buffer) is > 0 and var count)
        {
            PatternBytes.Verify(buffer.AsSpan(0, count), total);
            total += count;
        }

        return (total, body.Ending);
    }

    private static async Task AssertReceivedAsync(RawHttpClient visitor, int length)
    {
        var head = await visitor.ReadHeadAsync();
        var body = await visitor.ReadBodyAsync(head);
        Assert.Equal(200, head.StatusCode);
        Assert.Equal($"{{\"bytes\":{length},\"sha256\":\"{PatternBytes.Sha256Hex(length)}\"}}", body.Text());
    }
}
