using System.Text;
using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Limits;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Tests.InMemory;

/// <summary>
/// The acceptor with everything below it, in memory: the test is every agent. Everything happens on the test's own thread, and the clock
/// is stopped.
/// </summary>
internal sealed class AcceptorFixture : IDisposable
{
    private readonly TestEngine _engine;
    private readonly MemoryEngine _memory;
    private readonly StalledTransfers _stalled;
    private readonly List<DialledAgent> _agents = [];

    private AcceptorFixture(TestEngine engine, ProxyEntrySettings settings)
    {
        _engine = engine;
        _memory = new MemoryEngine(engine);
        Settings = settings;
        Registry = new AgentRegistry(settings.Agents);
        Directory = new InMemorySessionDirectory(Time, settings.ParkTimeout);
        Quota = new UplinkQuota(settings, Registry);
        Revocation = new SessionRevocation(Registry, Directory, new RecordedLog<SessionRevocation>());
        _stalled = new StalledTransfers(settings, Metrics.Factory, Time, new ContainedFaults(), new RecordedLog<StalledTransfers>());
        Handshakes = new HandshakeQueue(new ConnectionLimit("handshakes", 100, 100), Time);
        var addresses = new PublicAddresses(settings);
        var metrics = new ProxyEntryMetrics(Metrics.Factory);
        var uplinkMetrics = new UplinkMetrics(Metrics.Factory);
        Uplinks = new SessionUplinks(Directory, Joins, addresses, Heartbeat, Quota, metrics, uplinkMetrics, Drain, Time, UplinksLog);
        Acceptor = new UplinkAcceptor(
            settings,
            new AgentAdmission(settings, Registry, new FailedAttempts(settings, Time), Time),
            Registry,
            Directory,
            addresses,
            Joins,
            Uplinks,
            _memory,
            new UplinkRejection(metrics, Time, RejectionLog),
            Revocation,
            Quota,
            Ports,
            metrics,
            uplinkMetrics,
            _stalled,
            Drain,
            Time,
            Log);
    }

    public ManualTimeProvider Time { get; } = new();

    public ProxyEntrySettings Settings { get; }

    public AgentRegistry Registry { get; }

    public InMemorySessionDirectory Directory { get; }

    public SessionJoins Joins { get; } = new();

    public UplinkQuota Quota { get; }

    public SessionRevocation Revocation { get; }

    public SessionUplinks Uplinks { get; }

    public HandshakeQueue Handshakes { get; }

    public DrainSignal Drain { get; } = new();

    public ScriptedPorts Ports { get; } = new();

    public UplinkAcceptor Acceptor { get; }

    /// <summary>On a clock of its own, which is stopped: a leap of the other is no silence of an agent's.</summary>
    public UplinkHeartbeat Heartbeat { get; } = new(new ManualTimeProvider());

    public RecordedMetrics Metrics { get; } = new();

    public RecordedLog<UplinkAcceptor> Log { get; } = new();

    public RecordedLog<UplinkRejection> RejectionLog { get; } = new();

    public RecordedLog<SessionUplinks> UplinksLog { get; } = new();

    public CancellationTokenSource Stop { get; } = new();

    /// <summary>The engine without sockets.</summary>
    public IEngine Engine => _memory;

    /// <summary>The session that serves the name <c>web</c>.</summary>
    public EntrySession Session
    {
        get
        {
            Assert.Equal(NameState.Online, Directory.Find("web", out var session));
            return session!;
        }
    }

    /// <summary>Runs a test's body, hangs up for every agent that is left, and checks that nothing is left of them.</summary>
    public static Task RunAsync(Func<AcceptorFixture, Task> body, params string[] settings) =>
        TestEngine.RunAsync(EngineKind.Inline, engine => RunAsync(engine, body, settings));

    private static async Task RunAsync(TestEngine engine, Func<AcceptorFixture, Task> body, string[] settings)
    {
        using var fixture = new AcceptorFixture(engine, SettingsFixture.LoadValid(settings));
        await body(fixture);
        foreach (var agent in fixture._agents)
        {
            await agent.LoseAsync();
            await fixture.UntilAsync(() => agent.Run.IsCompleted, "the agent's uplink has ended");
        }

        Assert.Equal((0, 0, 0, 0), (fixture.Heartbeat.Count, fixture.Joins.Count, fixture.Directory.Count, fixture.Quota.Connections));
        Assert.Equal((0L, 0), (fixture.Metrics["tunnel2.entry.sessions.active"], fixture.Handshakes.Limit.Count));
        Assert.Empty(fixture.Directory.Snapshot());
    }

    /// <summary>What an agent says first.</summary>
    public static HelloMessage Hello(
        string name = "web", string instance = "a", string token = "", string owner = "", bool joins = true) =>
        new()
        {
            AgentName = "tunnel2",
            AgentVersion = "1.2.3",
            InstanceKey = Encoding.ASCII.GetBytes(instance.PadLeft(16, '-')),
            WantedName = name,
            Capabilities = joins ? HandshakeCapabilities.MultipleUplinks : HandshakeCapabilities.None,
            ProofKind = token.Length > 0 ? TokenProofKind.Bearer : TokenProofKind.None,
            Proof = Encoding.ASCII.GetBytes(token),
            OwnerKey = owner.Length > 0 ? Encoding.ASCII.GetBytes(owner.PadLeft(HelloMessage.OwnerKeyLength, '-')) : default,
        };

    public void Dispose()
    {
        Heartbeat.Dispose();
        _stalled.Dispose();
        _memory.Dispose();
        Metrics.Dispose();
        Stop.Dispose();
    }

    /// <summary>An agent connects and says nothing yet.</summary>
    public DialledAgent Dial(UplinkPeer peer = default)
    {
        var (acceptors, own) = InMemoryTransport.CreatePair(64 * 1024, _engine.Scheduler);
        if (peer.Handshake is null)
        {
            Assert.True(Handshakes.Limit.TryEnter(null, out var place));
            peer = peer with { Handshake = Handshakes.Add(acceptors, place) };
        }

        var handshake = peer.Handshake!;
        var agent = new DialledAgent(_engine, own, acceptors, ServeAsync());
        _agents.Add(agent);
        return agent;

        async Task ServeAsync()
        {
            await Acceptor.ServeAsync(acceptors, peer, Stop.Token);

            // As the listener does: who was not let in gives its place back when its connection is closed.
            handshake.Finish();
        }
    }

    /// <summary>An agent connects and says something.</summary>
    public async Task<DialledAgent> SayAsync(byte[] bytes, UplinkPeer peer = default)
    {
        var agent = Dial(peer);
        await agent.SendAsync(bytes);
        return agent;
    }

    /// <summary>An agent connects and is welcomed.</summary>
    public async Task<DialledAgent> ConnectAsync(HelloMessage? hello = null, UplinkPeer peer = default)
    {
        var agent = await SayAsync((hello ?? Hello()).ToFrame(), peer);
        await agent.WelcomedAsync();
        return agent;
    }

    /// <summary>An agent connects, and is not.</summary>
    public async Task<RejectMessage> RefusedAsync(HelloMessage hello, UplinkPeer peer = default) =>
        await (await SayAsync(hello.ToFrame(), peer)).RejectedAsync();

    /// <summary>A further uplink of a session.</summary>
    public async Task<DialledAgent> JoinAsync(WelcomeMessage welcome, ulong counter) => await SayAsync(Join(welcome, counter));

    /// <summary>What an agent says first on a further uplink.</summary>
    public static byte[] Join(WelcomeMessage welcome, ulong counter) =>
        JoinMessage.Create(welcome.SessionId, welcome.JoinSecret.Span, counter).ToFrame();

    public Task UntilAsync(Func<bool> condition, string what) => _engine.UntilAsync(condition, what);

    public Task SettleAsync() => _engine.YieldAsync(20);
}
