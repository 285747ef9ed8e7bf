using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Transport.WebSockets;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// Runs the uplinks of sessions, each from its WELCOME to its end. The last uplink of a session to end removes the session from the
/// directory, and only its own registration. Thread-safe.
/// </summary>
internal sealed class SessionUplinks
{
    private readonly ISessionDirectory _directory;
    private readonly SessionJoins _joins;
    private readonly PublicAddresses _addresses;
    private readonly UplinkHeartbeat _heartbeat;
    private readonly UplinkQuota _quota;
    private readonly ProxyEntryMetrics _metrics;
    private readonly UplinkMetrics _uplinkMetrics;
    private readonly DrainSignal _drain;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;

    public SessionUplinks(
        ISessionDirectory directory,
        SessionJoins joins,
        PublicAddresses addresses,
        UplinkHeartbeat heartbeat,
        UplinkQuota quota,
        ProxyEntryMetrics metrics,
        UplinkMetrics uplinkMetrics,
        DrainSignal drain,
        TimeProvider timeProvider,
        ILogger<SessionUplinks> logger)
    {
        _directory = directory;
        _joins = joins;
        _addresses = addresses;
        _heartbeat = heartbeat;
        _quota = quota;
        _metrics = metrics;
        _uplinkMetrics = uplinkMetrics;
        _drain = drain;
        _timeProvider = timeProvider;
        _logger = logger;
    }

    /// <summary>A session was registered; <see cref="RunAsync"/> follows at once for its first uplink.</summary>
    public void Begin(EntrySession session)
    {
        session.StartedAt = _timeProvider.GetTimestamp();
        _metrics.SessionStarted();
        _joins.Add(session);
    }

    /// <summary>Welcomes an uplink and runs it until it ends.</summary>
    /// <param name="transport">The connection.</param>
    /// <param name="session">Its session, which already has the uplink.</param>
    /// <param name="uplink">The uplink.</param>
    /// <param name="welcome">The answer to its HELLO or JOIN.</param>
    /// <param name="rest">Bytes that arrived after the handshake.</param>
    public async Task RunAsync(
        IUplinkTransport transport, EntrySession session, UplinkConnection uplink, WelcomeMessage welcome, ReadOnlyMemory<byte> rest)
    {
        uplink.StallObserver = session.Member is { } member ? member.OnStalled : session.Tunnel.OnStalled;
        _heartbeat.Add(uplink);
        if (_drain.IsDrained)
        {
            // It was taken out of service after this agent was let in, and asks only the uplinks that it finds in the heartbeat to leave.
            uplink.SendGoAwayNotice(SessionEndReason.Shutdown, _drain.Reason);
        }

        _uplinkMetrics.Add(uplink);
        var webSocket = transport is WebSocketTransport ? 1 : 0;
        _uplinkMetrics.ChangeWebSockets(webSocket);

        // Before the WELCOME, after which the agent's other uplinks come.
        var isFirst = uplink.Slot == 0 && session.Tunnel.Uplinks.Count == 1;
        try
        {
            // From here on a request may find the uplink. Its bytes follow the WELCOME, because the writer starts after it.
            await transport.SendAsync(welcome.ToFrame()).ConfigureAwait(false);
            if (isFirst)
            {
                ProxyEntryLog.AgentConnected(
                    _logger, session.Identity.ToString(), transport.RemoteName, _addresses.Of(session)[0], session.DisplayId,
                    session.AgentVersion);
            }
            else
            {
                ProxyEntryLog.UplinkJoined(_logger, uplink.Slot, session.DisplayId, transport.RemoteName);
            }

            await uplink.RunAsync(rest).ConfigureAwait(false);
        }
        finally
        {
            _uplinkMetrics.ChangeWebSockets(-webSocket);
            uplink.TryEnd(new UplinkEnd(SessionEndReason.TransportFailed));
            await EndAsync(session, uplink, uplink.End!).ConfigureAwait(false);
        }
    }

    private async Task EndAsync(EntrySession session, UplinkConnection uplink, UplinkEnd end)
    {
        _heartbeat.Remove(uplink);
        _uplinkMetrics.Remove(uplink);
        if (!session.Tunnel.Remove(uplink, end))
        {
            ProxyEntryLog.UplinkLeft(_logger, uplink.Slot, session.DisplayId, end.ToString());
            return;
        }

        _joins.Remove(session);
        _quota.LeaveSession(session);
        session.Lease?.Dispose();
        await _directory.UnregisterAsync(
            session.Name, session.Epoch, isKept: end.Reason != SessionEndReason.Revoked, CancellationToken.None).ConfigureAwait(false);
        var duration = _timeProvider.GetElapsedTime(session.StartedAt);
        _metrics.SessionEnded(duration, end.Reason.ToString());
        ProxyEntryLog.AgentDisconnected(
            _logger, session.Identity.ToString(), _addresses.Of(session)[0], duration, end.ToString(), session.DisplayId);
    }
}
