using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks;

/// <summary>
/// Answers that keep to the uplink protocol and break HTTP: one request fails, the session and all other requests continue.
/// </summary>
public sealed class HostileAnswerTests
{
    public static TheoryData<string, string> Fields => new()
    {
        { "X-A", "a\r\nSet-Cookie: evil=1" },
        { "X-A", "a\nb" },
        { "X-A", "a\rb" },
        { "X-A", "a\0b" },
        { "X-A", "a\u0001b" },
        { "X-A\r\nX-B", "b" },
        { "X A", "b" },
        { "X-A:", "b" },
        { "", "b" },
        { ":status", "200" },
        { "X-\u00e9", "b" },
        { "Content-Length", "abc" },
        { "Content-Length", "-1" },
        { "Content-Length", "" },
        { "Content-Length", "5, 6" },
        { "Content-Length", "99999999999999999999" },
        { "Content-Length", "+2" },
    };

    [Theory]
    [MemberData(nameof(Fields))]
    public Task A_field_that_cannot_stand_in_http_is_a_502(string name, string value) => OneBadAnswerAsync(
        stream => [UplinkFrames.Response(stream, body: "ok", fields: (name, value))]);

    [Fact]
    public Task Two_lengths_are_a_502() => OneBadAnswerAsync(
        static stream => [UplinkFrames.Response(stream, body: "ok", fields: [("Content-Length", "2"), ("Content-Length", "3")])]);

    [Fact]
    public Task A_switch_without_a_request_for_it_is_a_502() =>
        OneBadAnswerAsync(static stream => [UplinkFrames.Response(stream, 101, end: false)]);

    [Theory]
    [InlineData(204)]
    [InlineData(205)]
    [InlineData(304)]
    public Task A_body_where_none_may_be_is_a_502(int status) =>
        OneBadAnswerAsync(stream => [UplinkFrames.Response(stream, status, body: "surprise")]);

    [Fact]
    public Task A_reason_that_cannot_stand_in_http_is_replaced() => WithAgentAsync(async (tunnel, peer, visitor) =>
    {
        await visitor.SendRequestAsync("/", "raw.localhost");
        var request = await peer.ReadUntilAsync(FrameType.Headers);
        await peer.SendAsync(UplinkFrames.Response(request.Stream, reason: "OK\r\nX-Evil: 1", body: "ok", fields: ("Content-Length", "2")));
        var head = await visitor.ReadHeadAsync();
        Assert.Equal("HTTP/1.1 200 OK", head.StartLine);
        Assert.Null(head["X-Evil"]);
        Assert.Equal("ok", (await visitor.ReadBodyAsync(head)).Text());
    });

    [Fact]
    public Task Hop_by_hop_fields_and_the_tunnels_own_do_not_come_from_an_agent() => WithAgentAsync(async (tunnel, peer, visitor) =>
    {
        await visitor.SendRequestAsync("/", "raw.localhost");
        var request = await peer.ReadUntilAsync(FrameType.Headers);
        await peer.SendAsync(UplinkFrames.Response(
            request.Stream,
            body: "ok",
            fields:
            [
                ("Transfer-Encoding", "chunked"), ("Connection", "close"), ("Tunnel2-Error", "x"), ("Content-Length", "2"), ("X-Fine", "1"),
            ]));
        var head = await visitor.ReadHeadAsync();
        Assert.Equal((200, "1"), (head.StatusCode, head["X-Fine"]));
        Assert.Null(head["Transfer-Encoding"]);
        Assert.Null(head["Connection"]);
        Assert.Null(head["Tunnel2-Error"]);
        Assert.Equal("ok", (await visitor.ReadBodyAsync(head)).Text());
    });

    [Theory]
    [InlineData("10", "short")]
    [InlineData("2", "too long")]
    public Task A_body_of_another_length_than_declared_is_no_whole_answer(string declared, string body) => WithAgentAsync(
        async (tunnel, peer, visitor) =>
        {
            await visitor.SendRequestAsync("/", "raw.localhost");
            var request = await peer.ReadUntilAsync(FrameType.Headers);
            await peer.SendAsync(UplinkFrames.Response(request.Stream, body: body, fields: ("Content-Length", declared)));
            await AssertNotWholeAsync(visitor);
            await peer.SyncAsync();
        });

    [Theory]
    [InlineData("10", "short")]
    [InlineData("2", "too long")]
    public Task Nor_is_it_when_it_comes_piece_by_piece(string declared, string body) => WithAgentAsync(async (tunnel, peer, visitor) =>
    {
        await visitor.SendRequestAsync("/", "raw.localhost");
        var request = await peer.ReadUntilAsync(FrameType.Headers);
        await peer.SendAsync(UplinkFrames.Response(request.Stream, body: body[..1], end: false, fields: ("Content-Length", declared)));
        Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
        await peer.SendAsync(UplinkFrames.Data(request.Stream, body[1..], end: true));
        Assert.NotEqual(int.Parse(declared, System.Globalization.CultureInfo.InvariantCulture), (await visitor.ReadToEndAsync()).Length);

        // A length that was not reached says enough; one that was passed over is no length to trust.
        Assert.Equal(body == "short" ? ConnectionEnding.Fin : ConnectionEnding.Reset, visitor.Ending);
        await peer.SyncAsync();
    });

    [Theory]
    [InlineData(StreamResetReason.Refused, StreamResetDetail.GoingAway, 503, "agent-refused")]
    [InlineData(StreamResetReason.Cancel, StreamResetDetail.None, 502, "agent-failed")]
    [InlineData(StreamResetReason.None, StreamResetDetail.None, 502, "agent-failed")]
    [InlineData(StreamResetReason.Internal, StreamResetDetail.None, 502, "agent-failed")]
    [InlineData((StreamResetReason)999, (StreamResetDetail)999, 502, "agent-failed")]
    [InlineData(StreamResetReason.BackendConnect, StreamResetDetail.ConnectionRefused, 502, "backend-refused")]
    [InlineData(StreamResetReason.BackendConnect, StreamResetDetail.NameNotResolved, 502, "backend-name-not-resolved")]
    [InlineData(StreamResetReason.BackendConnect, StreamResetDetail.ConnectTimeout, 504, "backend-connect-timeout")]
    [InlineData(StreamResetReason.BackendConnect, StreamResetDetail.TlsFailed, 502, "backend-tls-failed")]
    [InlineData(StreamResetReason.BackendConnect, StreamResetDetail.Unreachable, 502, "backend-unreachable")]
    [InlineData(StreamResetReason.BackendConnect, (StreamResetDetail)999, 502, "backend-unreachable")]
    [InlineData(StreamResetReason.BackendTimeout, StreamResetDetail.None, 504, "backend-timeout")]
    [InlineData(StreamResetReason.BackendProtocol, StreamResetDetail.MalformedHead, 502, "backend-protocol")]
    [InlineData(StreamResetReason.BackendProtocol, StreamResetDetail.ClosedBeforeResponse, 502, "backend-closed")]
    [InlineData(StreamResetReason.BackendProtocol, StreamResetDetail.HeadTooLarge, 502, "backend-head-too-large")]
    [InlineData(StreamResetReason.VisitorProtocol, StreamResetDetail.None, 400, "bad-request")]
    public Task A_reset_before_the_answer_is_reported_in_its_own_words(
        StreamResetReason reason, StreamResetDetail detail, int status, string code) => WithAgentAsync(
        async (tunnel, peer, visitor) =>
        {
            await visitor.SendRequestAsync("/", "raw.localhost");
            var request = await peer.ReadUntilAsync(FrameType.Headers);
            await peer.SendAsync(UplinkFrames.Rst(request.Stream, reason, detail));
            var head = await visitor.ReadHeadAsync();
            Assert.Equal((status, code), (head.StatusCode, head["Tunnel2-Error"]));
            Assert.Equal(status == 503 ? "1" : null, head["Retry-After"]);
            await visitor.ReadBodyAsync(head);
        });

    [Fact]
    public Task A_reset_in_the_answer_is_a_cut_for_the_visitor() => WithAgentAsync(async (tunnel, peer, visitor) =>
    {
        await visitor.SendRequestAsync("/", "raw.localhost");
        var request = await peer.ReadUntilAsync(FrameType.Headers);
        await peer.SendAsync(UplinkFrames.Response(request.Stream, body: "begun", end: false));
        var body = visitor.OpenBody(await visitor.ReadHeadAsync());
        Assert.Equal(5, await body.ReadAsync(new byte[5]));
        await peer.SendAsync(UplinkFrames.Rst(request.Stream, StreamResetReason.None));
        Assert.Equal(0, await body.ReadAsync(new byte[5]));
        Assert.Equal(ConnectionEnding.Fin, body.Ending);
    });

    [Fact]
    public Task The_request_crosses_the_uplink_as_it_was_written() => WithAgentAsync(async (tunnel, peer, visitor) =>
    {
        await visitor.WriteAsync("PUT //a?b HTTP/1.1\r\nHost: raw.localhost\r\nContent-Length: 5\r\nX-Case: v\r\n\r\nhello");
        var request = await peer.ReadUntilAsync(FrameType.Headers);
        Assert.Equal(new StreamId(0, 1), request.Stream);
        var lines = request.RequestText.Split('\n');
        Assert.Equal("PUT //a?b", lines[0]);
        string[] expected =
        [
            "Content-Length: 5",
            "Forwarded: for=127.0.0.1;host=\"raw.localhost\";proto=http;by=_tunnel2",
            "Host: raw.localhost",
            "X-Case: v",
            "X-Forwarded-For: 127.0.0.1",
            "X-Forwarded-Host: raw.localhost", $"X-Forwarded-Port: {tunnel.Entry.Http.Port}", "X-Forwarded-Proto: http",
        ];
        Assert.Equal(expected, lines[1..^2].Order(StringComparer.Ordinal));
        var body = request.RequestText[(request.RequestText.IndexOf("\n\n", StringComparison.Ordinal) + 2)..];
        while (body.Length < 5)
        {
            body += System.Text.Encoding.ASCII.GetString((await peer.ReadUntilAsync(FrameType.Data)).Payload);
        }

        Assert.Equal("hello", body);
        await peer.SendAsync(UplinkFrames.Response(request.Stream, 204));
        Assert.Equal(204, (await visitor.ReadHeadAsync()).StatusCode);
    });

    private static Task OneBadAnswerAsync(Func<StreamId, byte[][]> answer) => WithAgentAsync(async (tunnel, peer, visitor) =>
    {
        for (var i = 0; i < 2; i++)
        {
            await visitor.SendRequestAsync("/bad", "raw.localhost");
            var request = await peer.ReadUntilAsync(FrameType.Headers);
            await peer.SendAsync(answer(request.Stream));
            var head = await visitor.ReadHeadAsync();
            Assert.Equal((502, "backend-protocol"), (head.StatusCode, head["Tunnel2-Error"]));
            var body = await visitor.ReadBodyAsync(head);
            Assert.DoesNotContain("evil", head.Text, StringComparison.Ordinal);
            Assert.Equal(ConnectionEnding.Complete, body.Ending);
        }

        await visitor.SendRequestAsync("/good", "raw.localhost");
        var good = await peer.ReadUntilAsync(FrameType.Headers);
        await peer.SendAsync(UplinkFrames.Response(good.Stream, body: "fine", fields: ("Content-Length", "4")));
        var last = await visitor.ReadHeadAsync();
        Assert.Equal(200, last.StatusCode);
        Assert.Equal("fine", (await visitor.ReadBodyAsync(last)).Text());
    });

    private static async Task AssertNotWholeAsync(RawHttpClient visitor)
    {
        RawHttpHead head;
        try
        {
            head = await visitor.ReadHeadAsync();
        }
        catch (RawConnectionEndedException exception)
        {
            Assert.Equal(ConnectionEnding.Reset, exception.Ending);
            return;
        }

        var body = await visitor.ReadBodyAsync(head);
        Assert.True(
            head.StatusCode == 502 || body.Ending is ConnectionEnding.Reset or ConnectionEnding.Fin, $"{head.StartLine} {body.Ending}");
    }

    /// <summary>An agent played by hand under the name "raw", beside a real one.</summary>
    private static Task WithAgentAsync(Func<TunnelFixture, RawUplink, RawHttpClient, Task> test) => TunnelFixture.RunAsync(async tunnel =>
    {
        await using var peer = await RawUplink.ConnectAsAgentAsync(tunnel.Entry.Uplink, "raw");
        await using var visitor = await tunnel.ConnectAsync();
        await test(tunnel, peer, visitor);
        Assert.Equal(200, (await tunnel.ExchangeAsync("/bytes/1")).Head.StatusCode);
        await peer.Connection.CloseAsync();
        await tunnel.Entry.WaitForSessionsAsync(1);
    });
}
