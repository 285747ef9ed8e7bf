using System.Collections.Concurrent;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Access;
using Tunnel2.ProxyEntry.Access.Bearer;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Forwarding;
using Tunnel2.ProxyEntry.Https;
using Tunnel2.ProxyEntry.Opening;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Access.Bearer;
using Tunnel2.ProxyEntry.Tests.Access.Oidc;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.InMemory;

/// <summary>What a fixture is made of.</summary>
internal sealed record ForwarderOptions
{
    /// <summary>The uplinks of the session <c>web</c>.</summary>
    public int Uplinks { get; init; } = 1;

    /// <summary>Whether the session is there from the start.</summary>
    public bool IsOnline { get; init; } = true;

    public PairOptions Pair { get; init; } = new();

    /// <summary>Settings, as "Key=value".</summary>
    public string[] Settings { get; init; } = [];

    /// <summary>Whether what an observer throws is the test's own doing.</summary>
    public bool HasFaults { get; init; }
}

/// <summary>
/// The forwarder with everything below it, in memory: the test is the visitor at the one end and the agent at the other. Everything happens
/// on the test's own thread, except what waited in the parking lot, and the clock is stopped: a test that waits for what nothing will bring
/// fails.
/// </summary>
internal sealed class ForwarderFixture : IDisposable
{
    private readonly PasswordChecks _checks = new();
    private readonly ReceiveBudget _budget;
    private readonly BearerVerifier _tokens;
    private readonly TestEngine _engine;
    private readonly ConcurrentQueue<AgentStream> _arrived = new();
    private readonly List<AgentStream> _streams = [];
    private readonly List<AskedRequest> _asked = [];
    private readonly ForwarderOptions _options;
    private int _instances;

    private ForwarderFixture(TestEngine engine, ForwarderOptions options)
    {
        _engine = engine;
        _options = options;

        // A timestamp of zero means that nothing has happened.
        Time.Advance(TimeSpan.FromSeconds(1));
        Settings = SettingsFixture.LoadValid(options.Settings);
        _tokens = new BearerVerifier(new KeyFetch(Issuer, Time), Time, NullLogger<BearerVerifier>.Instance);
        Faults = new ContainedFaults(Time);
        _budget = new ReceiveBudget(ReceiveBudget.SmallestLimit, Time, Faults);
        Memory = new HeldMemory(_budget, Settings.WebhookBodyBytes);
        Directory = new InMemorySessionDirectory(Time, Settings.ParkTimeout);
        Names = new NameResolver(Settings, new AgentRegistry(Settings.Agents), Directory, Time);
        Lot = new ParkingLot(Settings, Time, Faults);
        var metrics = new ProxyEntryMetrics(Metrics.Factory);
        Opener = new PatientOpener(
            Names, new ParkingPolicy(Settings, Directory, Time), Lot,
            new AccessGate(Settings, new LoginAttempts(Settings, Time), _checks, new Lazy<BearerVerifier>(_tokens), SignIn, metrics),
            new PolicyGate(Settings, Time, metrics), new WebhookGate(Settings, Memory, Time, metrics), Directory, metrics);
        var observers = new RequestObservers([Moments]);
        Watchdog = new ForwardWatchdog(Settings, observers, Time, Faults);
        var https = new HttpsRules(Settings);
        Forwarder = new Forwarder(
            Opener, new ResponsePump(observers, https), Watchdog, observers, Time, Log, new EdgeAnswers(https, Challenges));
    }

    public ManualTimeProvider Time { get; } = new();

    public ProxyEntrySettings Settings { get; }

    public ContainedFaults Faults { get; }

    public InMemorySessionDirectory Directory { get; }

    public HeldMemory Memory { get; }

    public NameResolver Names { get; }

    public ParkingLot Lot { get; }

    public PatientOpener Opener { get; }

    public ForwardWatchdog Watchdog { get; }

    public Forwarder Forwarder { get; }

    /// <summary>The gates where visitors sign in.</summary>
    public ScriptedSignIn SignIn { get; } = new();

    /// <summary>The issuer of tokens.</summary>
    public ScriptedIssuer Issuer { get; } = new();

    /// <summary>The challenges that wait for a visit.</summary>
    public PendingChallenges Challenges { get; } = new();

    public RecordedMoments Moments { get; } = new();

    public RecordedMetrics Metrics { get; } = new();

    public RecordedLog<Forwarder> Log { get; } = new();

    /// <summary>The session <c>web</c>, as soon as there is one.</summary>
    public EntrySession Session { get; private set; } = null!;

    /// <summary>The number of the session's registration.</summary>
    public long Epoch { get; private set; }

    /// <summary>All uplinks that were made, in their order.</summary>
    public List<UplinkPair> Pairs { get; } = [];

    /// <summary>Streams that reached the agent and that the test has not taken.</summary>
    public int Arrived => _arrived.Count;

    /// <summary>Runs a test's body. Afterwards all must be given back, and observers must have heard of each request's end once.</summary>
    public static Task RunAsync(Func<ForwarderFixture, Task> body, ForwarderOptions? options = null) =>
        TestEngine.RunAsync(EngineKind.Inline, engine => RunAsync(engine, body, options ?? new ForwarderOptions()));

    private static async Task RunAsync(TestEngine engine, Func<ForwarderFixture, Task> body, ForwarderOptions options)
    {
        using var fixture = new ForwarderFixture(engine, options);
        if (options.IsOnline)
        {
            await fixture.ConnectAsync(options.Uplinks);
        }

        await body(fixture);
        await fixture.EndAsync();
    }

    public void Dispose()
    {
        _tokens.Dispose();
        Watchdog.Dispose();
        Lot.Dispose();
        _budget.Dispose();
        Metrics.Dispose();
    }

    /// <summary>An agent connects and registers the name.</summary>
    /// <param name="uplinks">Its uplinks.</param>
    /// <param name="owner">Who it is.</param>
    /// <param name="adjust">Changes the session before any request can find it.</param>
    /// <param name="member">Its place in the pool of the name; null: it has the name for itself.</param>
    public async Task<EntrySession> ConnectAsync(
        int uplinks = 1, string owner = "a", Action<EntrySession>? adjust = null, PoolMember? member = null)
    {
        var session = member is null
            ? Tests.Sessions.Sample.Session("web", owner)
            : Tests.Sessions.Sample.Member(member, ++_instances, owner);
        for (var i = 0; i < uplinks; i++)
        {
            AddUplink(session);
        }

        adjust?.Invoke(session);
        var registration = await Directory.RegisterAsync(session, CancellationToken.None);
        Assert.Equal(RegistrationStatus.Registered, registration.Status);
        Session = session;
        Epoch = registration.Epoch;
        return session;
    }

    /// <summary>A session gets another uplink.</summary>
    public void AddUplink(EntrySession session)
    {
        var number = Pairs.Count;
        RecordedWire? wire = null;
        var pair = new UplinkPair(_engine, stream =>
        {
            _arrived.Enqueue(new AgentStream(stream, number, wire!));
            return Task.CompletedTask;
        }, _options.Pair);
        wire = new RecordedWire(_engine, pair.EntryTransport);
        pair.Run();
        Pairs.Add(pair);
        Assert.True(session.Tunnel.TryAdd(pair.Entry));
    }

    /// <summary>The session's agent is gone: with a goodbye, or lost.</summary>
    public async Task DisconnectAsync(bool saysGoodbye)
    {
        if (saysGoodbye)
        {
            await Directory.MarkLeavingAsync("web", Epoch, CancellationToken.None);
        }

        await Directory.UnregisterAsync("web", Epoch, isKept: true, CancellationToken.None);
    }

    /// <summary>A visitor asks.</summary>
    public AskedRequest Ask(ScriptedVisitor? visitor = null)
    {
        visitor ??= new ScriptedVisitor();
        var request = new ForwardedRequest();
        var asked = new AskedRequest(visitor, request, Forwarder.ForwardAsync(visitor, request).AsTask(), Time);
        _asked.Add(asked);
        return asked;
    }

    /// <summary>The next stream that reaches the agent.</summary>
    public async Task<AgentStream> AcceptAsync()
    {
        AgentStream? stream = null;
        await UntilAsync(() => _arrived.TryDequeue(out stream), "a stream reaches the agent");
        _streams.Add(stream!);
        return stream!;
    }

    /// <summary>A visitor asks, and the agent has the request's head.</summary>
    public async Task<(AskedRequest Asked, AgentStream Agent)> BeginAsync(ScriptedVisitor? visitor = null)
    {
        var asked = Ask(visitor);
        var agent = await AcceptAsync();
        await agent.ReadHeadAsync();
        return (asked, agent);
    }

    /// <summary>Waits until the forwarder is done with a request.</summary>
    /// <returns>What the visitor got.</returns>
    public async Task<IReadOnlyList<string>> DoneAsync(AskedRequest asked)
    {
        await UntilAsync(() => asked.Done.IsCompleted, "the forwarder is done");
        await asked.Done;
        return asked.Visitor.Log;
    }

    /// <summary>The same, and how the observers say that it ended.</summary>
    public async Task<(IReadOnlyList<string> Log, string Outcome)> EndOfAsync(AskedRequest asked)
    {
        var log = await DoneAsync(asked);
        return (log, Moments.Of(asked.State)[^1]);
    }

    public Task UntilAsync(Func<bool> condition, string what) => _engine.UntilAsync(condition, what);

    /// <summary>Lets everything happen that can.</summary>
    public Task SettleAsync() => _engine.YieldAsync(20);

    /// <summary>The watchdog looks once.</summary>
    public void Look() => Time.Advance(TimeSpan.FromSeconds(1));

    /// <summary>An uplink is lost.</summary>
    public void LoseUplink(int number = 0) => Pairs[number].AgentTransport.Abort();

    /// <summary>Waits until the forwarder has let go of a request's stream, and the agent has nothing to wait for.</summary>
    public Task UntilQuietAsync() => UntilAsync(
        () => Pairs.All(static pair => pair.Entry.End is not null || pair.Entry.OpenStreams == 0), "ProxyEntry has no stream open");

    private async Task EndAsync()
    {
        foreach (var asked in _asked)
        {
            await DoneAsync(asked);
            Check(asked);
        }

        await SettleAsync();
        while (_arrived.TryDequeue(out var stream))
        {
            _streams.Add(stream);
        }

        _streams.ForEach(static stream => stream.Release());
        foreach (var pair in Pairs)
        {
            if (pair.Entry.End is null && pair.Agent.End is null)
            {
                await pair.FinishAsync();
            }
            else
            {
                pair.Entry.TryEnd(new Multiplexing.Uplinks.UplinkEnd(SessionEndReason.Shutdown));
                await pair.EndedAsync();
            }
        }

        Assert.Equal((0, 0L, 0L), (Lot.Count, Lot.Bytes, Metrics["tunnel2.entry.parked.active"]));
        Assert.Equal(_options.HasFaults, Faults.Count > 0);
    }

    /// <summary>Began once, ended once and last; each stream that was opened has ended; nothing of the request is left.</summary>
    private void Check(AskedRequest asked)
    {
        var moments = Moments.Of(asked.State);
        Assert.Equal("began", moments[0]);
        Assert.Single(moments, "began");
        Assert.StartsWith("ended ", moments[^1], StringComparison.Ordinal);
        Assert.Single(moments, static moment => moment.StartsWith("ended ", StringComparison.Ordinal));
        var open = 0;
        foreach (var moment in moments)
        {
            open += moment == "stream opened" ? 1 : moment == "stream ended" ? -1 : 0;
            Assert.InRange(open, 0, 1);
        }

        Assert.Equal(0, open);
        Assert.Equal((null, null, 0), (asked.State.Next, asked.State.Session, asked.State.Kept.Length));
    }
}
