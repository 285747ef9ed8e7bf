using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Client.Core.Health;
using Tunnel2.Client.Core.Reconnect;
using Tunnel2.Client.Core.Ways;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Supervision;

namespace Tunnel2.Client.Core.Session;

/// <summary>Runs one agent: holds a session with the server, again and again, and serves its streams from the backend.</summary>
internal sealed class TunnelAgent : IAgentRunner
{
    private const int FilesOfALoop = 2;

    private readonly IEngine _engine;
    private readonly TimeProvider _timeProvider;
    private readonly UplinkLoops _loops;
    private readonly LoopPulse _pulse;

    /// <summary>One for all tunnels: what it counts, the process has only once.</summary>
    private BackendSlots? _slots;

    /// <summary>The same.</summary>
    private ReceiveBudget? _uploads;

    public TunnelAgent(IEngine engine, TimeProvider timeProvider)
    {
        _engine = engine;
        _loops = new UplinkLoops(engine);
        _pulse = new LoopPulse(engine);
        _timeProvider = timeProvider;
    }

    /// <inheritdoc/>
    public bool IsServing => _pulse.Look();

    /// <inheritdoc/>
    public async Task<int> RunAsync(AgentOptions options, IAgentEvents events, CancellationToken stop)
    {
        // A connection within the process has no descriptor: the limit of streams bounds how many there are.
        using var slots = options.Upstream.InProcess is not null ? TunnelSlots.Unlimited() : SlotsFor(options).AddTunnel();
        var uploads = _uploads
            ?? Interlocked.CompareExchange(ref _uploads, UploadBudget.Create(options, events, _timeProvider, _engine.Faults), null)
            ?? _uploads;
        using var heartbeat = new UplinkHeartbeat(_timeProvider, _engine.Faults);
        using var exchanges = new ExchangeContext(
            options, events, _timeProvider, _engine.Loops is [var first, ..] ? first : null, slots, _engine.Faults)
        {
            Inspected = options.Inspection?.Store,
        };
        var ways = new UplinkWays(options, Random.Shared);
        var running = new RunningSessions();
        using var servers = ServerGroup.IsNeededFor(options) ? new ServerGroup(options, events, stop, _timeProvider) : null;
        using var metrics = new AgentMetrics(options.Name, exchanges, uploads, ways);
        Rehearsal.Start(exchanges.RequestHeads);
        List<BackendWatch> watches = options.WatchesBackend
            ? [.. exchanges.Routed.Prepend(exchanges.Service).DistinctBy(static service => service.Name)
                .Select(service => BackendWatch.Start(service.Connector, service.Target, events, _timeProvider))]
            : [];
        using var check = StartCheck(options, events, exchanges.Service.Connector);
        try
        {
            return servers is null
                ? await HoldAsync(options, events, ways, stop).ConfigureAwait(false)
                : await servers.RunAsync(
                    (one, reports, isFirst, end) => HoldAsync(
                        one, reports, isFirst ? ways : new UplinkWays(one, Random.Shared), end),
                    HoldOnceAsync).ConfigureAwait(false);
        }
        finally
        {
            watches.ForEach(static watch => watch.Dispose());
        }

        // Holds sessions with one server, one after the other.
        async Task<int> HoldAsync(AgentOptions one, IAgentEvents reports, UplinkWays itsWays, CancellationToken end)
        {
            var session = SessionWith(one, reports, itsWays);
            var loop = new ReconnectLoop(
                one, RunOnceAsync, reports, new FullJitterBackoff(_timeProvider, Random.Shared), _timeProvider,
                reports as IOtherSessions);
            var exitCode = await loop.RunAsync(end).ConfigureAwait(false);
            await session.WhenRetiredAsync().ConfigureAwait(false);
            return exitCode;

            async Task<ConnectionEnd> RunOnceAsync(CancellationToken over)
            {
                var ended = await session.RunOnceAsync(over).ConfigureAwait(false);
                return reports is ServerReports server ? await servers!.JudgeAsync(server, ended, over).ConfigureAwait(false) : ended;
            }
        }

        // Holds one session with a node that another server has announced.
        async Task<(ConnectionEnd End, Task Retired)> HoldOnceAsync(AgentOptions one, ServerReports reports, CancellationToken end)
        {
            var session = SessionWith(one, reports, new UplinkWays(one, Random.Shared));
            var over = await session.RunOnceAsync(end).ConfigureAwait(false);
            return (over, session.WhenRetiredAsync());
        }

        AgentSession SessionWith(AgentOptions one, IAgentEvents reports, UplinkWays itsWays) => new(
            one, reports, exchanges, heartbeat, _engine,
            new UplinkDialer(one, _engine, _loops, exchanges.Backends.Idle, _timeProvider),
            uploads, _timeProvider, itsWays, check, reports as IClusterPlace, running);
    }

    /// <summary>The first tunnel makes them. Each look at what is open takes as long as there are open files.</summary>
    private BackendSlots SlotsFor(AgentOptions options)
    {
        if (_slots is { } known)
        {
            return known;
        }

        int uplinks = options.Uplinks.IsAuto ? UplinkPool.MaxAutomatic : options.Uplinks.Count;
        int left = FilesForBackends.Left(later: FilesOfALoop * Math.Min(uplinks - 1, _engine.SpareLoops));
        int limit = options.BackendConnections.IsAuto ? left : Math.Min(left, options.BackendConnections.Count);
        return Interlocked.CompareExchange(ref _slots, new BackendSlots(limit, _timeProvider), null) ?? _slots;
    }

    private ServiceCheck? StartCheck(AgentOptions options, IAgentEvents events, BackendConnector connector)
    {
        if (options is not { Pool: true, Health.Target: not null })
        {
            return null;
        }

        var probe = new ServiceProbe(options.Health, options.Upstream, connector, _timeProvider);
        var check = new ServiceCheck(options.Health, options.Upstream, probe.LookAsync, events, _timeProvider);
        check.Start();
        return check;
    }
}
