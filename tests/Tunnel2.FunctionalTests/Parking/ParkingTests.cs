using System.Diagnostics;
using System.Net.Sockets;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Parking;

/// <summary>Requests for a name whose agent is away.</summary>
public sealed class ParkingTests
{
    /// <summary>REFUSED_STREAM: the request was not taken.</summary>
    private const int Refused = 7;

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public Task A_request_waits_for_the_next_agent_of_its_name_and_continues_there(bool saysGoodbye) => RunAsync(async (entry, backend) =>
    {
        await OnceConnectedAsync(entry, backend, saysGoodbye);
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        await visitor.WriteAsync($"POST /upload HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: 9\r\n\r\nall of it");
        await AssertWaitsAsync(visitor);

        await using var next = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port));

        var head = await visitor.ReadHeadAsync();
        Assert.Equal(200, head.StatusCode);
        Assert.Contains("all of it", (await visitor.ReadBodyAsync(head)).Text(), StringComparison.Ordinal);
    });

    [Fact]
    public Task A_request_that_waited_in_vain_is_asked_to_come_again() => RunAsync(
        async (entry, backend) =>
        {
            await OnceConnectedAsync(entry, backend, saysGoodbye: false);
            var clock = Stopwatch.StartNew();
            await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
            var (head, _) = await visitor.ExchangeAsync("/", TunnelFixture.Host);
            Assert.Equal((503, "agent-offline", "5"), (head.StatusCode, head["Tunnel2-Error"], head["Retry-After"]));
            Assert.InRange(clock.Elapsed.TotalMilliseconds, 700, 8_000);
        },
        "Timeouts:Park=700ms");

    [Fact]
    public Task Where_waiting_is_off_the_answer_comes_at_once() => RunAsync(
        async (entry, backend) =>
        {
            await OnceConnectedAsync(entry, backend, saysGoodbye: false);
            await AssertOfflineAsync(entry);
        },
        "Timeouts:Park=off");

    [Fact]
    public Task A_visitor_who_leaves_makes_room_for_the_next() => RunAsync(
        async (entry, backend) =>
        {
            await OnceConnectedAsync(entry, backend, saysGoodbye: false);
            await using (var leaver = await RawHttpClient.ConnectAsync(entry.Http))
            {
                await leaver.SendRequestAsync("/", TunnelFixture.Host);
                await entry.WaitForParkedAsync(1);
                await AssertWaitsAsync(leaver);

                // There is one place, and it is taken.
                await AssertOfflineAsync(entry);
            }

            await using var next = await RawHttpClient.ConnectAsync(entry.Http);
            await entry.WaitForParkedAsync(0);
            await next.SendRequestAsync("/", TunnelFixture.Host);
            await AssertWaitsAsync(next);
            await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port));
            Assert.Equal(200, (await next.ReadHeadAsync()).StatusCode);
        },
        "Parking:PerName=1",
        "Timeouts:Park=20s");

    [Fact]
    public Task An_upload_counts_for_what_the_connection_may_hold_of_it() => RunAsync(
        async (entry, backend) =>
        {
            await OnceConnectedAsync(entry, backend, saysGoodbye: false);
            (string, string)[] upload =
            [
                (":method", "POST"), (":scheme", "http"), (":authority", TunnelFixture.Host), (":path", "/upload"),
                ("content-length", "900000"),
            ];

            // Over HTTP/2: our own front would read ahead less than a body of this size.
            await using var visitor = await Http2Visitor.ConnectAsync(entry.Http, isTls: false);
            await visitor.OpenAsync(upload);
            await entry.WaitForParkedAsync(1);
            Assert.Equal(503, (await (await visitor.OpenAsync(upload)).ReadAnswerAsync()).Status);
            await using var small = await RawHttpClient.ConnectAsync(entry.Http);
            await small.SendRequestAsync("/", TunnelFixture.Host);
            await AssertWaitsAsync(small);
        },
        "Parking:Megabytes=1",
        "Timeouts:Park=20s");

    [Fact]
    public Task A_request_that_waits_when_ProxyEntry_stops_is_answered_with_the_reason() => RunAsync(
        async (entry, backend) =>
        {
            await OnceConnectedAsync(entry, backend, saysGoodbye: false);
            await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
            await visitor.SendRequestAsync("/", TunnelFixture.Host);
            await entry.WaitForParkedAsync(1);
            await AssertWaitsAsync(visitor);
            await entry.StopAsync();
            var head = await visitor.ReadHeadAsync();
            Assert.Equal(
                (503, "draining", "2", "close"), (head.StatusCode, head["Tunnel2-Error"], head["Retry-After"], head["Connection"]));
        },
        "Timeouts:Park=20s");

    /// <summary>It has no stream that could be reset, and would keep the memory of its head until its wait is over.</summary>
    [Fact]
    public Task A_request_that_waits_ends_where_its_large_head_has_to_give_way() => RunAsync(
        async (entry, backend) =>
        {
            (string, string)[] large = [.. Enumerable.Repeat(("x-large", new string('a', 3_900)), 15)];
            await OnceConnectedAsync(entry, backend, saysGoodbye: false);
            await using var visitor = await Http2Visitor.ConnectAsync(entry.Http, isTls: false);
            var streams = new List<Http2VisitorStream>();
            for (var i = 0; i < 40; i++)
            {
                var head = Http2Visitor.Request(isTls: false, fields: [.. large, ("x-forwarded-for", $"192.0.2.{i / 8}")]);
                streams.Add(await visitor.OpenAsync(head, end: true));
            }

            var ended = Task.WhenEach(streams.Select(static stream => stream.ReadWholeAsync()));
            Assert.True(await ended.AnyAsync(static async (answer, _) => (await answer).Reset is not (null or Refused)));
        },
        "Timeouts:Park=60s",
        "Limits:BufferMegabytes=16",
        "TrustedProxies=127.0.0.1");

    [Fact]
    public async Task A_successor_without_a_token_gets_the_name_while_the_first_still_finishes_what_it_has()
    {
        var mayEnd = new WaitSignal("the answers may end");
        await TunnelFixture.RunAsync(
            connection => AnswerInHalvesAsync(connection, mayEnd),
            async tunnel =>
            {
                await using var slow = await tunnel.ConnectAsync();
                await slow.SendRequestAsync("/", TunnelFixture.Host);
                var head = await slow.ReadHeadAsync();
                var stopping = tunnel.Agent.StopAsync();
                await tunnel.Entry.WaitForGoodbyeAsync();
                await using var successor = await AgentFixture.StartReadyAsync(
                    AgentFixture.Options(tunnel.Entry.Uplink.Port, tunnel.RawBackend.Port));

                await using var visitor = await tunnel.ConnectAsync();
                await visitor.SendRequestAsync("/", TunnelFixture.Host);
                var other = await visitor.ReadHeadAsync();
                Assert.Equal(200, other.StatusCode);
                Assert.False(stopping.IsCompleted);
                mayEnd.Set();
                foreach (var body in new[] { await slow.ReadBodyAsync(head), await visitor.ReadBodyAsync(other) })
                {
                    Assert.Equal(("halfdone", ConnectionEnding.Complete), (body.Text(), body.Ending));
                }

                Assert.Equal(0, await stopping);
                Assert.Equal(1, tunnel.Entry.Directory.Count);
                await successor.StopAsync();
            });
    }

    [Fact]
    public async Task A_takeover_by_another_machine_lets_the_first_finish_and_is_reported_to_it()
    {
        var mayEnd = new WaitSignal("the answer may end");
        await using var backend = RawTcpServer.Start(connection => AnswerInHalvesAsync(connection, mayEnd));
        await using var entry = await EntryFixture.StartAsync(null, "Agents:a:TokenHash=" + EntryTokens.HashSetting("secret"));
        AgentOptions Options() => AgentFixture.Options(entry.Uplink.Port, backend.Port) with { Token = "secret" };
        await using var older = await AgentFixture.StartReadyAsync(Options());
        await using var slow = await RawHttpClient.ConnectAsync(entry.Http);
        await slow.SendRequestAsync("/", TunnelFixture.Host);
        var head = await slow.ReadHeadAsync();

        await using var younger = await AgentFixture.StartReadyAsync(Options());

        Assert.False(older.Completion.IsCompleted);
        mayEnd.Set();
        var body = await slow.ReadBodyAsync(head);
        Assert.Equal(("halfdone", ConnectionEnding.Complete), (body.Text(), body.Ending));
        Assert.Equal(3, await older.Completion.WaitAsync(TimeSpan.FromSeconds(15)));
        Assert.False(younger.Completion.IsCompleted);
        Assert.Equal(1, entry.Directory.Count);
    }

    private static async Task AnswerInHalvesAsync(RawConnection connection, WaitSignal mayEnd)
    {
        await connection.ReadHeadAsync();
        await connection.WriteAsync("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf");
        await mayEnd.WaitAsync();
        await connection.WriteAsync("done");
        await connection.WaitForEndAsync();
    }

    private static async Task RunAsync(Func<EntryFixture, RawTcpServer, Task> test, params string[] settings)
    {
        await using var backend = RawTcpServer.Start(Mirror.ServeAsync);
        await using var entry = await EntryFixture.StartAsync(null, settings);
        await test(entry, backend);
        entry.Log.AssertNoErrors();
    }

    /// <summary>The name is known afterwards, and no session serves it.</summary>
    private static async Task OnceConnectedAsync(EntryFixture entry, RawTcpServer backend, bool saysGoodbye)
    {
        if (saysGoodbye)
        {
            await using var agent = await AgentFixture.StartReadyAsync(AgentFixture.Options(entry.Uplink.Port, backend.Port));
        }
        else
        {
            await using var peer = await RawUplink.ConnectAsAgentAsync(entry.Uplink);
        }

        await entry.WaitForSessionsAsync(0);
    }

    private static async Task AssertOfflineAsync(EntryFixture entry)
    {
        var clock = Stopwatch.StartNew();
        await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
        var (head, _) = await visitor.ExchangeAsync("/", TunnelFixture.Host);
        Assert.Equal((503, "agent-offline"), (head.StatusCode, head["Tunnel2-Error"]));
        Assert.InRange(clock.Elapsed.TotalSeconds, 0, 4);
    }

    /// <summary>Nothing comes for a moment: the request is neither refused nor answered.</summary>
    private static async Task AssertWaitsAsync(RawHttpClient visitor)
    {
        using var moment = new CancellationTokenSource(TimeSpan.FromMilliseconds(300));
        var readable = visitor.Socket.ReceiveAsync(Memory<byte>.Empty, SocketFlags.None, moment.Token).AsTask();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => readable);
    }
}
