using System.Net.Sockets;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Tests.Exchanges;

/// <summary>One request of a visitor at the agent: what becomes of it, of its connection, and what is reported.</summary>
public sealed class BackendExchangeTests
{
    private const string NoWay = "no route to its host, or no free port here for one more connection";

    private const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    [Fact]
    public Task A_request_reaches_the_backend_and_its_answer_the_visitor() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask("/x?y", fields: ("Accept", "*/*"));
        var backend = await fixture.AcceptAsync();
        Assert.Equal("GET /x?y HTTP/1.1\r\nHost: web.localhost\r\nAccept: */*\r\n\r\n", await backend.ReadHeadAsync());
        Assert.Equal(1, fixture.Context.Active);
        await backend.SendAsync("HTTP/1.1 201 Made\r\nServer: s\r\nContent-Length: 5\r\n\r\nhello");
        var answer = await Answer.ReadAsync(asked);
        Assert.True(answer.IsWhole);
        Assert.Equal(["201 Made|Server: s|Content-Length: 5"], answer.Heads);
        Assert.Equal("hello", answer.Body);
        Assert.Empty(fixture.Events.Failed);
    });

    [Fact]
    public Task A_connection_carries_one_request_after_another() => ExchangeFixture.RunAsync(async fixture =>
    {
        var backend = await fixture.KeepOneAsync();
        for (var i = 0; i < 3; i++)
        {
            Assert.Equal("ok", (await fixture.ExchangeAsync(Ok, backend: backend)).Body);
        }

        Assert.Equal(1, fixture.Dialled);
    });

    [Fact]
    public Task Requests_at_the_same_time_have_a_connection_each() => ExchangeFixture.RunAsync(async fixture =>
    {
        var (first, second) = (fixture.Ask("/1"), fixture.Ask("/2"));
        var (one, two) = (await fixture.AcceptAsync(), await fixture.AcceptAsync());
        Assert.StartsWith("GET /1 ", await one.ReadHeadAsync(), StringComparison.Ordinal);
        Assert.StartsWith("GET /2 ", await two.ReadHeadAsync(), StringComparison.Ordinal);
        await two.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n2");
        Assert.Equal("2", (await Answer.ReadAsync(second)).Body);
        await one.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
        Assert.Equal("1", (await Answer.ReadAsync(first)).Body);
        await fixture.UntilAsync(() => fixture.Context.Backends.Idle.Count == 2, "both connections are kept");
    });

    [Fact]
    public Task While_it_waits_for_its_answer_a_request_holds_no_buffer() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        await fixture.SettleAsync();
        Assert.Equal(0, fixture.Buffers.Outstanding);
        await backend.SendAsync(Ok);
        Assert.Equal("ok", (await Answer.ReadAsync(asked)).Body);
    });

    [Fact]
    public Task Where_a_wait_costs_a_buffer_anyway_it_keeps_its_own() => ExchangeFixture.RunAsync(async fixture =>
    {
        fixture.WaitsFreely = false;
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        await fixture.SettleAsync();
        Assert.Equal(1, fixture.Buffers.Outstanding);
        await backend.SendAsync(Ok);
        Assert.Equal("ok", (await Answer.ReadAsync(asked)).Body);
    });

    [Theory]
    [InlineData(SocketError.ConnectionRefused, StreamResetDetail.ConnectionRefused, "connection refused")]
    [InlineData(SocketError.TimedOut, StreamResetDetail.ConnectTimeout, "no connection in time")]
    [InlineData(SocketError.HostUnreachable, StreamResetDetail.Unreachable, NoWay)]
    [InlineData(SocketError.AddressNotAvailable, StreamResetDetail.Unreachable, NoWay)]
    public Task A_backend_that_cannot_be_reached_is_said_so(
        SocketError error, StreamResetDetail detail, string words) => ExchangeFixture.RunAsync(
        async fixture =>
        {
            fixture.Refusal = error;
            var answer = await Answer.ReadAsync(fixture.Ask());
            Assert.Empty(answer.Heads);
            Assert.Equal((StreamResetReason.BackendConnect, detail), answer.Reset);
            Assert.Equal([("backend", words)], fixture.Events.Failed);
        });

    [Fact]
    public Task A_visitor_who_leaves_while_the_backend_thinks_ends_the_connection() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        asked.Reset(StreamResetReason.Cancel);
        asked.Release();
        Assert.False((await backend.ReadToEndAsync()).InOrder);
        await fixture.UntilAsync(() => fixture.Context.Active == 0, "the exchange is over");
        Assert.Empty(fixture.Events.Failed);
        Assert.Equal((1, 0), (fixture.Dialled, fixture.Context.Backends.Idle.Count));
    });

    [Fact]
    public Task A_visitor_who_leaves_while_the_answer_flows_ends_the_connection() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        await backend.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbegin");
        await Answer.ReadHeadAsync(asked);
        asked.Reset(StreamResetReason.Cancel);
        asked.Release();
        await fixture.UntilAsync(() => backend.IsEnded, "the connection is ended");
        Assert.Empty(fixture.Events.Failed);
    });

    [Fact]
    public Task A_visitor_who_leaves_while_the_agent_connects_gives_that_up() => ExchangeFixture.RunAsync(async fixture =>
    {
        var given = new TaskCompletionSource();
        fixture.BeforeOpening = async giveUp =>
        {
            using var registration = giveUp.UnsafeRegister(static state => ((TaskCompletionSource)state!).TrySetCanceled(), given);
            await given.Task;
        };
        var asked = fixture.Ask();
        await fixture.UntilAsync(() => fixture.Dialled == 1, "the agent connects");
        asked.Reset(StreamResetReason.Cancel);
        asked.Release();
        await fixture.UntilAsync(() => fixture.Context.Active == 0, "the exchange is over");
        Assert.True(given.Task.IsCanceled);
        Assert.Empty(fixture.Events.Failed);
    });

    [Fact]
    public Task A_connection_that_comes_when_the_visitor_has_left_is_not_used() => ExchangeFixture.RunAsync(async fixture =>
    {
        var opens = new TaskCompletionSource();
        fixture.BeforeOpening = _ => opens.Task;
        var asked = fixture.Ask();
        await fixture.UntilAsync(() => fixture.Dialled == 1, "the agent connects");
        asked.Reset(StreamResetReason.Cancel);
        asked.Release();
        await fixture.SettleAsync();
        opens.SetResult();
        var backend = await fixture.AcceptAsync();
        Assert.Equal(("", false), await backend.ReadToEndAsync());
    });

    [Fact]
    public Task A_connection_that_is_not_there_in_time_is_given_up() => ExchangeFixture.RunAsync(async fixture =>
    {
        var given = new TaskCompletionSource();
        fixture.BeforeOpening = async giveUp =>
        {
            using var registration = giveUp.UnsafeRegister(static state => ((TaskCompletionSource)state!).TrySetCanceled(), given);
            await given.Task;
        };
        var asked = fixture.Ask();
        await fixture.UntilAsync(() => fixture.Dialled == 1, "the agent connects");
        fixture.Time.Advance(fixture.Context.Connector.Timeout - TimeSpan.FromTicks(1));
        Assert.False(given.Task.IsCompleted);
        fixture.Time.Advance(TimeSpan.FromTicks(1));
        Assert.Equal((StreamResetReason.BackendConnect, StreamResetDetail.ConnectTimeout), (await Answer.ReadAsync(asked)).Reset);
    });

    [Fact]
    public Task An_uplink_that_is_lost_takes_its_exchanges_with_it() => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var asked = fixture.Ask();
            var backend = await fixture.AcceptAsync();
            await backend.ReadHeadAsync();
            fixture.Pair.EntryTransport.Abort();
            Assert.Equal(StreamFailureKind.UplinkLost, (await Answer.ReadAsync(asked)).Failure.Kind);
            Assert.False((await backend.ReadToEndAsync()).InOrder);
            await fixture.UntilAsync(() => fixture.Events.Completed.Count == 1, "the request is reported");
            Assert.Equal(("uplink", "lost before the end"), (fixture.Events.Completed[0].Leg, fixture.Events.Completed[0].Error));
        },
        wantsRequests: true);

    [Fact]
    public Task Requests_beyond_the_limit_are_refused_and_nothing_is_done_with_them() => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var (first, second) = (fixture.Ask(), fixture.Ask());
            var (one, two) = (await fixture.AcceptAsync(), await fixture.AcceptAsync());
            Assert.Equal((StreamResetReason.Refused, StreamResetDetail.TooManyStreams), (await Answer.ReadAsync(fixture.Ask())).Reset);
            Assert.Equal((2, 1L), (fixture.Dialled, fixture.Context.Refused));
            Assert.Equal([("agent", "too many requests at once")], fixture.Events.Failed);
            await one.SendAsync(Ok);
            await two.SendAsync(Ok);
            Assert.True((await Answer.ReadAsync(first)).IsWhole);
            Assert.True((await Answer.ReadAsync(second)).IsWhole);
            await fixture.UntilAsync(() => fixture.Context.Active == 0, "both are over");
            await one.ReadHeadAsync();
            Assert.Equal("ok", (await fixture.ExchangeAsync(Ok, backend: two)).Body);
        },
        ExchangeFixture.Options with { MaxStreams = 2 });

    [Fact]
    public Task Where_there_may_be_no_more_connections_a_request_waits_for_one() => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var (first, second) = (fixture.Ask("/1"), fixture.Ask("/2"));
            var backend = await fixture.AcceptAsync();
            Assert.StartsWith("GET /1 ", await backend.ReadHeadAsync(), StringComparison.Ordinal);
            Assert.Equal((1, 1L, 1), (fixture.Dialled, fixture.Context.Shortages, fixture.Events.Shortages));
            await backend.SendAsync(Ok);
            Assert.True((await Answer.ReadAsync(first)).IsWhole);
            Assert.StartsWith("GET /2 ", await backend.ReadHeadAsync(), StringComparison.Ordinal);
            await backend.SendAsync(Ok);
            Assert.True((await Answer.ReadAsync(second)).IsWhole);
            Assert.Equal(1, fixture.Dialled);
        },
        connections: 1);

    [Fact]
    public Task A_head_that_breaks_the_rules_goes_no_further() => ExchangeFixture.RunAsync(async fixture =>
    {
        Assert.Equal(
            (StreamResetReason.VisitorProtocol, StreamResetDetail.None),
            (await Answer.ReadAsync(fixture.Ask(fields: [("Host", "a"), ("Host", "b")]))).Reset);
        Assert.Equal(
            (StreamResetReason.VisitorProtocol, StreamResetDetail.None),
            (await Answer.ReadAsync(fixture.Ask(method: "CONNECT", target: "a:1"))).Reset);
        Assert.Equal(
            (StreamResetReason.VisitorProtocol, StreamResetDetail.None), (await Answer.ReadAsync(fixture.Ask("http://a/"))).Reset);
        Assert.Equal(0, fixture.Dialled);

        // What cannot be in a head is found when it is written.
        Assert.Equal(
            (StreamResetReason.VisitorProtocol, StreamResetDetail.HeadTooLarge),
            (await Answer.ReadAsync(fixture.Ask("/a b"))).Reset);
        Assert.Empty((await (await fixture.AcceptAsync()).ReadToEndAsync()).Text);
        Assert.Empty(fixture.Events.Failed);
    });

    [Fact]
    public Task A_fault_of_ours_ends_its_own_exchange_and_nothing_else() => ExchangeFixture.RunAsync(async fixture =>
    {
        var first = fixture.Ask();
        var one = await fixture.AcceptAsync();
        fixture.OnOpened = static transport => transport.Fault = new InvalidTimeZoneException();
        var second = await Answer.ReadAsync(fixture.Ask());
        await fixture.AcceptAsync();
        Assert.Equal((StreamResetReason.Internal, StreamResetDetail.None), second.Reset);
        Assert.Equal([("agent", "a fault of the agent itself")], fixture.Events.Failed);
        await one.SendAsync(Ok);
        Assert.Equal("ok", (await Answer.ReadAsync(first)).Body);
    });

    [Fact]
    public Task A_request_is_reported_with_what_it_moved_and_how_long_it_took() => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var asked = fixture.Ask("/p?secret", "POST", "12345", fields: ("Content-Length", "5"));
            var backend = await fixture.AcceptAsync();
            await backend.ReadHeadAsync();
            fixture.Time.Advance(TimeSpan.FromMilliseconds(7));
            await backend.SendAsync("HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc");
            await Answer.ReadAsync(asked);
            await fixture.UntilAsync(() => fixture.Events.Completed.Count == 1, "it is reported");
            Assert.Equal(new RequestSummary("POST", "/p?secret", 404, TimeSpan.FromMilliseconds(7), 5, 3), fixture.Events.Completed[0]);
            Assert.Empty(fixture.Events.Failed);
        },
        wantsRequests: true);

    [Fact]
    public Task A_failure_is_reported_with_its_place() => ExchangeFixture.RunAsync(
        async fixture =>
        {
            fixture.Refusal = SocketError.ConnectionRefused;
            await Answer.ReadAsync(fixture.Ask());
            await fixture.UntilAsync(() => fixture.Events.Completed.Count == 1, "it is reported");
            Assert.Equal(new RequestSummary("GET", "/", 0, default, 0, 0, "connection refused", "backend"), fixture.Events.Completed[0]);
        },
        wantsRequests: true);

    [Fact]
    public Task A_visitor_who_left_is_reported_as_that() => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var asked = fixture.Ask(method: "POST", body: "half", end: false);
            var backend = await fixture.AcceptAsync();
            await backend.ReadHeadAsync();
            asked.Reset(StreamResetReason.Cancel);
            asked.Release();
            await fixture.UntilAsync(() => fixture.Events.Completed.Count == 1, "it is reported");
            Assert.Equal(("visitor", "left before the end"), (fixture.Events.Completed[0].Leg, fixture.Events.Completed[0].Error));
        },
        wantsRequests: true);

    [Fact]
    public Task Who_asks_gets_what_the_exchange_took() => ExchangeFixture.RunAsync(async fixture =>
    {
        var opens = new TaskCompletionSource();
        fixture.BeforeOpening = _ => opens.Task;
        var asked = fixture.Ask(fields: ("Tunnel2-Timing", "1"));
        await fixture.UntilAsync(() => fixture.Dialled == 1, "the agent connects");
        fixture.Time.Advance(TimeSpan.FromMicroseconds(300));
        opens.SetResult();
        var backend = await fixture.AcceptAsync();
        Assert.DoesNotContain("Timing", await backend.ReadHeadAsync(), StringComparison.OrdinalIgnoreCase);
        fixture.Time.Advance(TimeSpan.FromMicroseconds(4000));
        await backend.SendAsync("HTTP/1.1 204 No Content\r\n\r\n");
        Assert.Equal("204 No Content|Tunnel2-Timing: 300,4000", (await Answer.ReadAsync(asked)).Head);
    });

    [Fact]
    public Task The_objects_of_exchanges_are_used_again_without_a_trace_of_the_last_one() => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var backend = await fixture.KeepOneAsync();
            fixture.Time.Advance(TimeSpan.FromMicroseconds(1));
            for (var i = 0; i < 5; i++)
            {
                var asked = fixture.Ask($"/{i}", fields: i == 0 ? [("Tunnel2-Timing", "1")] : []);
                await backend.ReadHeadAsync();
                await backend.SendAsync(i == 1 ? "HTTP/1.1 204 No Content\r\n\r\n" : Ok);
                var answer = await Answer.ReadAsync(asked);
                Assert.Equal(i == 0, answer.Head.Contains("Tunnel2-Timing", StringComparison.Ordinal));
            }

            await fixture.UntilAsync(() => fixture.Events.Completed.Count == 6, "all are reported");
            Assert.Equal(
                [(200, 1L), (200, 2), (204, 0), (200, 2), (200, 2), (200, 2)],
                fixture.Events.Completed.Select(static one => (one.StatusCode, one.ResponseBytes)));
        },
        wantsRequests: true);
}
