using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Reconnect;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Reconnect;

public sealed class ReconnectLoopTests : IDisposable
{
    private static readonly AgentOptions _options = new() { Upstream = new BackendTarget(false, "127.0.0.1", 3000) };

    private readonly RecordingEvents _events = new();
    private readonly CancellationTokenSource _stop = new();

    public void Dispose() => _stop.Dispose();

    private static ConnectionEnd EndFor(ConnectionEndReason reason) => reason switch
    {
        ConnectionEndReason.ServerUnreachable =>
            ConnectionEnd.Unreachable(ConnectFailure.Create(_options.Server, ConnectFailureReason.Refused)),
        ConnectionEndReason.RejectedPermanently =>
            ConnectionEnd.RejectedPermanently(new Rejection(RejectionReason.NameTaken, "name_taken", "")),
        ConnectionEndReason.RejectedForNow =>
            ConnectionEnd.RejectedForNow(new Rejection(RejectionReason.Busy, "busy", ""), TimeSpan.FromSeconds(60)),
        ConnectionEndReason.Superseded => ConnectionEnd.Superseded(TimeSpan.Zero),
        ConnectionEndReason.GoingAway => ConnectionEnd.GoingAway(TimeSpan.FromHours(1), TimeSpan.FromSeconds(7)),
        ConnectionEndReason.Stopped => ConnectionEnd.Stopped(TimeSpan.Zero),
        _ => ConnectionEnd.Lost("reset", TimeSpan.FromHours(1)),
    };

    /// <summary>
    /// Runs a loop on a clock that skips every wait; the attempt after the last of <paramref name="attempts"/> says Stopped.
    /// </summary>
    private async Task<int> RunAsync(AgentOptions options, params Func<Task<ConnectionEnd>>[] attempts)
    {
        int next = 0;
        var time = new ManualTimeProvider { SkipsWaits = true };
        var loop = new ReconnectLoop(
            options,
            _ => next < attempts.Length ? attempts[next++]() : Task.FromResult(ConnectionEnd.Stopped(TimeSpan.Zero)),
            _events,
            new FullJitterBackoff(time, new Random(1)),
            time);
        return await loop.RunAsync(_stop.Token).WaitAsync(AsyncCounter.DefaultTimeout);
    }

    [Theory]
    [InlineData(ConnectionEndReason.ServerUnreachable, false, true, 0)]
    [InlineData(ConnectionEndReason.ServerUnreachable, true, false, 4)]
    [InlineData(ConnectionEndReason.RejectedForNow, false, true, 0)]
    [InlineData(ConnectionEndReason.RejectedForNow, true, true, 0)]
    [InlineData(ConnectionEndReason.Lost, false, true, 0)]
    [InlineData(ConnectionEndReason.Lost, true, true, 0)]
    [InlineData(ConnectionEndReason.GoingAway, false, true, 0)]
    [InlineData(ConnectionEndReason.GoingAway, true, true, 0)]
    [InlineData(ConnectionEndReason.RejectedPermanently, false, false, 3)]
    [InlineData(ConnectionEndReason.RejectedPermanently, true, false, 3)]
    [InlineData(ConnectionEndReason.Superseded, false, false, 3)]
    [InlineData(ConnectionEndReason.Superseded, true, false, 3)]
    public async Task The_reason_of_the_end_decides_what_follows(
        ConnectionEndReason reason, bool exitOnFailure, bool triesAgain, int exitCode)
    {
        int code = await RunAsync(_options with { ExitOnFailure = exitOnFailure }, () => Task.FromResult(EndFor(reason)));

        Assert.Equal(exitCode, code);
        string[] expected = triesAgain
            ? ["connecting", reason.ToString(), "reconnecting", "connecting", "stopped"]
            : ["connecting", reason.ToString()];
        Assert.Equal(expected, _events.Names);
    }

    [Theory]
    [InlineData(ConnectionEndReason.RejectedForNow, 60)]
    [InlineData(ConnectionEndReason.GoingAway, 7)]
    public async Task A_server_s_retry_after_is_obeyed(ConnectionEndReason reason, int seconds)
    {
        await RunAsync(_options, () => Task.FromResult(EndFor(reason)));

        Assert.InRange(Assert.Single(_events.Delays).TotalSeconds, seconds, seconds + 0.5);
    }

    [Fact]
    public async Task Attempts_continue_for_as_long_as_the_server_is_away()
    {
        Func<Task<ConnectionEnd>> refused = () => Task.FromResult(EndFor(ConnectionEndReason.ServerUnreachable));

        Assert.Equal(0, await RunAsync(_options, [.. Enumerable.Repeat(refused, 50)]));
        Assert.Equal(51, _events.Names.Count(static name => name == "connecting"));
        Assert.All(_events.Delays, static delay => Assert.InRange(delay.TotalSeconds, 0, 30));
        Assert.True(_events.Delays.Max() > TimeSpan.FromSeconds(10), "the delays grew");
    }

    [Fact]
    public async Task An_exception_in_a_session_is_reported_and_outlived()
    {
        int code = await RunAsync(_options, static () => throw new InvalidOperationException("broken"));

        Assert.Equal(0, code);
        Assert.Equal(["connecting", "Lost", "reconnecting", "connecting", "stopped"], _events.Names);
    }

    [Fact]
    public async Task A_cancellation_without_a_request_for_it_is_an_end_like_others()
    {
        int code = await RunAsync(_options, static () => throw new OperationCanceledException());

        Assert.Equal(0, code);
        Assert.Equal(["connecting", "Lost", "reconnecting", "connecting", "stopped"], _events.Names);
    }

    [Fact]
    public async Task Stopping_during_a_session_lets_it_drain_and_gives_0()
    {
        int code = await RunAsync(_options, async () =>
        {
            await _stop.CancelAsync();
            return ConnectionEnd.Lost("the server hung up on the drain", TimeSpan.FromSeconds(1));
        });

        Assert.Equal(0, code);
        Assert.Equal(["connecting", "stopped"], _events.Names);
    }

    [Fact]
    public async Task Stopping_an_attempt_that_throws_for_it_gives_0()
    {
        int code = await RunAsync(_options, async () =>
        {
            await _stop.CancelAsync();
            throw new OperationCanceledException(_stop.Token);
        });

        Assert.Equal(0, code);
        Assert.Equal(["connecting", "stopped"], _events.Names);
    }

    [Fact]
    public async Task Stopping_before_the_start_connects_to_nothing()
    {
        await _stop.CancelAsync();

        Assert.Equal(0, await RunAsync(_options));
        Assert.Equal(["stopped"], _events.Names);
    }

    [Fact]
    public async Task Stopping_during_a_wait_ends_the_wait()
    {
        var time = new ManualTimeProvider();
        var loop = new ReconnectLoop(
            _options,
            static _ => Task.FromResult(EndFor(ConnectionEndReason.RejectedForNow)),
            _events,
            new FullJitterBackoff(time, new Random(1)),
            time);
        Task<int> run = loop.RunAsync(_stop.Token);
        await time.TimersSet.WaitForAsync(1);

        await _stop.CancelAsync();

        Assert.Equal(0, await run.WaitAsync(AsyncCounter.DefaultTimeout));
        Assert.Equal(["connecting", "RejectedForNow", "reconnecting", "stopped"], _events.Names);
    }

    [Fact]
    public async Task The_next_attempt_begins_when_the_delay_is_over_and_not_before()
    {
        var time = new ManualTimeProvider();
        int attempts = 0;
        var secondAttempt = new TaskCompletionSource();
        var loop = new ReconnectLoop(
            _options,
            _ =>
            {
                if (++attempts == 2)
                {
                    secondAttempt.SetResult();
                    return Task.FromResult(EndFor(ConnectionEndReason.Stopped));
                }

                return Task.FromResult(EndFor(ConnectionEndReason.RejectedForNow));
            },
            _events,
            new FullJitterBackoff(time, new Random(1)),
            time);
        Task<int> run = loop.RunAsync(_stop.Token);
        await time.TimersSet.WaitForAsync(1);

        time.Advance(TimeSpan.FromSeconds(59.9));
        Assert.False(secondAttempt.Task.IsCompleted);
        time.Advance(TimeSpan.FromSeconds(1));

        await secondAttempt.Task.WaitAsync(AsyncCounter.DefaultTimeout);
        Assert.Equal(0, await run.WaitAsync(AsyncCounter.DefaultTimeout));
    }

    [Fact]
    public async Task A_session_that_another_one_replaces_takes_its_time_until_that_one_is_gone_too()
    {
        var time = new ManualTimeProvider();
        var others = new Others();
        int attempts = 0;
        var loop = new ReconnectLoop(
            _options,
            _ => Task.FromResult(EndFor(++attempts == 1 ? ConnectionEndReason.Lost : ConnectionEndReason.Stopped)),
            _events,
            new FullJitterBackoff(time, new Latest()),
            time,
            others);
        Task<int> run = loop.RunAsync(_stop.Token);
        await time.ArmedTimers.WaitForAsync(1);
        time.Advance(TimeSpan.FromSeconds(1.9));
        Assert.Equal(1, attempts);

        others.Gone.SetResult();
        await time.ArmedTimers.WaitForAsync(2);
        time.Advance(TimeSpan.FromSeconds(1));

        Assert.Equal(0, await run.WaitAsync(AsyncCounter.DefaultTimeout));
        Assert.Equal(2, attempts);
    }

    private sealed class Latest : Random
    {
        public override double NextDouble() => 0.999_999;
    }

    private sealed class Others : IOtherSessions
    {
        public TaskCompletionSource Gone { get; } = new(TaskCreationOptions.RunContinuationsAsynchronously);

        public bool Exist => !Gone.Task.IsCompleted;

        public async Task<bool> WhenNoneAsync(Task unless) => await Task.WhenAny(Gone.Task, unless) == Gone.Task;
    }
}
