using System.Collections.Concurrent;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Multiplexing.Windows;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.TestUtilities;

namespace Tunnel2.Multiplexing.Tests.InMemory;

/// <summary>What a pair is made of.</summary>
internal sealed record PairOptions
{
    public int StreamWindow { get; init; } = ProtocolLimits.DefaultStreamWindow;

    /// <summary>What windows may grow to; 0: they stay as they are, and no code asks for the round trip.</summary>
    public int MaxStreamWindow { get; init; }

    /// <summary>The milliseconds that the path is known to take from the start; 0: the ends have to find out.</summary>
    public int RoundTrip { get; init; }

    public WindowBudget WindowBudget { get; init; } = new(WindowBudget.DefaultProcessLimit);

    public ReceiveBudget ReceiveBudget { get; init; } = new(ReceiveBudget.LargestDefault, new ManualTimeProvider());

    public int UplinkWindow { get; init; } = ProtocolLimits.DefaultUplinkWindow;

    public int MaxStreams { get; init; } = 4096;

    /// <summary>Bytes that the connection holds each way.</summary>
    public int Capacity { get; init; } = 256 * 1024;

    public Func<UplinkSettings, UplinkSettings> Adjust { get; init; } = settings => settings;

    public UplinkSettings Make(TestEngine engine, UplinkRole role, BufferPool buffers) => Adjust(engine.Apply(new UplinkSettings
    {
        Role = role,
        ReceiveStreamWindow = StreamWindow,
        SendStreamWindow = StreamWindow,
        MaxReceiveStreamWindow = MaxStreamWindow,
        ProcessWindowBudget = WindowBudget,
        ReceiveBudget = ReceiveBudget,
        ReceiveUplinkWindow = UplinkWindow,
        SendUplinkWindow = UplinkWindow,
        MaxStreams = MaxStreams,
        Buffers = buffers,

        // The clock is stopped, so that a busy machine ends no uplink.
        TimeProvider = new ManualTimeProvider(),
    }));
}

/// <summary>Both ends of an uplink in memory, running.</summary>
internal sealed class UplinkPair
{
    private readonly ConcurrentQueue<Task> _handlers = new();
    private readonly TestEngine _engine;

    public UplinkPair(TestEngine engine, Func<TunnelStream, Task> handler, PairOptions? options = null)
    {
        _engine = engine;
        options ??= new PairOptions();
        (EntryTransport, AgentTransport) = InMemoryTransport.CreatePair(options.Capacity, engine.Scheduler);
        Entry = new UplinkConnection(EntryTransport, options.Make(engine, UplinkRole.Entry, EntryBuffers));
        Agent = new UplinkConnection(
            AgentTransport, options.Make(engine, UplinkRole.Agent, AgentBuffers), stream => _handlers.Enqueue(handler(stream)));
        if (options.RoundTrip > 0)
        {
            Entry.LearnRoundTrip(options.RoundTrip);
            Agent.LearnRoundTrip(options.RoundTrip);
        }
    }

    public BufferPool EntryBuffers { get; } = new();

    public BufferPool AgentBuffers { get; } = new();

    public InMemoryTransport EntryTransport { get; }

    public InMemoryTransport AgentTransport { get; }

    public UplinkConnection Entry { get; }

    public UplinkConnection Agent { get; }

    public Task<UplinkEnd> EntryRun { get; private set; } = Task.FromResult(new UplinkEnd(SessionEndReason.None));

    public Task<UplinkEnd> AgentRun { get; private set; } = Task.FromResult(new UplinkEnd(SessionEndReason.None));

    public int Accepted => _handlers.Count;

    public static UplinkPair Start(TestEngine engine, Func<TunnelStream, Task> handler, PairOptions? options = null)
    {
        var pair = new UplinkPair(engine, handler, options);
        pair.Run();
        return pair;
    }

    public void Run()
    {
        EntryRun = Entry.RunAsync();
        AgentRun = Agent.RunAsync();
    }

    public TunnelStream Open()
    {
        var stream = Entry.TryOpenStream();
        Assert.NotNull(stream);
        return stream;
    }

    /// <summary>Waits until no stream is open on either side.</summary>
    public Task UntilQuietAsync() =>
        _engine.UntilAsync(() => Entry.OpenStreams == 0 && Agent.OpenStreams == 0, "no stream is open on either side");

    /// <summary>Waits until no stream is open, all credit is back, and nothing that was sent is still on its way.</summary>
    public async Task UntilSettledAsync()
    {
        await UntilQuietAsync();
        await _engine.UntilAsync(IsCreditWhole, "all credit is back");
        await _engine.UntilAsync(
            () =>
                Agent.Statistics.BytesReceived == Entry.Statistics.BytesSent
                    && Entry.Statistics.BytesReceived == Agent.Statistics.BytesSent,
            "everything that was sent has arrived");
    }

    /// <summary>Checks that an uplink on which nothing is under way holds nothing and has all its credit, then ends it.</summary>
    public async Task FinishAsync()
    {
        await UntilQuietAsync();
        await Task.WhenAll(_handlers);
        await _engine.UntilAsync(IsCreditWhole, "all credit is back");
        Assert.Equal(0, Entry.WindowGrowth.Taken + Agent.WindowGrowth.Taken);
        await EndAsync();
    }

    /// <summary>Ends both sides and checks that every buffer is back and no handler failed.</summary>
    public async Task EndAsync()
    {
        Entry.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        await EndedAsync();
    }

    /// <summary>Waits until both sides have ended and checks that every buffer is back and no handler failed.</summary>
    public async Task<(UplinkEnd Entry, UplinkEnd Agent)> EndedAsync()
    {
        var entry = await EntryRun;
        var agent = await AgentRun;
        await Task.WhenAll(_handlers);
        await _engine.UntilAsync(
            () => EntryBuffers.Outstanding == 0 && AgentBuffers.Outstanding == 0,
            "every buffer is back");
        Assert.True(EntryTransport.IsDisposed);
        Assert.True(AgentTransport.IsDisposed);
        return (entry, agent);
    }

    private bool IsCreditWhole() => IsCreditWhole(Entry, Agent) && IsCreditWhole(Agent, Entry);

    private static bool IsCreditWhole(UplinkConnection receiver, UplinkConnection sender)
    {
        var (granted, held, returnable, size) = receiver.ReceiveCredit;
        Assert.Equal(size, granted + held + returnable);
        return held == 0
            && sender.Sending.OutstandingBytes == receiver.Settings.ReceiveUplinkWindow - granted
            && returnable < Math.Max(1, receiver.Settings.ReceiveUplinkWindow / 4);
    }
}
