using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Protocol.Errors;

namespace Tunnel2.Client.Tests.Exchanges;

/// <summary>A request on a kept connection: when it is sent again, and whose answer it is that comes there.</summary>
public sealed class BackendExchangeKeptTests
{
    private const string Ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    [Theory]
    [InlineData("GET", true)]
    [InlineData("HEAD", true)]
    [InlineData("PUT", true)]
    [InlineData("POST", false)]
    [InlineData("PATCH", false)]
    public Task A_kept_connection_that_was_closed_costs_only_a_request_that_may_not_be_sent_again(string method, bool isSentAgain) =>
        ExchangeFixture.RunAsync(async fixture =>
        {
            var kept = await fixture.KeepOneAsync();
            var asked = fixture.Ask(method: method);
            await kept.ReadHeadAsync();
            kept.Close();
            if (!isSentAgain)
            {
                Assert.Equal(
                    (StreamResetReason.BackendProtocol, StreamResetDetail.ClosedBeforeResponse),
                    (await Answer.ReadAsync(asked)).Reset);
                Assert.Equal(1, fixture.Dialled);
                return;
            }

            var fresh = await fixture.AcceptAsync();
            Assert.StartsWith($"{method} / ", await fresh.ReadHeadAsync(), StringComparison.Ordinal);
            await fresh.SendAsync("HTTP/1.1 204 No Content\r\n\r\n");
            Assert.Equal("204 No Content", (await Answer.ReadAsync(asked)).Head);
            Assert.True(kept.IsEnded);
            Assert.Empty(fixture.Events.Failed);
        });

    [Fact]
    public Task It_is_sent_again_once_and_on_a_new_connection() => ExchangeFixture.RunAsync(async fixture =>
    {
        var first = fixture.Ask();
        var second = fixture.Ask();
        var (one, two) = (await fixture.AcceptAsync(), await fixture.AcceptAsync());
        await one.SendAsync(Ok);
        await two.SendAsync(Ok);
        await Answer.ReadAsync(first);
        await Answer.ReadAsync(second);
        await fixture.UntilAsync(() => fixture.Context.Backends.Idle.Count == 2, "two connections are kept");

        var asked = fixture.Ask();
        await two.ReadHeadAsync();
        await two.ReadHeadAsync();
        two.Close();
        var fresh = await fixture.AcceptAsync();
        await fresh.ReadHeadAsync();
        fresh.Close();
        Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.ClosedBeforeResponse), (await Answer.ReadAsync(asked)).Reset);
        Assert.Equal((3, 1), (fixture.Dialled, fixture.Context.Backends.Idle.Count));
        Assert.Equal([("backend", "closed the connection before it answered")], fixture.Events.Failed);
    });

    [Fact]
    public Task A_new_connection_that_is_closed_without_an_answer_is_the_backends_failure() => ExchangeFixture.RunAsync(async fixture =>
    {
        var asked = fixture.Ask();
        var backend = await fixture.AcceptAsync();
        backend.Close();
        Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.ClosedBeforeResponse), (await Answer.ReadAsync(asked)).Reset);
        Assert.Equal(1, fixture.Dialled);
    });

    [Fact]
    public Task A_send_that_fails_is_found_out_before_anything_is_waited_for() => ExchangeFixture.RunAsync(async fixture =>
    {
        fixture.OnOpened = static transport => transport.Inner.FailSendAt = 1;
        var asked = fixture.Ask();
        await fixture.AcceptAsync();
        Assert.Equal((StreamResetReason.BackendProtocol, StreamResetDetail.ClosedBeforeResponse), (await Answer.ReadAsync(asked)).Reset);
    });

    [Fact]
    public Task A_backend_that_answers_although_it_takes_nothing_is_heard() => ExchangeFixture.RunAsync(async fixture =>
    {
        fixture.OnOpened = static transport => transport.Inner.FailSendAt = 1;
        var asked = fixture.Ask(method: "POST", body: "12345", fields: ("Content-Length", "5"));
        var backend = await fixture.AcceptAsync();
        await backend.SendAsync("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
        Assert.Equal("413 Too Large|Content-Length: 0", (await Answer.ReadAsync(asked)).Head);
    });

    [Fact]
    public Task What_is_there_before_the_request_was_sent_is_not_its_answer() => ExchangeFixture.RunAsync(async fixture =>
    {
        var kept = await fixture.KeepOneAsync();
        await kept.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse");
        var asked = fixture.Ask();
        var fresh = await fixture.AcceptAsync();
        await fresh.ReadHeadAsync();
        await fresh.SendAsync(Ok);
        Assert.Equal("ok", (await Answer.ReadAsync(asked)).Body);
        Assert.True(kept.IsEnded);
        Assert.Equal(1, fixture.Events.Surpluses);
    });

    [Fact]
    public Task What_comes_while_a_request_is_being_sent_is_not_its_answer() => ExchangeFixture.RunAsync(async fixture =>
    {
        var kept = await fixture.KeepOneAsync();
        var (asked, mayBeSent) = await AskSlowlyAsync(fixture, kept, "GET");
        await kept.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse");
        await fixture.SettleAsync();
        mayBeSent.SetResult();
        var fresh = await fixture.AcceptAsync();
        await fresh.ReadHeadAsync();
        await fresh.SendAsync(Ok);
        Assert.Equal("ok", (await Answer.ReadAsync(asked)).Body);
        Assert.True(kept.IsEnded);
        Assert.Equal(1, fixture.Events.Surpluses);
    });

    [Fact]
    public Task It_may_be_the_answer_to_a_request_that_is_not_sent_again() => ExchangeFixture.RunAsync(async fixture =>
    {
        var kept = await fixture.KeepOneAsync();
        var (asked, mayBeSent) = await AskSlowlyAsync(fixture, kept, "POST");
        await kept.SendAsync("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
        await fixture.SettleAsync();
        mayBeSent.SetResult();
        Assert.Equal("413 Too Large|Content-Length: 0", (await Answer.ReadAsync(asked)).Head);
        Assert.Equal(1, fixture.Dialled);
    });

    [Theory]
    [InlineData("GET")]
    [InlineData("POST")]
    public Task A_request_that_is_sent_slowly_is_sent_once(string method) => ExchangeFixture.RunAsync(async fixture =>
    {
        var kept = await fixture.KeepOneAsync();
        var (asked, mayBeSent) = await AskSlowlyAsync(fixture, kept, method);
        mayBeSent.SetResult();
        Assert.StartsWith($"{method} / ", await kept.ReadHeadAsync(), StringComparison.Ordinal);
        await kept.SendAsync(Ok);
        Assert.Equal("ok", (await Answer.ReadAsync(asked)).Body);
        Assert.Equal((1, 0), (fixture.Dialled, fixture.Events.Surpluses));
    });

    [Fact]
    public Task What_is_no_answer_on_a_kept_connection_belongs_to_the_one_before() => ExchangeFixture.RunAsync(async fixture =>
    {
        var kept = await fixture.KeepOneAsync();
        var asked = fixture.Ask();
        await kept.ReadHeadAsync();
        await kept.SendAsync("the rest of the page\r\n\r\n");
        var fresh = await fixture.AcceptAsync();
        await fresh.ReadHeadAsync();
        await fresh.SendAsync(Ok);
        Assert.Equal("ok", (await Answer.ReadAsync(asked)).Body);
        Assert.Equal(1, fixture.Events.Surpluses);
        await fixture.UntilAsync(() => fixture.Context.Backends.Idle.Count == 0, "no connection is kept for now");
    });

    [Fact]
    public Task A_goodbye_to_an_idle_connection_is_not_the_answer_to_a_request_that_crosses_it() => ExchangeFixture.RunAsync(
        async fixture =>
        {
            var kept = await fixture.KeepOneAsync();
            var asked = fixture.Ask();
            await kept.ReadHeadAsync();
            await kept.SendAsync("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
            var fresh = await fixture.AcceptAsync();
            await fresh.ReadHeadAsync();
            await fresh.SendAsync(Ok);
            Assert.Equal("200 OK|Content-Length: 2", (await Answer.ReadAsync(asked)).Head);
        });

    [Fact]
    public Task On_a_new_connection_it_is_the_answer() => ExchangeFixture.RunAsync(async fixture =>
    {
        var answer = await fixture.ExchangeAsync("HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        Assert.Equal("408 Request Timeout|Content-Length: 0", answer.Head);
        Assert.Equal(0, fixture.Context.Backends.Idle.Count);
    });

    [Fact]
    public Task Bytes_behind_an_answer_cost_the_connection_and_all_that_are_kept() => ExchangeFixture.RunAsync(async fixture =>
    {
        var (first, second) = (fixture.Ask(), fixture.Ask());
        var (one, two) = (await fixture.AcceptAsync(), await fixture.AcceptAsync());
        await one.SendAsync(Ok);
        await Answer.ReadAsync(first);
        await fixture.UntilAsync(() => fixture.Context.Backends.Idle.Count == 1, "one connection is kept");
        await two.SendAsync(Ok + "more");
        Assert.Equal("ok", (await Answer.ReadAsync(second)).Body);
        await fixture.UntilAsync(() => one.IsEnded && two.IsEnded, "both connections are closed");
        Assert.Equal(0, fixture.Context.Backends.Idle.Count);
        Assert.Equal(1, fixture.Events.Surpluses);
    });

    /// <summary>A visitor asks on a kept connection, whose system does not take the request yet.</summary>
    private static async Task<(TunnelStream Asked, TaskCompletionSource MayBeSent)> AskSlowlyAsync(
        ExchangeFixture fixture, ScriptedBackend kept, string method)
    {
        var mayBeSent = new TaskCompletionSource();
        kept.Agents.BeforeSend = mayBeSent.Task;
        var asked = fixture.Ask(method: method);
        await fixture.SettleAsync();
        return (asked, mayBeSent);
    }
}
