using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Session;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;

namespace Tunnel2.FunctionalTests.Harness;

/// <summary>A running agent.</summary>
internal sealed class AgentFixture : IAsyncDisposable
{
    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(20);

    private readonly CancellationTokenSource _stop = new();
    private readonly ManualTimeProvider? _manualTime;

    private AgentFixture(AgentOptions options, AgentEventLog events, TimeProvider time, IEngine engine)
    {
        Engine = engine;
        Events = events;
        _manualTime = time as ManualTimeProvider;
        Completion = new TunnelAgent(engine, time).RunAsync(options, events, _stop.Token);
    }

    public IEngine Engine { get; }

    public AgentEventLog Events { get; }

    /// <summary>Ends with the agent's exit code.</summary>
    public Task<int> Completion { get; }

    public static AgentFixture Start(
        AgentOptions options, AgentEventLog? events = null, TimeProvider? time = null, IEngine? engine = null) =>
        new(options, events ?? new AgentEventLog(), time ?? TimeProvider.System, engine ?? TestEngine.Create());

    /// <summary>Starts an agent and waits until its tunnel is open.</summary>
    public static async Task<AgentFixture> StartReadyAsync(
        AgentOptions options, AgentEventLog? events = null, TimeProvider? time = null, IEngine? engine = null)
    {
        var agent = Start(options, events, time, engine);
        await Task.WhenAny(agent.Events.ReadyCount.WaitForAsync(1), agent.Completion);
        Assert.True(
            agent.Events.ReadyCount.Value >= 1, agent.Events.Ends.Select(end => end.Message).FirstOrDefault() ?? "The agent is not ready.");
        return agent;
    }

    /// <summary>The options of an agent that connects to an entry and forwards to a port of this machine.</summary>
    public static AgentOptions Options(int entryPort, int backendPort, string name = "web") => new()
    {
        Server = new ServerEndpoint("127.0.0.1", entryPort),
        Upstream = new BackendTarget(false, "127.0.0.1", backendPort),
        Name = name,

        // The backends of tests end their responses where they say. Where one does not, its test says so.
        TrustsBackend = true,
        OwnerKey = EntryTokens.OwnerKey,
    };

    /// <summary>Asks it to stop, and gives its exit code. A manual clock is moved until it has stopped: its goodbye has limits.</summary>
    public async Task<int> StopAsync()
    {
        await _stop.CancelAsync();
        if (_manualTime is { } time)
        {
            await WaitSignal.UntilAsync(
                () =>
                {
                    time.Advance(TimeSpan.FromMilliseconds(100));
                    return Completion.IsCompleted;
                },
                "the agent has stopped",
                _limit);
        }

        return await Completion.WaitAsync(_limit);
    }

    public async ValueTask DisposeAsync()
    {
        await StopAsync();
        Engine.Dispose();
        _stop.Dispose();
    }
}
