using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Tests.Exchanges;

/// <summary>Upgraded connections: raw bytes each way until each side's own end.</summary>
public sealed class RawPumpTests
{
    private const string Switch = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n";

    [Fact]
    public Task Both_directions_move_and_each_ends_by_itself() => ExchangeFixture.RunAsync(async fixture =>
    {
        var (asked, backend) = await UpgradeAsync(fixture);
        await backend.SendAsync("from the backend");
        Assert.Equal("from the backend", await Answer.ReadBodyAsync(asked, 16));
        await ExchangeFixture.SendBodyAsync(asked, "from the visitor");
        Assert.Equal("from the visitor", await backend.ReadAsync(16));

        await ExchangeFixture.SendBodyAsync(asked, "last", end: true);
        Assert.Equal(("last", true), await backend.ReadToEndAsync());
        Assert.Equal(0, backend.Agents.Aborts);
        await backend.SendAsync("still");
        Assert.Equal("still", await Answer.ReadBodyAsync(asked, 5));
        backend.Close();
        var rest = await Answer.ReadAsync(asked);
        Assert.Equal(("", true), (rest.Body, rest.IsWhole));
        await fixture.UntilAsync(() => fixture.Context.Active == 0, "the exchange is over");
        Assert.Equal(0, fixture.Context.Backends.Idle.Count);
        Assert.Empty(fixture.Events.Failed);
    });

    [Fact]
    public Task The_backend_may_end_first() => ExchangeFixture.RunAsync(async fixture =>
    {
        var (asked, backend) = await UpgradeAsync(fixture);
        await backend.SendAsync("bye");
        backend.Close();
        Assert.Equal("bye", await Answer.ReadBodyAsync(asked, 3));
        await ExchangeFixture.SendBodyAsync(asked, "one more");
        Assert.Equal("one more", await backend.ReadAsync(8));
        await ExchangeFixture.SendBodyAsync(asked, "", end: true);
        Assert.Equal(("", true), await backend.ReadToEndAsync());
        Assert.True((await Answer.ReadAsync(asked)).IsWhole);
    });

    [Fact]
    public Task What_it_moved_is_reported() => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var (asked, backend) = await UpgradeAsync(fixture);
            await backend.SendAsync("12345");
            Assert.Equal("12345", await Answer.ReadBodyAsync(asked, 5));
            await ExchangeFixture.SendBodyAsync(asked, "123");
            Assert.Equal("123", await backend.ReadAsync(3));
            await EndAsync(asked, backend);
            await fixture.UntilAsync(() => fixture.Events.Completed.Count == 1, "it is reported");
            var reported = fixture.Events.Completed[0];
            Assert.Equal((101, 3L, 5L), (reported.StatusCode, reported.RequestBytes, reported.ResponseBytes));
        },
        wantsRequests: true);

    [Fact]
    public Task What_comes_behind_the_switch_belongs_to_the_new_protocol() => ExchangeFixture.RunAsync(async fixture =>
    {
        var (asked, backend) = await UpgradeAsync(fixture, "first bytes");
        Assert.Equal("first bytes", await Answer.ReadBodyAsync(asked, 11));
        await EndAsync(asked, backend);
    });

    [Fact]
    public Task A_silent_connection_holds_no_buffer() => ExchangeFixture.RunAsync(async fixture =>
    {
        var (asked, backend) = await UpgradeAsync(fixture);
        await backend.SendAsync("x");
        await Answer.ReadBodyAsync(asked, 1);
        await fixture.SettleAsync();
        Assert.Equal(0, fixture.Buffers.Outstanding);
        await EndAsync(asked, backend);
    });

    [Fact]
    public Task What_the_visitor_does_not_take_stays_with_the_service_and_no_buffer_is_held() => ExchangeFixture.RunAsync(async fixture =>
    {
        var (asked, backend) = await UpgradeAsync(fixture);
        var body = new string('x', 1_000_000);
        var sending = backend.SendAsync(body);
        await fixture.UntilAsync(
            () => fixture.Pair.Entry.ReceiveCredit.Held == 256 * 1024, "the stream's window is full");
        await fixture.SettleAsync();
        Assert.Equal(0, fixture.Buffers.Outstanding);

        Assert.Equal(body, await Answer.ReadBodyAsync(asked, body.Length));
        await sending;
        await EndAsync(asked, backend);
    });

    [Fact]
    public Task A_backend_that_breaks_off_is_reported_to_the_visitor() => ExchangeFixture.RunAsync(async fixture =>
    {
        var (asked, backend) = await UpgradeAsync(fixture);
        backend.Reset();
        Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.ClosedInBody), (await Answer.ReadAsync(asked)).Reset);
        Assert.Equal([("backend", "closed the connection in the middle of its answer")], fixture.Events.Failed);
    });

    [Fact]
    public Task A_visitor_who_breaks_off_ends_the_connection() => ExchangeFixture.RunAsync(async fixture =>
    {
        var (asked, backend) = await UpgradeAsync(fixture);
        asked.Reset(StreamResetReason.Cancel);
        asked.Release();
        Assert.False((await backend.ReadToEndAsync()).InOrder);
        await fixture.UntilAsync(() => fixture.Context.Active == 0, "the exchange is over");
        Assert.Empty(fixture.Events.Failed);
    });

    [Fact]
    public Task An_uplink_that_is_lost_ends_the_connection() => ExchangeFixture.RunAsync(async fixture =>
    {
        var (asked, backend) = await UpgradeAsync(fixture);
        fixture.Pair.EntryTransport.Abort();
        Assert.Equal(StreamFailureKind.UplinkLost, (await Answer.ReadAsync(asked)).Failure.Kind);
        Assert.False((await backend.ReadToEndAsync()).InOrder);
    });

    [Fact]
    public Task A_fault_of_ours_ends_the_connection_although_the_backend_takes_nothing() => ExchangeFixture.RunAsync(async fixture =>
    {
        var (asked, backend) = await UpgradeAsync(fixture);
        var sending = asked.WriteAsync(new byte[200_000], end: false).AsTask();
        await fixture.UntilAsync(() => backend.Agents.Inner.Outgoing.IsSendWaiting, "the backend's connection is full");
        backend.Agents.ReceiveFault = new InvalidTimeZoneException();
        await backend.SendAsync("x");
        await fixture.UntilAsync(() => fixture.Context.Active == 0, "the exchange is over");
        Assert.Equal((StreamResetReason.Internal, StreamResetDetail.None), (await Answer.ReadAsync(asked)).Reset);
        await sending;
        Assert.True(backend.IsEnded);
    });

    [Fact]
    public Task A_backend_that_declines_answers_like_any_other() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.AskToUpgrade();
        var backend = await fixture.AcceptAsync();
        await backend.ReadHeadAsync();
        await backend.SendAsync("HTTP/1.1 400 Bad Request\r\nContent-Length: 2\r\n\r\nno");
        var answer = await Answer.ReadAsync(asked);
        Assert.Equal(("400 Bad Request|Content-Length: 2", "no", true), (answer.Head, answer.Body, answer.IsWhole));
    });

    private static async Task<(TunnelStream Asked, ScriptedBackend Backend)> UpgradeAsync(ExchangeFixture fixture, string first = "")
    {
        var asked = fixture.AskToUpgrade();
        var backend = await fixture.AcceptAsync();
        Assert.Equal(
            "GET /ws HTTP/1.1\r\nHost: web.localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
            await backend.ReadHeadAsync());
        await backend.SendAsync(Switch + first);
        Assert.Equal("101 Switching Protocols|Upgrade: websocket", await Answer.ReadHeadAsync(asked));
        return (asked, backend);
    }

    private static async Task EndAsync(TunnelStream asked, ScriptedBackend backend)
    {
        backend.Close();
        await ExchangeFixture.SendBodyAsync(asked, "", end: true);
        Assert.True((await Answer.ReadAsync(asked)).IsWhole);
        Assert.True((await backend.ReadToEndAsync()).InOrder);
    }
}
