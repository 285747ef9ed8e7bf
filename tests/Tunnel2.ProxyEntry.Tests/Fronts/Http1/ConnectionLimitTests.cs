using System.IO.Pipelines;
using Tunnel2.ProxyEntry.Errors;
using Tunnel2.TestUtilities;
using static Tunnel2.ProxyEntry.Tests.Fronts.Http1.ScriptedForwarder;

namespace Tunnel2.ProxyEntry.Tests.Fronts.Http1;

/// <summary>
/// Limits of time, on a clock that the test moves. The pipes continue inline, so that what the front does is done when a call returns.
/// </summary>
public sealed class ConnectionLimitTests
{
    private const string Request = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

    [Fact]
    public async Task A_visitor_that_sends_nothing_is_left_without_a_word()
    {
        await using var front = Front();
        front.Time.Advance(TimeSpan.FromSeconds(29));
        Assert.False(front.Completion.IsCompleted);
        front.Time.Advance(TimeSpan.FromSeconds(1.3));
        Assert.Equal("", await front.ReceiveAllAsync());
        Assert.False(front.IsAborted);
        Assert.Empty(front.Forwarder.Refused);
    }

    [Fact]
    public async Task The_time_in_which_the_process_was_stopped_does_not_make_its_visitors_late()
    {
        await using var front = Front();
        front.Time.Advance(TimeSpan.FromSeconds(20));
        front.Time.Jump(TimeSpan.FromMinutes(10));
        Assert.False(front.Completion.IsCompleted);

        // What had come by then is read after the sweep.
        await front.SendAsync("G");
        front.Time.Advance(TimeSpan.FromSeconds(29));
        Assert.Empty(front.Forwarder.Refused);
        front.Time.Advance(TimeSpan.FromSeconds(1.3));
        Assert.StartsWith("HTTP/1.1 408 Request Timeout\r\n", await front.ReceiveAllAsync(), StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("G")]
    [InlineData("GET / HTTP/1.1\r\n")]
    [InlineData("GET / HTTP/1.1\r\nHost: h\r\nX: y\r\n\r")]
    [InlineData("\r\n")]
    public async Task A_visitor_that_does_not_finish_its_head_reads_that_it_took_too_long(string begin)
    {
        await using var front = Front();
        front.Time.Advance(TimeSpan.FromSeconds(20));
        await front.SendAsync(begin);
        front.Time.Advance(TimeSpan.FromSeconds(29));
        Assert.Empty(front.Forwarder.Refused);
        front.Time.Advance(TimeSpan.FromSeconds(1.3));
        var answer = await front.ReceiveAllAsync();
        Assert.StartsWith("HTTP/1.1 408 Request Timeout\r\n", answer, StringComparison.Ordinal);
        Assert.Contains("\r\nConnection: close\r\n", answer, StringComparison.Ordinal);
        Assert.Equal([ProxyError.RequestTimeout], front.Forwarder.Refused);
    }

    [Fact]
    public async Task An_observer_that_throws_when_a_visitor_has_left_costs_that_connection_and_no_other_limit()
    {
        var answer = new TaskCompletionSource();
        await using var front = new FrontFixture(
            async (exchange, _) =>
            {
                using var registration = exchange.VisitorLeft.Register(static () => throw new InvalidTimeZoneException());
                await answer.Task;
            },
            PipeScheduler.Inline);
        await front.SendAsync(Request);
        front.EndInput();
        front.Time.Advance(TimeSpan.FromMinutes(5));
        Assert.Equal(1, front.Faults.Count);
        Assert.True(front.IsAborted);

        // The clock of all connections continues.
        var before = front.Sweep.Now;
        front.Time.Advance(TimeSpan.FromSeconds(1));
        Assert.True(front.Sweep.Now > before);
        answer.SetResult();
    }

    [Fact]
    public async Task Dripping_bytes_do_not_make_the_time_of_a_head_longer()
    {
        await using var front = Front();
        await front.SendAsync("GET / HTTP/1.1\r\nHost: h\r\n");
        for (var i = 0; i < 10; i++)
        {
            front.Time.Advance(TimeSpan.FromSeconds(2.9));
            await front.SendAsync($"X-{i}: y\r\n");
            Assert.Empty(front.Forwarder.Refused);
        }

        front.Time.Advance(TimeSpan.FromSeconds(1.3));
        Assert.Equal([ProxyError.RequestTimeout], front.Forwarder.Refused);
    }

    [Fact]
    public async Task An_idle_connection_is_kept_for_longer_than_a_new_one_and_then_ends_without_a_word()
    {
        await using var front = Front();
        await front.SendAsync(Request);
        Assert.EndsWith("ok", await front.ReceiveAsync("ok"), StringComparison.Ordinal);
        front.Time.Advance(TimeSpan.FromSeconds(129));
        await front.SendAsync(Request);
        await front.ReceiveAsync("ok");
        front.Time.Advance(TimeSpan.FromSeconds(131));
        Assert.Equal("", await front.ReceiveAllAsync());
        Assert.True(front.Completion.IsCompletedSuccessfully);
        Assert.False(front.IsAborted);
    }

    [Fact]
    public async Task A_second_head_has_the_time_of_the_first()
    {
        await using var front = Front();
        await front.SendAsync(Request + "GET /");
        await front.ReceiveAsync("ok");
        front.Time.Advance(TimeSpan.FromSeconds(31));
        Assert.Equal([ProxyError.RequestTimeout], front.Forwarder.Refused);
    }

    [Fact]
    public async Task A_request_that_waits_for_its_answer_has_no_limit_here()
    {
        var answer = new TaskCompletionSource();
        await using var front = new FrontFixture(
            async (exchange, _) =>
            {
                await answer.Task;
                Answer(exchange, "ok");
            },
            PipeScheduler.Inline);
        await front.SendAsync(Request);
        front.Time.Advance(TimeSpan.FromMinutes(10));
        answer.SetResult();
        Assert.EndsWith("ok", await front.ReceiveAsync("ok"), StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_visitor_that_ends_its_direction_behind_a_request_gets_an_answer_that_comes_soon()
    {
        var answer = new TaskCompletionSource();
        await using var front = new FrontFixture(
            async (exchange, _) =>
            {
                await answer.Task;
                Assert.False(exchange.VisitorLeft.IsCancellationRequested);
                Answer(exchange, "ok");
            },
            PipeScheduler.Inline);
        await front.SendAsync(Request);
        front.EndInput();
        front.Time.Advance(TimeSpan.FromMilliseconds(400));
        answer.SetResult();
        Assert.EndsWith("ok", await front.ReceiveAllAsync(), StringComparison.Ordinal);
        Assert.False(front.IsAborted);
    }

    [Fact]
    public async Task A_visitor_that_ended_its_direction_and_gets_nothing_counts_as_gone()
    {
        var left = new WaitSignal("the visitor left");
        await using var front = new FrontFixture(
            async (exchange, _) =>
            {
                exchange.VisitorLeft.Register(left.Set);
                await left.WaitAsync();
            },
            PipeScheduler.Inline);
        await front.SendAsync(Request);
        front.EndInput();
        front.Time.Advance(TimeSpan.FromMilliseconds(700));
        Assert.True(left.IsSet);
        await front.Completion;
        Assert.True(front.IsAborted);
    }

    [Theory]
    [InlineData("application/grpc")]
    [InlineData("application/grpc-web-text")]
    public async Task A_visitor_of_gRPC_that_ended_its_direction_has_left_at_once(string contentType)
    {
        var left = new WaitSignal("the visitor left");
        await using var front = new FrontFixture(
            async (exchange, _) =>
            {
                exchange.VisitorLeft.Register(left.Set);
                await left.WaitAsync();
            },
            PipeScheduler.Inline);
        await front.SendAsync($"POST / HTTP/1.1\r\nHost: h\r\nContent-Type: {contentType}\r\nContent-Length: 1\r\n\r\nx");
        Assert.False(left.IsSet);
        front.EndInput();
        Assert.True(left.IsSet);
        await front.Completion;
        Assert.True(front.IsAborted);
    }

    [Fact]
    public async Task What_a_half_closed_visitor_still_gets_gives_it_more_time()
    {
        var step = new AsyncCounter("steps");
        await using var front = new FrontFixture(
            async (exchange, _) =>
            {
                Start(exchange, 200);
                for (var i = 1; i <= 5; i++)
                {
                    await step.WaitForAsync(i);
                    exchange.WriteBody("x"u8);
                    Assert.True(await exchange.FlushAsync());
                    Assert.False(exchange.VisitorLeft.IsCancellationRequested);
                }

                exchange.CompleteResponse();
            },
            PipeScheduler.Inline);
        await front.SendAsync(Request);
        front.EndInput();
        for (var i = 0; i < 5; i++)
        {
            front.Time.Advance(TimeSpan.FromMilliseconds(400));
            step.Increment();
            await front.ReceiveAsync("1\r\nx\r\n" + (i == 4 ? "0\r\n\r\n" : ""));
        }
    }

    [Fact]
    public async Task A_visitor_that_takes_nothing_is_cut_off_after_the_limit_of_bodies()
    {
        await using var front = new FrontFixture(
            async (exchange, _) =>
            {
                Start(exchange, 200);
                exchange.WriteBody(new byte[200_000]);
                await exchange.FlushAsync();
            },
            PipeScheduler.Inline);
        await front.SendAsync(Request);
        front.Time.Advance(TimeSpan.FromMinutes(4.9));
        Assert.False(front.IsAborted);
        front.Time.Advance(TimeSpan.FromMinutes(0.2));
        Assert.True(front.IsAborted);
    }

    [Fact]
    public async Task A_server_that_stops_ends_idle_connections_at_once_and_others_behind_their_answer()
    {
        await using var idle = Front();
        await idle.SendAsync(Request);
        await idle.ReceiveAsync("ok");
        idle.Stop();
        Assert.Equal("", await idle.ReceiveAllAsync());

        var answer = new TaskCompletionSource();
        await using var busy = new FrontFixture(
            async (exchange, _) =>
            {
                await answer.Task;
                Answer(exchange, "ok");
            },
            PipeScheduler.Inline);
        await busy.SendAsync(Request + Request);
        busy.Stop();
        answer.SetResult();
        var text = await busy.ReceiveAllAsync();
        Assert.EndsWith("\r\nConnection: close\r\n\r\nok", text, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Who_has_just_connected_when_the_server_stops_has_a_second_for_a_request()
    {
        await using var quick = Front();
        quick.Stop();
        quick.Time.Advance(TimeSpan.FromSeconds(0.9));
        await quick.SendAsync(Request);
        var text = await quick.ReceiveAllAsync();
        Assert.EndsWith("\r\nConnection: close\r\n\r\nok", text, StringComparison.Ordinal);

        await using var silent = Front();
        silent.Time.Advance(TimeSpan.FromSeconds(0.5));
        silent.Stop();
        silent.Time.Advance(TimeSpan.FromSeconds(0.4));
        Assert.False(silent.Completion.IsCompleted);
        silent.Time.Advance(TimeSpan.FromSeconds(0.4));
        Assert.Equal("", await silent.ReceiveAllAsync());
    }

    [Fact]
    public async Task Limits_that_are_off_do_not_hold()
    {
        await using var front = new FrontFixture(
            (exchange, _) =>
            {
                Answer(exchange, "ok");
                return default;
            },
            PipeScheduler.Inline, "Timeouts:RequestHead=off", "Timeouts:KeepAlive=off", "Timeouts:HalfClosed=off", "Timeouts:BodyIdle=off");
        front.Time.Advance(TimeSpan.FromMinutes(10));
        await front.SendAsync("GET / HTTP/1.1\r\n");
        front.Time.Advance(TimeSpan.FromMinutes(10));
        await front.SendAsync("Host: h\r\n\r\n");
        await front.ReceiveAsync("ok");
        front.Time.Advance(TimeSpan.FromMinutes(10));
        await front.SendAsync(Request);
        await front.ReceiveAsync("ok");
    }

    private static FrontFixture Front() => new(
        (exchange, _) =>
        {
            Answer(exchange, "ok");
            return default;
        },
        PipeScheduler.Inline);
}
