using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks;

/// <summary>Requests with which nothing was done go to another uplink, and no others.</summary>
[Trait("Engine", "each")]
public sealed class MovedRequestTests
{
    [Theory]
    [InlineData("GET / HTTP/1.1\r\nHost: web.localhost\r\n\r\n", "")]
    [InlineData("POST / HTTP/1.1\r\nHost: web.localhost\r\nContent-Length: 5\r\n\r\nhello", "hello")]
    [InlineData("POST / HTTP/1.1\r\nHost: web.localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello")]
    public Task A_refused_request_is_served_by_another_uplink_body_and_all(string request, string body) => WithTwoAsync(
        async (entry, agent) =>
        {
            await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
            for (var round = 0; round < 3; round++)
            {
                await visitor.WriteAsync(request);
                var (first, head) = await agent.ReceiveAsync();
                Assert.Equal(body, await agent.ReadBodyAsync(first, head));
                await agent[first].SendAsync(UplinkFrames.Rst(head.Stream, StreamResetReason.Refused, StreamResetDetail.GoingAway));
                head = await agent.ReadAsync(1 - first, FrameType.Headers);
                Assert.Equal(body, await agent.ReadBodyAsync(1 - first, head));
                await agent[1 - first].SendAsync(UplinkFrames.Response(head.Stream, body: "done"));
                var answer = await visitor.ReadHeadAsync();
                Assert.Equal(200, answer.StatusCode);
                Assert.Equal("done", (await visitor.ReadBodyAsync(answer)).Text());
            }
        });

    [Fact]
    public Task A_request_that_everybody_refuses_is_a_503_after_four_tries() => WithTwoAsync(async (entry, agent) =>
    {
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.SendRequestAsync("/", TunnelFixture.Host);
        var (at, head) = await agent.ReceiveAsync();
        for (var tries = 1; tries <= 4; tries++)
        {
            await agent[at].SendAsync(UplinkFrames.Rst(head.Stream, StreamResetReason.Refused));
            if (tries < 4)
            {
                at = 1 - at;
                head = await agent.ReadAsync(at, FrameType.Headers);
            }
        }

        var answer = await visitor.ReadHeadAsync();
        Assert.Equal((503, "agent-refused"), (answer.StatusCode, answer["Tunnel2-Error"]));
        await agent.AssertNoRequestAsync();
    });

    [Fact]
    public Task A_body_that_has_gone_by_cannot_be_sent_again() => WithTwoAsync(async (entry, agent) =>
    {
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.WriteAsync($"POST / HTTP/1.1\r\nHost: web.localhost\r\nContent-Length: 100000\r\n\r\n{new string('x', 50_000)}");
        var (at, head) = await agent.ReceiveAsync();
        for (var received = 0; received < 50_000;)
        {
            received += (await agent.ReadAsync(at, FrameType.Data)).Payload.Length;
        }

        // More of it is asked for only once the first part has gone.
        await visitor.WriteAsync("y");
        await agent.ReadAsync(at, FrameType.Data);
        await agent[at].SendAsync(UplinkFrames.Rst(head.Stream, StreamResetReason.Refused));
        var answer = await visitor.ReadHeadAsync();
        Assert.Equal((503, "agent-refused"), (answer.StatusCode, answer["Tunnel2-Error"]));
        await agent.AssertNoRequestAsync();
    });

    [Fact]
    public Task A_body_that_has_not_come_yet_follows_its_request_to_the_other_uplink() => WithTwoAsync(async (entry, agent) =>
    {
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.WriteAsync("POST / HTTP/1.1\r\nHost: web.localhost\r\nContent-Length: 5\r\n\r\n");
        var (at, head) = await agent.ReceiveAsync();
        await agent[at].SendAsync(UplinkFrames.Rst(head.Stream, StreamResetReason.Refused));
        head = await agent.ReadAsync(1 - at, FrameType.Headers);
        await visitor.WriteAsync("hello");
        Assert.Equal("hello", await agent.ReadBodyAsync(1 - at, head));
        await agent[1 - at].SendAsync(UplinkFrames.Response(head.Stream));
        Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
    });

    [Theory]
    [InlineData(StreamResetReason.Cancel)]
    [InlineData(StreamResetReason.Internal)]
    [InlineData(StreamResetReason.BackendConnect)]
    public Task A_request_that_failed_otherwise_is_not_tried_again(StreamResetReason reason) => WithTwoAsync(async (entry, agent) =>
    {
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.SendRequestAsync("/", TunnelFixture.Host);
        var (at, head) = await agent.ReceiveAsync();
        await agent[at].SendAsync(UplinkFrames.Rst(head.Stream, reason));
        Assert.Equal(502, (await visitor.ReadHeadAsync()).StatusCode);
        await agent.AssertNoRequestAsync();
    });

    [Fact]
    public Task A_request_that_was_sent_is_not_tried_again_when_its_uplink_is_lost() => WithTwoAsync(async (entry, agent) =>
    {
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.SendRequestAsync("/", TunnelFixture.Host);
        var (at, _) = await agent.ReceiveAsync();
        agent[at].Connection.Reset();
        var answer = await visitor.ReadHeadAsync();
        Assert.Equal((502, "uplink-lost"), (answer.StatusCode, answer["Tunnel2-Error"]));
        Assert.DoesNotContain(await agent[1 - at].SyncAsync(), static frame => frame.Type == FrameType.Headers);
    });

    [Fact]
    public Task An_uplink_that_says_goaway_gets_no_more_streams_and_finishes_those_it_has() => WithTwoAsync(async (entry, agent) =>
    {
        await using var early = await RawHttpClient.ConnectAsync(entry.Http);
        await early.SendRequestAsync("/early", TunnelFixture.Host);
        var (at, head) = await agent.ReceiveAsync();
        await agent[at].SendAsync(UplinkFrames.GoAway(GoAwayPhase.Notice, SessionEndReason.Shutdown));
        await agent.SyncAsync(at);
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        for (var i = 0; i < 3; i++)
        {
            await visitor.SendRequestAsync("/", TunnelFixture.Host);
            var late = await agent.ReadAsync(1 - at, FrameType.Headers);
            await agent[1 - at].SendAsync(UplinkFrames.Response(late.Stream));
            var served = await visitor.ReadHeadAsync();
            Assert.Equal(200, served.StatusCode);
            await visitor.ReadBodyAsync(served);
        }

        // After the end of its last stream the entry closes it, and the session continues.
        await agent[at].SendAsync(UplinkFrames.Response(head.Stream, body: "early"));
        var answer = await early.ReadHeadAsync();
        Assert.Equal("early", (await early.ReadBodyAsync(answer)).Text());
        Assert.Equal(SessionEndReason.Shutdown, (await agent[at].ReadUntilAsync(FrameType.GoAway)).GoAway.Reason);
        Assert.Null(await agent[at].ReadAsync());
        await agent[at].DisposeAsync();
        await entry.WaitForUplinksAsync(1);
        await agent.SyncAsync(1 - at);
    });

    [Fact]
    public async Task A_request_that_waits_behind_a_stalled_writer_moves_once_the_stall_is_seen()
    {
        await using var entry = await EntryFixture.StartAsync();
        var (stuck, welcome) = await RawUplink.ConnectForSeveralAsync(entry.Uplink, window: int.MaxValue);
        await using var closing = stuck;
        await using var uploader = await RawHttpClient.ConnectAsync(entry.Http);
        await uploader.WriteAsync($"POST /bulk HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 1000000000\r\n\r\n");
        var uploading = Task.Run(async () =>
        {
            try
            {
                while (true)
                {
                    await uploader.WriteAsync(new byte[1 << 20]);
                }
            }
            catch (Exception exception) when (exception is IOException or ObjectDisposedException or System.Net.Sockets.SocketException)
            {
                // The end of the test.
            }
        });

        // The agent reads nothing more: its socket fills, and the writer is stuck.
        var uplink = Assert.Single(entry.Session.Tunnel.Uplinks);
        await WaitSignal.UntilAsync(() => uplink.IsStalled(TimeProvider.System.GetTimestamp()), "the stall is seen");
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.SendRequestAsync("/moved", TunnelFixture.Host);
        await WaitSignal.UntilAsync(() => uplink.OpenStreams == 2, "the request waits on the only uplink");
        await using var good = await RawUplink.JoinAsync(entry.Uplink, welcome);
        var head = await good.ReadUntilAsync(FrameType.Headers);
        Assert.StartsWith("GET /moved\n", head.RequestText, StringComparison.Ordinal);
        await good.SendAsync(UplinkFrames.Response(head.Stream));
        Assert.Equal(200, (await visitor.ReadHeadAsync()).StatusCode);
        Assert.Null(uplink.End);
        stuck.Connection.Reset();
        uploader.Reset();
        await uploading;
    }

    /// <summary>A session with two uplinks that do what the test says.</summary>
    private static async Task WithTwoAsync(Func<EntryFixture, Agent, Task> test)
    {
        await using var entry = await EntryFixture.StartAsync();
        var (first, welcome) = await RawUplink.ConnectForSeveralAsync(entry.Uplink);
        await using var closing = first;
        await using var second = await RawUplink.JoinAsync(entry.Uplink, welcome);
        await test(entry, new Agent(first, second));
        entry.Log.AssertNoErrors();
        await WaitSignal.UntilAsync(
            () => entry.Session.Tunnel.Uplinks.All(static uplink => uplink.ReceiveCredit.Held == 0), "all credit is back");
    }

    /// <summary>An agent with two uplinks, which keeps what came on each.</summary>
    private sealed class Agent(params RawUplink[] uplinks)
    {
        private readonly Queue<ReceivedFrame>[] _inbox = [new(), new()];

        public RawUplink this[int at] => uplinks[at];

        /// <summary>Finds which uplink the next request comes to: both are asked for a sign of life until one says more.</summary>
        public async Task<(int At, ReceivedFrame Head)> ReceiveAsync()
        {
            while (true)
            {
                for (var at = 0; at < uplinks.Length; at++)
                {
                    await SyncAsync(at);
                    if (_inbox[at].Count > 0)
                    {
                        return (at, await ReadAsync(at, FrameType.Headers));
                    }
                }
            }
        }

        /// <summary>Reads a frame that must be of a type; PINGs and WINDOWs are passed over.</summary>
        public async Task<ReceivedFrame> ReadAsync(int at, FrameType type)
        {
            ReceivedFrame? frame;
            while (!_inbox[at].TryDequeue(out frame))
            {
                await SyncAsync(at);
            }

            Assert.Equal(type, frame.Type);
            return frame;
        }

        /// <summary>Reads what is after a request's head, to its end.</summary>
        public async Task<string> ReadBodyAsync(int at, ReceivedFrame head)
        {
            var text = head.RequestText[(head.RequestText.IndexOf("\n\n", StringComparison.Ordinal) + 2)..];
            for (var last = head; (last.Header.Flags & FrameFlags.End) == 0;)
            {
                last = await ReadAsync(at, FrameType.Data);
                Assert.Equal(head.Stream, last.Stream);
                text += System.Text.Encoding.Latin1.GetString(last.Payload);
            }

            return text;
        }

        public async Task AssertNoRequestAsync()
        {
            for (var at = 0; at < uplinks.Length; at++)
            {
                await SyncAsync(at);
                Assert.DoesNotContain(_inbox[at], static frame => frame.Type == FrameType.Headers);
            }
        }

        public async Task SyncAsync(int at)
        {
            foreach (var frame in await uplinks[at].SyncAsync())
            {
                if (frame.Type is FrameType.Headers or FrameType.Data or FrameType.GoAway)
                {
                    _inbox[at].Enqueue(frame);
                }
            }
        }
    }
}
