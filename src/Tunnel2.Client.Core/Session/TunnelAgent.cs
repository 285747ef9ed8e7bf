using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Client.Core.Reconnect;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Core.Session;

/// <summary>Runs one agent: holds a session with the server, again and again, and serves its streams from the backend.</summary>
internal sealed class TunnelAgent : IAgentRunner
{
    private const int FilesOfALoop = 2;

    private readonly IEngine _engine;
    private readonly TimeProvider _timeProvider;
    private readonly UplinkLoops _loops;

    /// <summary>One for all tunnels: what it counts, the process has only once.</summary>
    private BackendSlots? _slots;

    /// <summary>The same.</summary>
    private ReceiveBudget? _uploads;

    public TunnelAgent(IEngine engine, TimeProvider timeProvider)
    {
        _engine = engine;
        _loops = new UplinkLoops(engine);
        _timeProvider = timeProvider;
    }

    /// <inheritdoc/>
    public async Task<int> RunAsync(AgentOptions options, IAgentEvents events, CancellationToken stop)
    {
        int uplinks = options.Uplinks.IsAuto ? UplinkPool.MaxAutomatic : options.Uplinks.Count;
        int left = FilesForBackends.Left(later: FilesOfALoop * Math.Min(uplinks - 1, _engine.SpareLoops));
        int limit = options.BackendConnections.IsAuto ? left : Math.Min(left, options.BackendConnections.Count);
        var slots = _slots ?? Interlocked.CompareExchange(ref _slots, new BackendSlots(limit, _timeProvider), null) ?? _slots;
        var uploads = _uploads
            ?? Interlocked.CompareExchange(ref _uploads, UploadBudget.Create(options, events, _timeProvider, _engine.Faults), null)
            ?? _uploads;
        using var heartbeat = new UplinkHeartbeat(_timeProvider, _engine.Faults);
        using var exchanges = new ExchangeContext(
            options, events, _timeProvider, _engine.Loops is [var first, ..] ? first : null, slots, _engine.Faults);
        using var metrics = new AgentMetrics(options.Name, exchanges, uploads);
        Rehearsal.Start(exchanges.RequestHeads);
        using var watch = options.WatchesBackend ? BackendWatch.Start(exchanges.Connector, options.Upstream, events, _timeProvider) : null;
        var dialer = new UplinkDialer(options, _engine, _loops, exchanges.Backends.Idle, _timeProvider);
        var session = new AgentSession(options, events, exchanges, heartbeat, _engine, dialer, uploads, _timeProvider);
        var loop = new ReconnectLoop(
            options, session.RunOnceAsync, events, new FullJitterBackoff(_timeProvider, Random.Shared), _timeProvider);
        var exitCode = await loop.RunAsync(stop).ConfigureAwait(false);
        await session.WhenRetiredAsync().ConfigureAwait(false);
        return exitCode;
    }
}
