using Microsoft.AspNetCore.Hosting.Server;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Connections;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Parking;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Draining;

/// <summary>
/// Stops ProxyEntry, in this order: readiness off and no new agents; a last call to visitors; no new visitors; running requests finish
/// within the grace; sessions end; Kestrel stops. Runs once.
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

    private readonly ProxyEntrySettings _settings;
    private readonly DrainSignal _signal;
    private readonly Readiness _readiness;
    private readonly ISessionDirectory _directory;
    private readonly UplinkHeartbeat _uplinks;
    private readonly ParkingLot _parking;
    private readonly ListenerConnections _connections;
    private readonly StoppableListenerFactory _listeners;
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
        ILogger<EntryDrain> logger)
    {
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

        await EndsInGraceAsync(_connections.Visitors.WaitForNoneAsync(), _lastCall, hurry).ConfigureAwait(false);
        await FinishVisitorsAsync(hurry).ConfigureAwait(false);
        await EndSessionsAsync().ConfigureAwait(false);
        await EndsWithinAsync(_connections.Admin.CloseAsync(), _lastWords).ConfigureAwait(false);
        _connections.Admin.Abort();
        using var limit = new CancellationTokenSource(_farewell, _timeProvider);
        await _server.StopAsync(limit.Token).ConfigureAwait(false);
        await EndsWithinAsync(agents.DisposeAsync().AsTask(), _farewell).ConfigureAwait(false);
        ProxyEntryLog.Stopped(_logger);
    }

    private async Task FinishVisitorsAsync(CancellationToken hurry)
    {
        await EndsWithinAsync(_listeners.StopAcceptingAsync(), _farewell).ConfigureAwait(false);
        _parking.Close();
        foreach (var session in _directory.Snapshot())
        {
            // WebSockets, which have no end of their own, are ended.
            session.MarkLeaving();
        }

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
