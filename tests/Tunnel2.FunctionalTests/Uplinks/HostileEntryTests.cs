using System.Text;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Protocol.Headers;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks;

/// <summary>A server that is none, or means harm, against the real agent.</summary>
public sealed class HostileEntryTests
{
    private static readonly StreamId _first = new(0, 1);
    private static readonly TimeSpan _long = TimeSpan.FromSeconds(15);

    public static TheoryData<byte[]> NoWelcomes =>
    [
        "HTTP/1.1 400 Bad Request\r\n\r\n"u8.ToArray(),
        new byte[100],
        "SSH-2.0-OpenSSH_9.2\r\n"u8.ToArray(),
        UplinkFrames.Announce(FrameType.Welcome, StreamId.Uplink, (1 << 24) - 1),
        UplinkFrames.Make(FrameType.Welcome, FrameFlags.None, StreamId.Uplink, new byte[200]),
        UplinkFrames.Ping(1),
        UplinkFrames.Request(_first),
        UplinkFrames.Make(FrameType.Reject, FrameFlags.None, StreamId.Uplink, [1]),
    ];

    [Theory]
    [MemberData(nameof(NoWelcomes))]
    public async Task What_is_no_welcome_is_no_server_and_the_agent_tries_again(byte[] answer)
    {
        await using var server = RawTcpServer.Start(async connection =>
        {
            await connection.WriteAsync(answer);
            await connection.WaitForEndAsync();
        });
        await using var agent = AgentFixture.Start(AgentFixture.Options(server.Port, 1));
        await agent.Events.EndCount.WaitForAsync(2, _long);
        var isHttp = answer.AsSpan().StartsWith("HTTP/"u8);
        Assert.All(agent.Events.Ends, end => Assert.Equal(
            (ConnectionEndReason.ServerUnreachable, isHttp ? ConnectFailureReason.HttpServer : ConnectFailureReason.NotTunnel2),
            (end.Reason, end.Failure?.Reason)));
        Assert.Equal(0, await agent.StopAsync());
        Assert.Equal(0, agent.Events.ReadyCount.Value);
    }

    [Theory]
    [InlineData(RejectCode.Unauthorized, RejectionReason.Unauthorized)]
    [InlineData(RejectCode.NameTaken, RejectionReason.NameTaken)]
    [InlineData(RejectCode.InvalidName, RejectionReason.NameNotAllowed)]
    [InlineData(RejectCode.NameNotAllowed, RejectionReason.NameNotAllowed)]
    [InlineData(RejectCode.VersionNotSupported, RejectionReason.VersionUnsupported)]
    [InlineData(RejectCode.Malformed, RejectionReason.Other)]
    [InlineData((RejectCode)999, RejectionReason.Other)]
    public async Task A_refusal_for_good_ends_the_agent_and_says_why(RejectCode code, RejectionReason reason)
    {
        await using var server = RawTcpServer.Start(async connection =>
        {
            await connection.WriteAsync(new RejectMessage(code, TimeSpan.Zero, "no way").ToFrame());
            await connection.WaitForEndAsync();
        });
        await using var agent = AgentFixture.Start(AgentFixture.Options(server.Port, 1));
        Assert.Equal(AgentExitCode.Rejected, await agent.Completion.WaitAsync(_long));
        var end = Assert.Single(agent.Events.Ends);
        Assert.Equal((ConnectionEndReason.RejectedPermanently, reason, "no way"), (end.Reason, end.Rejection?.Reason, end.Rejection?.Text));
    }

    [Fact]
    public async Task A_refusal_for_now_is_not_the_end()
    {
        await using var server = RawTcpServer.Start(async connection =>
        {
            await connection.WriteAsync(new RejectMessage(RejectCode.Overloaded, TimeSpan.FromMilliseconds(1), "full").ToFrame());
            await connection.WaitForEndAsync();
        });
        await using var agent = AgentFixture.Start(AgentFixture.Options(server.Port, 1));
        await agent.Events.EndCount.WaitForAsync(2, _long);
        Assert.All(
            agent.Events.Ends,
            static end => Assert.Equal((ConnectionEndReason.RejectedForNow, RejectionReason.Busy), (end.Reason, end.Rejection?.Reason)));
        Assert.Equal(0, await agent.StopAsync());
    }

    public static TheoryData<string, byte[], ProtocolError> Breaches => new()
    {
        { "a header of zeros", new byte[8], ProtocolError.ReservedFrameType },
        { "a second WELCOME", RawUplink.Welcome().ToFrame(), ProtocolError.UnexpectedHandshake },
        { "DATA on a stream never opened", UplinkFrames.Data(_first, "x"), ProtocolError.UnknownStream },
        { "a stream of a later generation", UplinkFrames.Request(new StreamId(0, 2)), ProtocolError.UnknownStream },
        { "a response", UplinkFrames.Response(_first), ProtocolError.UnknownStream },
        { "16 MB announced", UplinkFrames.Announce(FrameType.Headers, _first, (1 << 24) - 1), ProtocolError.FrameTooLong },
        {
            "a request twice",
            [.. UplinkFrames.Request(_first, "/delay/100000", end: false), .. UplinkFrames.Request(_first)],
            ProtocolError.StreamNotAllowed},
        {
            "bytes behind the end",
            [.. UplinkFrames.Request(_first, "/delay/100000"), .. UplinkFrames.Data(_first, "x")],
            ProtocolError.FrameAfterEnd},
    };

    [Theory]
    [MemberData(nameof(Breaches))]
    public Task A_server_that_breaks_the_protocol_learns_how_and_is_dialled_again(
        string what, byte[] bytes, ProtocolError error) => WithAgentAsync(
        static connection => connection.WaitForEndAsync(),
        async uplink =>
        {
            await uplink.SendAsync(bytes);
            var (_, reason, text) = (await uplink.ReadUntilAsync(FrameType.GoAway)).GoAway;
            Assert.True((reason, text) == (SessionEndReason.ProtocolError, error.ToString()), $"{what}: {reason} {text}");
            await uplink.ReadToEndAsync();
        },
        async agent =>
        {
            await agent.Events.EndCount.WaitForAsync(1);
            Assert.Equal(ConnectionEndReason.Lost, agent.Events.Ends[0].Reason);
        });

    public static TheoryData<string, byte[]> BadRequests => new()
    {
        { "a target with a line break", UplinkFrames.Request(_first, "/ HTTP/1.1\r\nX-Evil: 1\r\n\r\n") },
        { "a target with a space", UplinkFrames.Request(_first, "/a b") },
        { "an empty target", UplinkFrames.Request(_first, "") },
        { "a target with another host", UplinkFrames.Request(_first, "http://169.254.169.254/latest") },
        { "a method with a space", UplinkFrames.Request(_first, method: "GET /evil") },
        { "a method with a line break", UplinkFrames.Request(_first, method: "GET\r\n") },
        { "a name with a colon", UplinkFrames.Request(_first, fields: ("Evil:", "x")) },
        { "an empty name", UplinkFrames.Request(_first, fields: ("", "x")) },
        { "a name with a line break", UplinkFrames.Request(_first, fields: ("A\r\nB", "x")) },
        { "a value with a line break", UplinkFrames.Request(_first, fields: ("A", "x\r\nB: y")) },
        { "a value with a lone line feed", UplinkFrames.Request(_first, fields: ("A", "x\nB: y")) },
        { "a value with a zero byte", UplinkFrames.Request(_first, fields: ("A", "x\0")) },
        { "a transfer coding", UplinkFrames.Request(_first, fields: ("Transfer-Encoding", "chunked"), end: false) },
        { "a length that is no number", UplinkFrames.Request(_first, fields: ("Content-Length", "5x"), end: false) },
        { "two lengths", UplinkFrames.Request(_first, end: false, fields: [("Content-Length", "5"), ("Content-Length", "6")]) },
        { "a length and no body", UplinkFrames.Request(_first, fields: ("Content-Length", "5")) },
    };

    [Theory]
    [MemberData(nameof(BadRequests))]
    public Task A_request_that_cannot_stand_in_http_never_reaches_the_backend(string what, byte[] frame) => WithAgentAsync(
        async connection => Assert.Fail((await connection.ReadHeadAsync()).Text),
        async uplink =>
        {
            await uplink.SendAsync(frame);
            var (reason, _) = (await uplink.ReadUntilAsync(FrameType.Rst)).Rst;
            Assert.True(reason == StreamResetReason.VisitorProtocol, $"{what}: {reason}");

            // The session continues.
            await uplink.SendAsync(UplinkFrames.Rst(_first, StreamResetReason.None));
            await uplink.SyncAsync();
        });

    [Theory]
    [InlineData("too much", false)]
    [InlineData("too", true)]
    public async Task A_body_of_another_length_than_declared_is_never_whole_for_the_backend(string body, bool end)
    {
        var seen = new WaitSignal("the backend saw the end");
        await WithAgentAsync(
            async connection =>
            {
                var read = await connection.ReadBodyAsync(await connection.ReadHeadAsync());
                if (read.Ending == ConnectionEnding.Complete)
                {
                    seen.Fail(new InvalidOperationException($"Whole: {read.Text()}"));
                }

                seen.Set();
            },
            async uplink =>
            {
                await uplink.SendAsync(UplinkFrames.Request(_first, method: "POST", end: false, fields: ("Content-Length", "5")));
                await uplink.SendAsync(UplinkFrames.Data(_first, body, end));
                await seen.WaitAsync();
                Assert.Equal(StreamResetReason.VisitorProtocol, (await uplink.ReadUntilAsync(FrameType.Rst)).Rst.Reason);
                await uplink.SendAsync(UplinkFrames.Rst(_first, StreamResetReason.None));
                await uplink.SyncAsync();
            });
    }

    [Fact]
    public Task Nothing_from_the_wire_chooses_where_the_agent_connects() => WithAgentAsync(
        Mirror.ServeAsync,
        async uplink =>
        {
            await uplink.SendAsync(UplinkFrames.Request(_first, "//169.254.169.254/latest", fields: ("Host", "169.254.169.254")));
            var answer = await ReadResponseAsync(uplink);
            Assert.StartsWith("GET //169.254.169.254/latest HTTP/1.1\r\nHost: 169.254.169.254\r\n", answer, StringComparison.Ordinal);
        });

    [Fact]
    public Task Trailers_of_both_directions_cross_the_agent() => WithAgentAsync(
        async connection =>
        {
            var head = await connection.ReadHeadAsync();
            var body = await connection.ReadBodyAsync(head);
            Assert.Equal(ConnectionEnding.Complete, body.Ending);
            await connection.WriteAsync(
                $"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n{body.Bytes.Length:x}\r\n{body.Text()}\r\n0\r\n"
                + $"X-Sum: {string.Join(",", body.Trailers.Select(static field => $"{field.Key}={field.Value}"))}\r\nX-Sum: again\r\n\r\n");
        },
        async uplink =>
        {
            await uplink.SendAsync(
                UplinkFrames.Request(_first, method: "POST", end: false, fields: [("TE", "trailers"), ("Trailer", "X-Check")]),
                UplinkFrames.Data(_first, "hello"),
                UplinkFrames.Trailers(_first, ("X-Check", "1"), ("x-other", "\u00e9")));
            var frames = new List<ReceivedFrame>();
            do
            {
                frames.Add(await uplink.ReadAsync() ?? throw new InvalidOperationException("The agent left."));
            }
            while (!frames[^1].Header.EndsDirection || frames[^1].Type is not (FrameType.Headers or FrameType.Data));
            var heads = frames.Where(static frame => frame.Type == FrameType.Headers).ToList();
            Assert.Equal(2, heads.Count);
            Assert.Equal(200, heads[0].ResponseStatus);
            Assert.Equal(ProtocolError.None, HeaderBlock.TrySplit(heads[1].Payload, out var bytes, out _));
            Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(bytes, out var trailers));
            Assert.Equal(HeaderBlockKind.Trailers, trailers.Kind);
            var text = new List<string>();
            foreach (var line in trailers.Fields)
            {
                text.Add($"{Encoding.Latin1.GetString(line.Name)}: {Encoding.Latin1.GetString(line.Value)}");
            }

            Assert.Equal(["X-Sum: X-Check=1,x-other=\u00e9", "X-Sum: again"], text);
        });

    [Fact]
    public Task Interim_answers_and_the_order_and_case_of_fields_cross_the_agent() => WithAgentAsync(
        async connection =>
        {
            var head = await connection.ReadHeadAsync();
            Assert.Equal("GET /x HTTP/1.1\r\nX-b: 1\r\nHOST: a\r\nx-A: 2\r\nX-b: 3\r\n\r\n", head.Text);
            await connection.WriteAsync(
                "HTTP/1.1 103 Early\r\nLink: a\r\n\r\nHTTP/1.1 200 Very OK\r\nx-B: 1\r\nX-a:\r\nx-B: 2\r\nContent-Length: 0\r\n\r\n");
        },
        async uplink =>
        {
            await uplink.SendAsync(UplinkFrames.Request(_first, "/x", fields: [("X-b", "1"), ("HOST", "a"), ("x-A", "2"), ("X-b", "3")]));
            var interim = await uplink.ReadUntilAsync(FrameType.Headers);
            Assert.Equal((103, false), (interim.ResponseStatus, interim.Header.EndsDirection));
            var final = await uplink.ReadUntilAsync(FrameType.Headers);
            Assert.Equal((200, true), (final.ResponseStatus, final.Header.EndsDirection));
            Assert.Equal(ProtocolError.None, HeaderBlock.TrySplit(final.Payload, out var bytes, out _));
            Assert.Equal(ProtocolError.None, HeaderBlock.TryRead(bytes, out var block));
            Assert.Equal("Very OK", Encoding.Latin1.GetString(block.ReasonPhrase));
            var text = new List<string>();
            foreach (var line in block.Fields)
            {
                text.Add($"{Encoding.Latin1.GetString(line.Name)}: {Encoding.Latin1.GetString(line.Value)}");
            }

            Assert.Equal(["x-B: 1", "X-a: ", "x-B: 2", "Content-Length: 0"], text);
        });

    [Fact]
    public async Task The_agent_reads_no_more_from_the_backend_than_it_has_credit_for()
    {
        var written = new AsyncCounter("bytes that the backend wrote");
        await WithAgentAsync(
            async connection =>
            {
                await connection.ReadHeadAsync();
                await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n");
                for (var i = 0; i < 1000; i++)
                {
                    await connection.WriteAsync(PatternBytes.Window(0, 100_000));
                    written.Add(100_000);
                }
            },
            async uplink =>
            {
                await uplink.SendAsync(UplinkFrames.Request(_first));
                var received = 0;
                while (received < ProtocolLimits.DefaultStreamWindow)
                {
                    var frame = await uplink.ReadAsync();
                    received += frame!.Type switch
                    {
                        FrameType.Data => frame.Payload.Length,
                        FrameType.Headers when HeaderBlock.TrySplit(frame.Payload, out _, out var body) == ProtocolError.None =>
                            body.Length,
                        _ => 0,
                    };
                }

                // Exactly the window, and then only the answer to a ping.
                Assert.Equal(ProtocolLimits.DefaultStreamWindow, received);
                Assert.Empty(await uplink.SyncAsync());
                Assert.InRange(written.Value, 1, 24_000_000);
                await uplink.SendAsync(UplinkFrames.Window(_first, 10));
                var next = await uplink.ReadUntilAsync(FrameType.Data);
                Assert.Equal(10, next.Payload.Length);
                await uplink.SendAsync(UplinkFrames.Rst(_first, StreamResetReason.Cancel));
                Assert.DoesNotContain(await uplink.SyncAsync(), static frame => frame.Type == FrameType.Data);
            });
    }

    private static async Task<string> ReadResponseAsync(RawUplink uplink)
    {
        var text = new StringBuilder();
        ReceivedFrame frame;
        do
        {
            frame = await uplink.ReadAsync() ?? throw new InvalidOperationException("The agent left.");
            if (frame.Type == FrameType.Headers)
            {
                Assert.Equal(ProtocolError.None, HeaderBlock.TrySplit(frame.Payload, out _, out var body));
                text.Append(Encoding.Latin1.GetString(body));
            }
            else if (frame.Type == FrameType.Data)
            {
                text.Append(Encoding.Latin1.GetString(frame.Payload));
            }
        }
        while (!frame.Header.EndsDirection);
        return text.ToString();
    }

    /// <summary>The real agent against a server played by hand.</summary>
    private static async Task WithAgentAsync(
        Func<RawConnection, Task> backend, Func<RawUplink, Task> server, Func<AgentFixture, Task>? afterwards = null)
    {
        var done = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        await using var raw = RawTcpServer.Start(backend);
        await using var entry = RawUplink.StartEntry(async uplink =>
        {
            try
            {
                await server(uplink);
                done.TrySetResult();
            }
            catch (Exception exception)
            {
                done.TrySetException(exception);
            }

            // As a server does: nothing is under way once the agent has said goodbye, so the connection ends.
            await uplink.WaitForGoodbyeAsync();
        });
        await using var agent = AgentFixture.Start(AgentFixture.Options(entry.Port, raw.Port));
        await done.Task.WaitAsync(_long);
        if (afterwards is not null)
        {
            await afterwards(agent);
        }
    }
}
