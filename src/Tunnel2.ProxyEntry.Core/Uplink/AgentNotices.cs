using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Sessions;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>What agents say on the uplinks of their sessions: that they stop, and whether their services work. Thread-safe.</summary>
internal sealed class AgentNotices
{
    private readonly ISessionDirectory _directory;
    private readonly ILogger _logger;

    public AgentNotices(ISessionDirectory directory, ILogger logger)
    {
        _directory = directory;
        _logger = logger;
    }

    /// <summary>Makes an uplink of a session, whose notices are heard.</summary>
    /// <param name="transport">Its connection.</param>
    /// <param name="session">The session.</param>
    public UplinkConnection CreateUplink(IUplinkTransport transport, EntrySession session) =>
        new(
            transport,
            session.UplinkSettings,
            onGoAway: (uplink, phase) =>
                _ = uplink.PeerGoAwayReason == SessionEndReason.HandOver ? OnHandOverAsync(session) : OnGoodbyeAsync(session))
        {
            ServiceObserver = session.Member is { } member ? (state, counter) => OnService(session, member, state, counter) : null,
        };

    /// <summary>
    /// The agent is about to stop and still serves requests, so that none has to wait for its last streams: the name is free for a
    /// successor. WebSockets, which have no end of their own, are ended now, so that they can connect to the successor early.
    /// </summary>
    private async Task OnHandOverAsync(EntrySession session)
    {
        if (!session.IsLeaving)
        {
            session.MarkLeaving();
        }

        await _directory.MarkHandingOverAsync(session.Name, session.Epoch, CancellationToken.None).ConfigureAwait(false);
    }

    /// <summary>The agent is stopping: it gets no new streams, and its name is free once none of its uplinks takes streams.</summary>
    private async Task OnGoodbyeAsync(EntrySession session)
    {
        foreach (var uplink in session.Tunnel.Uplinks)
        {
            if (uplink.IsOpenForStreams)
            {
                return;
            }
        }

        await _directory.MarkLeavingAsync(session.Name, session.Epoch, CancellationToken.None).ConfigureAwait(false);
        if (!session.IsLeaving)
        {
            session.MarkLeaving();
        }
    }

    private void OnService(EntrySession session, PoolMember member, ServiceState state, uint counter)
    {
        if (!member.Report(state, counter))
        {
            return;
        }

        _directory.ReportHealth(session);

        if (state == ServiceState.Healthy)
        {
            ProxyEntryLog.MemberHealthy(_logger, session.Name, session.DisplayId);
        }
        else
        {
            ProxyEntryLog.MemberUnhealthy(_logger, session.Name, session.DisplayId);
        }
    }
}
