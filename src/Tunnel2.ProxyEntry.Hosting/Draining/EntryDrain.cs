using Microsoft.AspNetCore.Hosting.Server;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Fronts.Raw;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Draining;

/// <summary>
/// Stops ProxyEntry, in this order: readiness off and no new agents; in a cluster agents go to other nodes; a last call to visitors; no new
/// visitors; running requests finish within the grace, also those that other nodes have passed here; sessions end; Kestrel stops. Runs
/// once.
/// </summary>
internal sealed class EntryDrain
{
    /// <summary>
    /// For this time after the signal, connections and listeners stay open, and every response says <c>Connection: close</c>. A busy
    /// visitor leaves in this time. Otherwise it could lose a request that is on its way when its connection is closed.
    /// </summary>
    private static readonly TimeSpan _lastCall = TimeSpan.FromMilliseconds(250);

    /// <summary>The time for subscribers of the live view to read the close message: a cut would destroy it.</summary>
    private static readonly TimeSpan _lastWords = TimeSpan.FromMilliseconds(500);

    /// <summary>The time for close messages, and for peers to notice cuts.</summary>
    private static readonly TimeSpan _farewell = TimeSpan.FromSeconds(2);

    /// <summary>How long a node waits until its agents are at other nodes. They connect within 2 s, and again after a failure.</summary>
    private static readonly TimeSpan _moveLimit = TimeSpan.FromSeconds(5);

    /// <summary>How often it looks whether they are.</summary>
    private static readonly TimeSpan _moveLook = TimeSpan.FromMilliseconds(50);

    private readonly ProxyEntrySettings _settings;
    private readonly DrainSignal _signal;
    private readonly Readiness _readiness;
    private readonly ISessionDirectory _directory;
    private readonly UplinkHeartbeat _uplinks;
    private readonly ParkingLot _parking;
    private readonly ListenerConnections _connections;
    private readonly StoppableListenerFactory _listeners;
    private readonly TunnelPorts? _ports;
    private readonly NodeLinkListener? _nodes;
    private readonly NodeLinks? _links;
    private readonly IOtherNodes? _others;
    private readonly IServer _server;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;

    public EntryDrain(
        ProxyEntrySettings settings,
        DrainSignal signal,
        Readiness readiness,
        ISessionDirectory directory,
        UplinkHeartbeat uplinks,
        ParkingLot parking,
        ListenerConnections connections,
        StoppableListenerFactory listeners,
        IServer server,
        TimeProvider timeProvider,
        ILogger<EntryDrain> logger,
        TunnelPorts? ports = null,
        NodeLinkListener? nodes = null,
        NodeLinks? links = null,
        IOtherNodes? others = null)
    {
        _others = others;
        _ports = ports;
        _nodes = nodes;
        _links = links;
        _settings = settings;
        _signal = signal;
        _readiness = readiness;
        _directory = directory;
        _uplinks = uplinks;
        _parking = parking;
        _connections = connections;
        _listeners = listeners;
        _server = server;
        _timeProvider = timeProvider;
        _logger = logger;
    }

    /// <summary>Runs the drain; when the task ends, everything has stopped.</summary>
    /// <param name="agents">The agents' listener.</param>
    /// <param name="hurry">Ends the delay and the grace: running requests are cut. Close messages are still sent.</param>
    public async Task RunAsync(UplinkListener agents, CancellationToken hurry = default)
    {
        _readiness.MarkDraining();
        _signal.Begin();
        agents.StopAccepting();
        var sessions = _directory.Snapshot();
        ProxyEntryLog.Draining(_logger, sessions.Count, sessions.Sum(static session => session.Tunnel.OpenStreams));
        foreach (var uplink in _uplinks.Snapshot())
        {
            // Only a notice: the agent still gets requests of visitors that are connected.
            uplink.SendGoAwayNotice(SessionEndReason.Shutdown, "The server is stopping.");
        }

        if (_settings.DrainDelay > TimeSpan.Zero)
        {
            await Task.Delay(_settings.DrainDelay, _timeProvider, hurry).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }

        await AgentsLeaveAsync(hurry).ConfigureAwait(false);
        await EndsInGraceAsync(_connections.Visitors.WaitForNoneAsync(), _lastCall, hurry).ConfigureAwait(false);

        // Visitors of other nodes come over links: they finish as this node's own do, at the same time.
        var links = _nodes?.DrainAsync(_settings.DrainTimeout, hurry) ?? Task.CompletedTask;
        await FinishVisitorsAsync(hurry).ConfigureAwait(false);
        await links.ConfigureAwait(false);
        await EndSessionsAsync().ConfigureAwait(false);
        await EndsWithinAsync(_connections.Admin.CloseAsync(), _lastWords).ConfigureAwait(false);
        _connections.Admin.Abort();
        using var limit = new CancellationTokenSource(_farewell, _timeProvider);
        await _server.StopAsync(limit.Token).ConfigureAwait(false);
        await EndsWithinAsync(agents.DisposeAsync().AsTask(), _farewell).ConfigureAwait(false);
        _links?.Stop();
        if (_nodes is not null)
        {
            await EndsWithinAsync(_nodes.DisposeAsync().AsTask(), _farewell).ConfigureAwait(false);
        }

        ProxyEntryLog.Stopped(_logger);
    }

    /// <summary>
    /// Until other nodes serve the names of this one: with its lease they belong to no node, and visitors elsewhere would find none.
    /// </summary>
    private async Task AgentsLeaveAsync(CancellationToken hurry)
    {
        if (_others is not { Exist: true })
        {
            return;
        }

        var since = _timeProvider.GetTimestamp();
        while (_directory.Snapshot().Count > 0
            && !hurry.IsCancellationRequested
            && _timeProvider.GetElapsedTime(since) < _moveLimit)
        {
            await Task.Delay(_moveLook, _timeProvider, hurry).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        }
    }

    private async Task FinishVisitorsAsync(CancellationToken hurry)
    {
        _ports?.StopAccepting();
        await EndsWithinAsync(_listeners.StopAcceptingAsync(), _farewell).ConfigureAwait(false);
        _parking.Close();
        foreach (var session in _directory.Snapshot())
        {
            // WebSockets, which have no end of their own, are ended.
            session.MarkLeaving();
        }

        _links?.MarkLeaving();

        var finished = _connections.Visitors.CloseAsync();
        if (!await EndsInGraceAsync(finished, _settings.DrainTimeout, hurry).ConfigureAwait(false))
        {
            ProxyEntryLog.GraceOver(_logger, _connections.Visitors.Count);
            _connections.Visitors.Abort();
            await EndsWithinAsync(finished, _farewell).ConfigureAwait(false);
        }
    }

    private async Task EndSessionsAsync()
    {
        var sessions = _directory.Snapshot();
        foreach (var session in sessions)
        {
            session.Tunnel.End(SessionEndReason.Shutdown, "The server stopped.");
        }

        foreach (var uplink in _uplinks.Snapshot())
        {
            uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown, Text: "The server stopped."));
        }

        await EndsWithinAsync(Task.WhenAll(sessions.Select(static session => session.Tunnel.Completion)), _farewell).ConfigureAwait(false);
    }

    private Task<bool> EndsWithinAsync(Task task, TimeSpan limit) => EndsInGraceAsync(task, limit, CancellationToken.None);

    private async Task<bool> EndsInGraceAsync(Task task, TimeSpan limit, CancellationToken hurry)
    {
        try
        {
            await task.WaitAsync(limit, _timeProvider, hurry).ConfigureAwait(false);
            return true;
        }
        catch (TimeoutException)
        {
            return false;
        }
        catch (OperationCanceledException) when (hurry.IsCancellationRequested)
        {
            return false;
        }
    }
}
