using System.Text;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Events;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Console;

public sealed class AgentEventWriterTests
{
    private static readonly RequestSummary _request = new("GET", "/", 200, TimeSpan.FromMilliseconds(1), 0, 0);

    private readonly ManualTimeProvider _time = new();

    /// <summary>An output whose reader has left.</summary>
    private sealed class ClosedWriter : TextWriter
    {
        public int Attempts { get; private set; }

        public override Encoding Encoding => Encoding.UTF8;

        public override Task WriteLineAsync(ReadOnlyMemory<char> buffer, CancellationToken cancellationToken = default)
        {
            Attempts++;
            throw new IOException("Broken pipe");
        }
    }

    /// <summary>A writer on a stopped clock: an output that takes lines gets all of them, however slow the machine is.</summary>
    private AgentEventWriter Start(TextWriter output, bool verbose = true) =>
        new(new HumanEventFormatter(ServerEndpoint.Default, verbose, static (_, _) => Task.FromResult(true)), output, _time, verbose);

    [Fact]
    public async Task A_thousand_tunnels_that_begin_at_once_lose_no_line_to_a_slow_output()
    {
        const int Tunnels = 1000;
        using var output = new StuckWriter();
        var formatter = new HumanEventFormatter(ServerEndpoint.Default, verbose: true, static (_, _) => Task.FromResult(true));
        await using (var events = new AgentEventWriter(formatter, output, _time, wantsRequests: false))
        {
            events.MakeRoomFor(Tunnels);
            for (int i = 0; i < Tunnels; i++)
            {
                events.Connecting(ServerEndpoint.Default);
                events.Ready(["http://web.localhost:12000"], new BackendTarget(false, "127.0.0.1", 3000));
            }

            Assert.Equal(0, events.Dropped);
            output.Open();
        }

        Assert.Equal(Tunnels, LinesOf(output).Count(static line => line.StartsWith("Forwarding ", StringComparison.Ordinal)));
    }

    private static string[] LinesOf(StringWriter output) =>
        output.ToString().Split(output.NewLine, StringSplitOptions.RemoveEmptyEntries);

    [Fact]
    public async Task Lines_come_out_in_the_order_of_the_events()
    {
        using var output = new StringWriter();
        await using (AgentEventWriter events = Start(output))
        {
            events.Connecting(ServerEndpoint.Default);
            events.Ready(["http://web.localhost:12000"], new BackendTarget(false, "127.0.0.1", 3000));
            events.Draining();
            events.Stopped();
        }

        Assert.Equal(
            [
                "Connecting to 127.0.0.1:12001",
                "Forwarding http://web.localhost:12000 -> http://127.0.0.1:3000",
                "Draining: finishing the requests under way",
                "Stopped",
            ],
            LinesOf(output));
    }

    [Fact]
    public async Task A_stuck_output_holds_up_no_caller_and_what_is_dropped_is_counted_and_reported()
    {
        using var output = new StuckWriter();
        AgentEventWriter events = Start(output);
        events.Connecting(ServerEndpoint.Default);
        await output.Reached.WaitAsync(AsyncCounter.DefaultTimeout);

        const int Requests = AgentEventWriter.Capacity * 2;
        for (int i = 0; i < Requests; i++)
        {
            events.RequestCompleted(_request);
        }

        const int Kept = AgentEventWriter.Capacity - AgentEventWriter.ReservedForState;
        Assert.Equal(Requests - Kept, events.Dropped);

        events.Draining();
        events.Stopped();
        output.Open();
        await events.DisposeAsync();

        string[] lines = LinesOf(output);
        Assert.Equal(1 + Kept + 3, lines.Length);
        Assert.Equal("Draining: finishing the requests under way", lines[^3]);
        Assert.Equal("Stopped", lines[^2]);
        Assert.Equal($"({Requests - Kept} lines dropped: the output was too slow)", lines[^1]);
    }

    [Fact]
    public async Task A_stuck_output_does_not_hold_up_the_end()
    {
        using var output = new StuckWriter();
        AgentEventWriter events = Start(output);
        events.Stopped();
        await output.Reached.WaitAsync(AsyncCounter.DefaultTimeout);

        Task end = events.DisposeAsync().AsTask();
        await _time.ArmedTimers.WaitForAsync(1);
        _time.Advance(AgentEventWriter.DrainLimit - TimeSpan.FromMilliseconds(1));
        Assert.False(end.IsCompleted);
        _time.Advance(TimeSpan.FromMilliseconds(1));
        await end.WaitAsync(AsyncCounter.DefaultTimeout);

        Assert.Empty(LinesOf(output));
        output.Open();
    }

    [Fact]
    public async Task A_closed_output_is_given_up_and_the_rest_counts_as_dropped()
    {
        using var output = new ClosedWriter();
        AgentEventWriter events = Start(output);
        for (int i = 0; i < 5; i++)
        {
            events.RequestCompleted(_request);
        }

        await events.DisposeAsync();

        Assert.Equal(1, output.Attempts);
        Assert.Equal(5, events.Dropped);
    }

    [Fact]
    public async Task Requests_are_of_no_interest_unless_verbose()
    {
        using var output = new StringWriter();
        AgentEventWriter events = Start(output, verbose: false);
        Assert.False(events.WantsRequests);
        events.RequestCompleted(_request);
        await events.DisposeAsync();

        Assert.Empty(LinesOf(output));
        Assert.Equal(0, events.Dropped);
    }

    [Fact]
    public async Task Events_after_the_end_are_dropped_without_an_error()
    {
        using var output = new StringWriter();
        AgentEventWriter events = Start(output);
        await events.DisposeAsync();

        events.Stopped();

        Assert.Equal(1, events.Dropped);
        Assert.Empty(LinesOf(output));
    }
}
