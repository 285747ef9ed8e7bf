using System.Diagnostics.Metrics;
using System.Security.Cryptography;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster.Diagnostics;
using Tunnel2.ProxyEntry.Cluster.Keeping;
using Tunnel2.ProxyEntry.Cluster.Limits;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Cluster.Locating;
using Tunnel2.ProxyEntry.Cluster.Names;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Postgres;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Cluster.Tests.Model;

/// <summary>A node without a server: its directory and its keeper over any store.</summary>
internal sealed class TestNode
{
    /// <summary>How long names are kept for their owners.</summary>
    public static readonly TimeSpan KeptFor = TimeSpan.FromSeconds(8);

    private static readonly ClusterMetrics _metrics = new(new Factory());

    private readonly TimeProvider _timeProvider;

    public TestNode(string name, IClusterStore store, TimeProvider timeProvider, int seed = 0)
    {
        _timeProvider = timeProvider;
        State = new NodeState(new NodeFacts(name, Guid.NewGuid(), $"{name}:1", "1"), timeProvider);
        Names = new NameTable(timeProvider);
        Directory = new ClusterDirectory(
            new InMemorySessionDirectory(timeProvider, KeptFor), store, State, Names, KeptFor, _metrics,
            NullLogger<ClusterDirectory>.Instance, timeProvider);
        Keeper = new NodeKeeper(
            store, State, Names, Directory, KeptFor, timeProvider, NullLogger<NodeKeeper>.Instance, new Random(seed));
    }

    public NodeState State { get; }

    public NameTable Names { get; }

    public ClusterDirectory Directory { get; }

    public NodeKeeper Keeper { get; }

    /// <summary>The shares of limits; there is none before it runs by itself.</summary>
    public SharedLimits? Limits { get; private set; }

    /// <summary>A session of an agent; each has a process of its own.</summary>
    public static EntrySession CreateSession(
        string name, string agent, string? owner = null, AgentIdentity? instance = null, PoolMember? member = null,
        bool isSpread = false, SessionKind kind = SessionKind.Http) =>
        new()
        {
            Tunnel = new TunnelSession(1),
            SessionId = RandomNumberGenerator.GetBytes(16),
            JoinSecret = RandomNumberGenerator.GetBytes(16),
            Name = name,
            Identity = AgentIdentity.OfToken(agent),
            Owner = AgentIdentity.OfToken(owner ?? agent),
            AgentVersion = "test",
            Member = member,
            IsSpread = isSpread,
            Kind = kind,
            Instance = instance ?? AgentIdentity.OfInstance(RandomNumberGenerator.GetBytes(16)),
        };

    /// <summary>Registers as the acceptor does.</summary>
    public async Task<RegistrationResult> RegisterAsync(EntrySession session)
    {
        var result = await Directory.RegisterAsync(session, CancellationToken.None);
        if (result.Status == RegistrationStatus.Registered)
        {
            session.Epoch = result.Epoch;
            if (result.Superseded is { } superseded)
            {
                SessionTakeover.Supersede(superseded, superseded.Instance == session.Instance);
            }
        }

        return result;
    }

    /// <summary>A member of a pool whose service works.</summary>
    public static PoolMember CreateMember(TimeProvider timeProvider) => new(timeProvider, TimeSpan.Zero, TimeSpan.Zero, isHealthy: true);

    /// <summary>The sessions of a name that requests find.</summary>
    public IReadOnlyList<EntrySession> FindAll(string name) => Find(name) is not { } any ? []
        : any.Member?.Pool is { } pool
        ? [.. pool.Members.Where(static member => !member.SaidGoodbye).Select(static member => member.Session)]
        : [any];

    /// <summary>The session that requests find, or null.</summary>
    public EntrySession? Find(string name) =>
        Directory.Find(name, out var session) == NameState.Online ? session : null;

    /// <summary>The epoch that the database gave to a name of this node; 0: none yet.</summary>
    public long EpochOf(string name)
    {
        lock (Names.Gate)
        {
            return Names.EntriesUnsynchronized(name) is [.., var entry] ? entry.Epoch : 0;
        }
    }

    /// <summary>The epoch that the database gave to a session; 0: none yet.</summary>
    public long EpochOf(EntrySession session)
    {
        lock (Names.Gate)
        {
            return Array.Find(Names.EntriesUnsynchronized(session.Name), entry => entry.Session == session)?.Epoch ?? 0;
        }
    }

    /// <summary>Its shares of limits.</summary>
    public SharedLimits CreateLimits(IShareBoard board, Func<int> otherNodes) =>
        new(board, State, Names, otherNodes, _metrics, _timeProvider, NullLogger<SharedLimits>.Instance);

    /// <summary>Lets it run by itself. It is stopped with its store.</summary>
    public ClusterMember CreateMember(IClusterStore store)
    {
        Limits = CreateLimits(store is PostgresStore database ? database.Shares : new NoShares(), static () => 1);
        var readiness = new Readiness();
        var drain = new NodeDrain(new DrainSignal(), readiness, new UplinkHeartbeat(_timeProvider), NullLogger<NodeDrain>.Instance);
        var watch = new NodeWatch(
            store, State, drain, readiness, _timeProvider, NullLogger<NodeWatch>.Instance, static _ => Task.FromResult(false));
        return new ClusterMember(
            store, Keeper, watch, State, Directory, new SessionLocator(store, State, _metrics, _timeProvider), Limits,
            _timeProvider,
            NullLogger<ClusterMember>.Instance);
    }

    /// <summary>A step of the keeper.</summary>
    public Task<TimeSpan> StepAsync() => Keeper.StepAsync(CancellationToken.None);

    private sealed class NoShares : IShareBoard
    {
        public Task ExchangeAsync(
            string node, IReadOnlyList<ShareWish> wishes, TimeSpan keptFor, CancellationToken cancellationToken) =>
            throw new StoreUnavailableException("not here");
    }

    private sealed class Factory : IMeterFactory
    {
        public Meter Create(MeterOptions options) => new(options);

        public void Dispose()
        {
        }
    }
}
