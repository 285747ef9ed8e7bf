using System.Net;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting.Server;
using Microsoft.AspNetCore.Http.Features;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Draining;
using Tunnel2.ProxyEntry.Forwarding;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.Requests;
using Tunnel2.ProxyEntry.Uplink;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.InMemory;

/// <summary>A stop of ProxyEntry: agents in memory, visitors and Kestrel made up, and every step a line of <see cref="Steps"/>.</summary>
internal sealed class DrainFixture : IDisposable, IWaitingConnections
{
    private readonly Lock _gate = new();
    private readonly List<string> _steps = [];
    private readonly Server _server;
    private readonly UplinkListener _agents;
    private readonly EntryDrain _drain;
    private readonly ForwardWatchdog _watchdog;
    private long _armed;

    public DrainFixture(AcceptorFixture acceptor)
    {
        Acceptor = acceptor;
        _server = new Server(this);
        Lot = new ParkingLot(acceptor.Settings, acceptor.Time);
        _watchdog = new ForwardWatchdog(acceptor.Settings, new RequestObservers([]), new ManualTimeProvider());
        var limits = new ConnectionLimits(
            acceptor.Settings, acceptor.Quota, this, Connections, new CrowdedPlaces(_watchdog, Lot, acceptor.Directory),
            new ConnectionMetrics(acceptor.Metrics.Factory), acceptor.Time, new RecordedLog<ConnectionLimits>());
        var listeners = new StoppableListenerFactory(new Listeners(this), new IPEndPoint(IPAddress.Loopback, 1), Connections);
        VisitorsListener = listeners.BindAsync(new IPEndPoint(IPAddress.Loopback, 2)).AsTask().GetAwaiter().GetResult();
        _agents = new UplinkListener(
            UplinkListener.Bind(new IPEndPoint(IPAddress.Loopback, 0)), acceptor.Acceptor, null, acceptor.Engine, limits.Handshakes,
            limits.AcceptFailed, acceptor.Time, new RecordedLog<UplinkListener>());
        _agents.Start();
        Connections.Visitors.Closing.Register(() => Add("visitors are asked to leave"));
        Connections.Admin.Closing.Register(() => Add("administrators are asked to leave"));
        _drain = new EntryDrain(
            acceptor.Settings, acceptor.Drain, Readiness, acceptor.Directory, acceptor.Heartbeat, Lot, Connections, listeners, _server,
            acceptor.Time, Log, others: Others);
        Readiness.MarkReady();
    }

    public AcceptorFixture Acceptor { get; }

    /// <summary>Whether there are other nodes of a cluster.</summary>
    public OtherNodes Others { get; } = new();

    public Readiness Readiness { get; } = new();

    public ListenerConnections Connections { get; } = new();

    public ParkingLot Lot { get; }

    public RecordedLog<EntryDrain> Log { get; } = new();

    public IConnectionListener VisitorsListener { get; }

    /// <summary>Whether Kestrel stops only when it is no longer waited for.</summary>
    public bool ServerHangs
    {
        get => _server.Hangs;
        init => _server.Hangs = value;
    }

    /// <summary>What was done, in order.</summary>
    public IReadOnlyList<string> Steps
    {
        get
        {
            lock (_gate)
            {
                return [.. _steps];
            }
        }
    }

    /// <summary>The stop.</summary>
    public Task Running { get; private set; } = Task.CompletedTask;

    public void Dispose()
    {
        _watchdog.Dispose();
        Lot.Dispose();
    }

    /// <summary>The order to stop.</summary>
    public void Begin(CancellationToken hurry = default)
    {
        _armed = Acceptor.Time.ArmedTimers.Value;
        Running = _drain.RunAsync(_agents, hurry);
    }

    /// <summary>A visitor, or an administrator, is connected.</summary>
    public Visitor Connect(ConnectionTracker tracker, string name)
    {
        var visitor = new Visitor(this, name);
        tracker.Opened(visitor);
        return visitor;
    }

    /// <summary>Waits for a step.</summary>
    public Task UntilAsync(string step) => Acceptor.UntilAsync(() => Steps.Contains(step), step);

    /// <summary>Waits for a step that takes its time, and until the clock is asked for that.</summary>
    /// <param name="step">The step; null: any.</param>
    /// <param name="timers">How many wait for the clock.</param>
    public async Task UntilWaitingAsync(string? step = null, int timers = 1)
    {
        await Acceptor.UntilAsync(() => step is null || Steps.Contains(step), step ?? "a step");
        await Acceptor.UntilAsync(() => Acceptor.Time.ArmedTimers.Value >= _armed + timers, "the stop waits for the clock");
    }

    /// <summary>Moves the clock.</summary>
    /// <param name="by">How far.</param>
    public async Task AdvanceAsync(TimeSpan by)
    {
        Acceptor.Time.Advance(by);
        await Acceptor.SettleAsync();
    }

    /// <summary>Waits for the end of the stop.</summary>
    public async Task DoneAsync()
    {
        await Acceptor.UntilAsync(() => Running.IsCompleted, "the stop is over");
        await Running;
    }

    int IWaitingConnections.EndWaiting(int most, TimeSpan leastIdle, TimeSpan leastHead) => 0;

    private void Add(string step)
    {
        lock (_gate)
        {
            _steps.Add(step);
        }
    }

    /// <summary>A connection that is counted.</summary>
    internal sealed class Visitor(DrainFixture fixture, string name) : DefaultConnectionContext
    {
        public override void Abort(ConnectionAbortedException abortReason) => fixture.Add($"{name} is cut");
    }

    private sealed class Server(DrainFixture fixture) : IServer
    {
        public bool Hangs { get; set; }

        public IFeatureCollection Features { get; } = new FeatureCollection();

        public Task StartAsync<TContext>(IHttpApplication<TContext> application, CancellationToken cancellationToken)
            where TContext : notnull => Task.CompletedTask;

        public Task StopAsync(CancellationToken cancellationToken)
        {
            fixture.Add("Kestrel is asked to stop");
            if (!Hangs)
            {
                return Task.CompletedTask;
            }

            var stopped = new TaskCompletionSource();
            cancellationToken.Register(() =>
            {
                fixture.Add("Kestrel is not waited for");
                stopped.SetResult();
            });
            return stopped.Task;
        }

        public void Dispose()
        {
        }
    }

    private sealed class Listeners(DrainFixture fixture) : IConnectionListenerFactory
    {
        public ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default) =>
            new(new Listener(fixture, endpoint));
    }

    private sealed class Listener(DrainFixture fixture, EndPoint endPoint) : IConnectionListener
    {
        public EndPoint EndPoint => endPoint;

        public ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default) =>
            throw new NotSupportedException();

        public ValueTask UnbindAsync(CancellationToken cancellationToken = default)
        {
            fixture.Add("nobody new comes in");
            return default;
        }

        public ValueTask DisposeAsync() => default;
    }

    internal sealed class OtherNodes : IOtherNodes
    {
        public string Self => "e1";

        public bool Exist { get; set; }

        public IReadOnlyList<NodeLocation> Known => [];

        public IReadOnlyList<LostNode> Lost => [];

        public void Ask()
        {
            // No agent is there to be asked.
        }

        public NodeAnnouncement? Announcement => null;

        public event Action? Announced
        {
            add { }
            remove { }
        }
    }
}
