using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Client.Core.Session;
using Tunnel2.Client.Tests.Reconnect;
using Tunnel2.Multiplexing.Buffers;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.InMemory;

/// <summary>One session of an agent in memory; the test is its server, and the clock's hand.</summary>
internal sealed class SessionFixture : IDisposable
{
    private readonly TestEngine _engine;
    private readonly UplinkHeartbeat _heartbeat;
    private readonly ReceiveBudget _uploads;

    private SessionFixture(TestEngine engine, AgentOptions options, IClusterPlace? place)
    {
        _engine = engine;
        var memory = new MemoryEngine(engine);
        Server = new MemoryServer(engine);

        // On a clock of its own, which is stopped: a leap of the other is no silence of the peer's.
        _heartbeat = new UplinkHeartbeat(new ManualTimeProvider());
        _uploads = new ReceiveBudget(ReceiveBudget.SmallestLimit, Time);
        Context = new ExchangeContext(options, Events, Time, buffers: new BufferPool());
        Dialer = new UplinkDialer(options, memory, new UplinkLoops(memory), Context.Backends.Idle, Time) { Connect = Server.ConnectAsync };
        Session = new AgentSession(options, Events, Context, _heartbeat, memory, Dialer, _uploads, Time, place: place);
    }

    public static AgentOptions Options { get; } = new()
    {
        Upstream = new BackendTarget(false, "127.0.0.1", 3000),
        Name = "web",
        Uplinks = UplinkPolicy.Fixed(1),
    };

    public ManualTimeProvider Time { get; } = new();

    public RecordingEvents Events { get; } = new();

    public MemoryServer Server { get; }

    public ExchangeContext Context { get; }

    public UplinkDialer Dialer { get; }

    public AgentSession Session { get; }

    public CancellationTokenSource Stop { get; } = new();

    /// <summary>Uplinks that are watched.</summary>
    public int Watched => _heartbeat.Count;

    public static Task RunAsync(
        Func<SessionFixture, Task> body, AgentOptions? options = null, IClusterPlace? place = null) => TestEngine.RunAsync(
        EngineKind.Pool,
        async engine =>
        {
            using var fixture = new SessionFixture(engine, options ?? Options, place);
            await body(fixture);
            await fixture.Session.WhenRetiredAsync();
            Assert.Equal(0, fixture.Watched);
        });

    public void Dispose()
    {
        Context.Dispose();
        _heartbeat.Dispose();
        _uploads.Dispose();
        Stop.Dispose();
    }

    /// <summary>Begins a life of the session.</summary>
    public Task<ConnectionEnd> Start() => Session.RunOnceAsync(Stop.Token);

    /// <summary>Lets everything happen that can.</summary>
    public Task SettleAsync() => _engine.YieldAsync(1000);

    public Task UntilAsync(Func<bool> condition, string what) => _engine.UntilAsync(condition, what);

    /// <summary>Moves the clock by half seconds, the longest that a session with several uplinks waits, until something holds. After each
    /// it waits until the session has set its next timer: so the clock never runs ahead of it.</summary>
    public async Task AdvanceUntilAsync(Func<bool> condition)
    {
        while (!condition())
        {
            var set = Time.TimersSet.Value;
            Time.Advance(TimeSpan.FromMilliseconds(500));
            await Time.TimersSet.WaitForAsync(set + 1);
        }
    }
}
