using Tunnel2.Client.Live;
using Tunnel2.Client.Terminals;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Live;

/// <summary>The command beside a hub: what the user sees when it pauses, leaves messages out, or goes away.</summary>
public sealed class TopCommandTests : IAsyncLifetime
{
    private readonly ManualTimeProvider _time = new(DateTimeOffset.UnixEpoch.AddSeconds(1_700_000_000));
    private readonly FakeHub _hub = new();
    private readonly WatchedWriter _output = new();
    private readonly StringWriter _error = new() { NewLine = "\n" };
    private readonly CancellationTokenSource _stop = new();

    public ValueTask InitializeAsync() => ValueTask.CompletedTask;

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _hub.DisposeAsync();
        await _output.DisposeAsync();
        await _error.DisposeAsync();
        _stop.Dispose();
    }

    private TopCommand Command() => new(
        new TopOptions { Hub = new Uri($"ws://{_hub.Address}/live"), Server = _hub.Address }, new TopScreen(_output, null), _error, _time);

    private async Task<Task<int>> StartAsync(TopCommand command)
    {
        Task<int> running = command.RunAsync(_stop.Token);
        await _hub.Clients.WaitForAsync(1);
        for (int i = 0; i < 4; i++)
        {
            Assert.Contains("subscribe", await _hub.ReceiveAsync(), StringComparison.Ordinal);
        }

        await _output.WhenAsync(static text => text.Contains("sessions online", StringComparison.Ordinal));
        return running;
    }

    /// <summary>
    /// Lets time pass until the command has shown what is expected: in its last table, or in one after that. At a pace that sockets can
    /// follow: the command's patience with a hub is on the same clock.
    /// </summary>
    private async Task SeeAsync(Func<string, bool> condition)
    {
        const string Title = "tunnel2 top";
        int from = _output.Text.LastIndexOf(Title, StringComparison.Ordinal);
        await WaitSignal.UntilAsync(
            () =>
            {
                if (_output.Text[from..].Split(Title).Skip(1).Any(condition))
                {
                    return true;
                }

                _time.Advance(TimeSpan.FromMilliseconds(200));
                return false;
            },
            "it shows what is expected");
    }

    [Fact]
    public async Task A_paused_subscriber_learns_it_and_recovers()
    {
        Task<int> running = await StartAsync(Command());
        await _hub.SayAsync("""{"type":"paused"}""");
        await SeeAsync(static text => text.Contains("paused: the server is short of memory or processors", StringComparison.Ordinal)
            && text.Contains("  - req/s  - errors/s  p50 -", StringComparison.Ordinal));
        await _hub.SayAsync("""{"type":"resumed"}""");
        await _hub.SayAsync(
            """{"type":"message","channel":"session.web.status","key":"status","seq":1"""
                + ""","data":{"session":"web","online":true,"agent":"1.2.3","uplinks":1}}""");
        await SeeAsync(static text =>
            !text.Contains("paused:", StringComparison.Ordinal) && text.Contains("1 session online", StringComparison.Ordinal)
                && text.Contains("gaps: paused 1 time by the server", StringComparison.Ordinal));
        await _stop.CancelAsync();
        Assert.Equal(0, await running);
    }

    [Fact]
    public async Task A_gap_is_counted_and_stays()
    {
        Task<int> running = await StartAsync(Command());
        await _hub.SayAsync("""{"type":"gap","dropped":12}""");
        await _hub.SayAsync("""{"type":"gap","dropped":30}""");
        await SeeAsync(static text => text.Contains("42 messages skipped by this connection", StringComparison.Ordinal));
        await _stop.CancelAsync();
        Assert.Equal(0, await running);
    }

    [Fact]
    public async Task The_clock_of_a_server_may_be_set_while_it_is_looked_at()
    {
        Task<int> running = await StartAsync(Command());
        foreach (int hours in new[] { -1, 0, 3 })
        {
            long start = (_time.GetUtcNow() + TimeSpan.FromHours(hours)).ToUnixTimeSeconds();
            await _hub.SayAsync(
                $$$"""{"type":"message","channel":"node.stats","key":"1s","seq":1,"data":{"startUs":{{{start}}}000000,"seconds":1,"""
                    + $$$"""
                    "requests":{{{20 + hours}}},"errors":0,"bytesIn":0,"bytesOut":0,"p50Us":1,"p95Us":1,"p99Us":1,"missed":0,"dropped":0}}
                    """);
            await SeeAsync(text => text.Contains(FormattableString.Invariant($"  {20 + hours} req/s"), StringComparison.Ordinal));
        }

        await _stop.CancelAsync();
        Assert.Equal(0, await running);
    }

    [Fact]
    public async Task A_lost_connection_is_said_and_made_again()
    {
        Task<int> running = await StartAsync(Command());
        await _hub.SayAsync("""{"type":"paused"}""");
        _hub.Cut();
        await SeeAsync(static text => text.Contains("trying again in", StringComparison.Ordinal));
        await SeeAsync(static text => !text.Contains("trying again", StringComparison.Ordinal)
            && !text.Contains("paused:", StringComparison.Ordinal));
        Assert.Equal(2, _hub.Clients.Value);
        await _stop.CancelAsync();
        Assert.Equal(0, await running);
    }

    [Fact]
    public async Task The_requests_of_a_session_are_subscribed_to_while_it_is_looked_at()
    {
        TopCommand command = Command();
        Task<int> running = await StartAsync(command);
        await _hub.SayAsync(
            """{"type":"message","channel":"session.web.status","key":"status","seq":1"""
                + ""","data":{"session":"web","online":true,"agent":"1.2.3","uplinks":1}}""");
        await SeeAsync(static text => text.Contains("1 session online", StringComparison.Ordinal));
        command.Panel.Render(80, 24);
        command.Panel.OnKey(new ScreenKey(ScreenKeyKind.Enter));
        Assert.Equal("""{"op":"subscribe","channel":"session.web.requests"}""", await _hub.ReceiveAsync());

        // However fast keys come, a change within a quarter of a second waits for the next refresh, and only the last one counts.
        for (int i = 0; i < 1001; i++)
        {
            command.Panel.OnKey(new ScreenKey(i % 2 == 0 ? ScreenKeyKind.Escape : ScreenKeyKind.Enter));
        }

        await SeeAsync(static text => text.Contains("1 session online", StringComparison.Ordinal));
        _time.Advance(TimeSpan.FromSeconds(1));
        Assert.Equal("""{"op":"unsubscribe","channel":"session.web.requests"}""", await _hub.ReceiveAsync());
        await _stop.CancelAsync();
        Assert.Equal(0, await running);
    }

    [Theory]
    [InlineData("we.b")]
    [InlineData("we\\\"b")]
    [InlineData("we*")]
    public async Task A_name_that_would_be_more_than_a_name_is_not_subscribed_to(string name)
    {
        TopCommand command = Command();
        Task<int> running = await StartAsync(command);
        await _hub.SayAsync(
            $$"""{"type":"message","channel":"session.{{name}}.status","key":"status","seq":1"""
                + ""","data":{"online":true,"agent":"x","uplinks":1}}""");
        await _hub.SayAsync("""{"type":"gap","dropped":1}""");
        await SeeAsync(static text => text.Contains("1 messages skipped", StringComparison.Ordinal));
        command.Panel.Render(80, 24);
        command.Panel.OnKey(new ScreenKey(ScreenKeyKind.Enter));
        await _hub.SayAsync("""{"type":"gap","dropped":1}""");
        await SeeAsync(static text => text.Contains("2 messages skipped", StringComparison.Ordinal));
        _hub.Cut();
        await SeeAsync(static text => text.Contains("trying again in", StringComparison.Ordinal));
        await SeeAsync(static text => !text.Contains("trying again", StringComparison.Ordinal));

        // All that it sent before would have come before these.
        Assert.Equal("""{"op":"subscribe","channel":"cluster.info"}""", await _hub.ReceiveAsync());
        await _stop.CancelAsync();
        Assert.Equal(0, await running);
    }
}
