using System.Security.Cryptography;
using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// One agent's connection from its first byte to its WELCOME or REJECT: handshake, registration or joining. Thread-safe.
/// </summary>
internal sealed class UplinkAcceptor
{
    private const string SupersededText = "The same agent registered the name again.";

    /// <summary>How long an agent should wait before it adds an uplink again, or after it was refused because there are too many.</summary>
    private static readonly TimeSpan _joinAgain = TimeSpan.FromSeconds(10);

    /// <summary>The wait for an agent that comes while ProxyEntry stops: the next process may be running by then.</summary>
    private static readonly TimeSpan _drainingRetry = TimeSpan.FromMilliseconds(500);

    private static readonly byte[] _noSecret = new byte[WelcomeMessage.JoinSecretLength];

    private readonly ProxyEntrySettings _settings;
    private readonly DrainSignal _drain;
    private readonly AgentAdmission _admission;
    private readonly AgentRegistry _agents;
    private readonly ISessionDirectory _directory;
    private readonly PublicAddresses _addresses;
    private readonly SessionJoins _joins;
    private readonly SessionUplinks _uplinks;
    private readonly IEngine _engine;
    private readonly UplinkRejection _rejection;
    private readonly SessionRevocation _revocation;
    private readonly UplinkQuota _quota;
    private readonly ProxyEntryMetrics _metrics;
    private readonly UplinkMetrics _uplinkMetrics;
    private readonly StalledTransfers _stalled;
    private readonly TimeProvider _timeProvider;
    private readonly OncePerSecond _quotaLines;
    private readonly ILogger _logger;

    public UplinkAcceptor(
        ProxyEntrySettings settings,
        AgentAdmission admission,
        AgentRegistry agents,
        ISessionDirectory directory,
        PublicAddresses addresses,
        SessionJoins joins,
        SessionUplinks uplinks,
        IEngine engine,
        UplinkRejection rejection,
        SessionRevocation revocation,
        UplinkQuota quota,
        ProxyEntryMetrics metrics,
        UplinkMetrics uplinkMetrics,
        StalledTransfers stalled,
        DrainSignal drain,
        TimeProvider timeProvider,
        ILogger<UplinkAcceptor> logger)
    {
        _stalled = stalled;
        _drain = drain;
        _settings = settings;
        _admission = admission;
        _agents = agents;
        _directory = directory;
        _addresses = addresses;
        _joins = joins;
        _uplinks = uplinks;
        _engine = engine;
        _rejection = rejection;
        _revocation = revocation;
        _quota = quota;
        _quotaLines = new OncePerSecond(timeProvider);
        _metrics = metrics;
        _uplinkMetrics = uplinkMetrics;
        _timeProvider = timeProvider;
        _logger = logger;
    }

    /// <summary>Serves a connection until it ends.</summary>
    /// <param name="transport">The connection, after its TLS handshake if there is one.</param>
    /// <param name="peer">The peer.</param>
    /// <param name="stopping">Cancels a handshake.</param>
    public async Task ServeAsync(IUplinkTransport transport, UplinkPeer peer, CancellationToken stopping)
    {
        try
        {
            // One limit for the whole handshake: the time of TLS counts.
            var left = ProtocolLimits.HandshakeTimeout - (
                peer.Connected is { } connected ? _timeProvider.GetElapsedTime(connected) : TimeSpan.Zero);
            var first = await HandshakeFrameReader.ReadAsync(
                transport,
                static type => type is FrameType.Hello or FrameType.Join,
                left > TimeSpan.Zero ? left : TimeSpan.Zero,
                _timeProvider,
                stopping).ConfigureAwait(false);
            if (first.Status != HandshakeReadStatus.Frame)
            {
                var reason = first.Status == HandshakeReadStatus.Malformed ? first.Error.ToString() : first.Status.ToString();
                if (first.FirstBytes.Span is [TlsByteStream.HandshakeRecord, 3, ..])
                {
                    reason = "TLS on a plaintext port";
                    ProxyEntryLog.TlsOnPlaintextPort(_logger, transport.RemoteName);
                }

                ProxyEntryLog.HandshakeFailed(_logger, transport.RemoteName, reason);
                if (first.Status == HandshakeReadStatus.Malformed)
                {
                    await _rejection.SendAsync(
                        transport, new RejectMessage(RejectCode.Malformed, TimeSpan.Zero, reason)).ConfigureAwait(false);
                }

                return;
            }

            if (first.Type == FrameType.Join)
            {
                await JoinAsync(transport, peer, first.Payload, first.Rest).ConfigureAwait(false);
                return;
            }

            var error = HelloMessage.TryRead(first.Payload.Span, out var hello);
            if (error != ProtocolError.None)
            {
                ProxyEntryLog.HandshakeFailed(_logger, transport.RemoteName, error.ToString());
                await _rejection.SendAsync(
                    transport, new RejectMessage(RejectCode.Malformed, TimeSpan.Zero, error.ToString())).ConfigureAwait(false);
                return;
            }

            await RegisterAsync(transport, peer, hello!, first.Rest, stopping).ConfigureAwait(false);
        }
        catch (IOException exception)
        {
            ProxyEntryLog.HandshakeFailed(_logger, transport.RemoteName, exception.Message);
        }
        finally
        {
            await transport.DisposeAsync().ConfigureAwait(false);
        }
    }

    private async Task RegisterAsync(
        IUplinkTransport transport, UplinkPeer peer, HelloMessage hello, ReadOnlyMemory<byte> rest, CancellationToken stopping)
    {
        var admission = _admission.Admit(hello, peer);
        if (admission.Reject is { } reject)
        {
            await _rejection.SendAsync(transport, reject).ConfigureAwait(false);
            return;
        }

        var maxUplinks = (hello.Capabilities & HandshakeCapabilities.MultipleUplinks) != 0 ? TunnelSession.MaxUplinks : 1;
        var session = new EntrySession
        {
            Tunnel = new TunnelSession(maxUplinks),
            MaxUplinks = maxUplinks,
            UplinkSettings = CreateSettings(hello),
            SessionId = RandomNumberGenerator.GetBytes(WelcomeMessage.SessionIdLength),
            JoinSecret = RandomNumberGenerator.GetBytes(WelcomeMessage.JoinSecretLength),
            Name = admission.Name,
            Identity = admission.Identity,
            Owner = admission.Grant is null && !hello.OwnerKey.IsEmpty ? AgentIdentity.OfOwner(hello.OwnerKey.Span) : admission.Identity,
            Grant = admission.Grant,
            Holder = UplinkQuota.HolderOf(admission.Grant, peer.Address),
            AgentVersion = hello.AgentVersion,
            Instance = AgentIdentity.OfInstance(hello.InstanceKey.Span),
        };
        var replaces = _directory.Find(session.Name, out var present) == NameState.Online && present!.Identity == session.Identity;
        if (_quota.TryEnter(session, replaces) is { } refusal)
        {
            await RefuseForNowAsync(transport, refusal).ConfigureAwait(false);
            return;
        }

        var isBegun = false;
        try
        {
            isBegun = await RegisterAsync(transport, session, rest, peer, stopping).ConfigureAwait(false);
        }
        finally
        {
            _quota.LeaveConnection();
            if (!isBegun)
            {
                _quota.LeaveSession(session);
            }
        }
    }

    /// <summary>Registers a session and runs its first uplink until it ends.</summary>
    /// <returns>Whether the session was registered. If so, its end is handled by <see cref="SessionUplinks"/>.</returns>
    private async Task<bool> RegisterAsync(
        IUplinkTransport transport, EntrySession session, ReadOnlyMemory<byte> rest, UplinkPeer peer, CancellationToken stopping)
    {
        // Before any request can find the session, so that none passes without its limit.
        SessionTiers.Apply(session, _agents.Current);
        var uplink = CreateUplink(transport, session);
        session.Tunnel.TryAdd(uplink);
        var registration = await _directory.RegisterAsync(session, stopping).ConfigureAwait(false);
        if (registration.Status == RegistrationStatus.NameTaken)
        {
            await _rejection.SendAsync(transport, new RejectMessage(
                RejectCode.NameTaken, registration.FreeIn, registration.FreeIn > TimeSpan.Zero
                ? $"The name '{session.Name}' is kept for the agent that has just left."
                : $"The name '{session.Name}' is taken.")).ConfigureAwait(false);
            return false;
        }

        if (registration.Superseded is { } superseded)
        {
            ProxyEntryLog.SessionSuperseded(_logger, session.Name, superseded.DisplayId, session.DisplayId);
            SessionTiers.Inherit(session, superseded);
            Supersede(superseded, session);
        }

        session.Epoch = registration.Epoch;
        if (_drain.IsDraining)
        {
            await _directory.UnregisterAsync(session.Name, registration.Epoch, isKept: true, CancellationToken.None).ConfigureAwait(false);
            session.Tunnel.End(SessionEndReason.Shutdown, "");
            await _rejection.SendAsync(
                transport, new RejectMessage(RejectCode.GoingAway, _drainingRetry, "The server is stopping.")).ConfigureAwait(false);
            return false;
        }

        _revocation.Settle(session);
        _uplinks.Begin(session);
        peer.Handshake?.Finish();
        await _uplinks.RunAsync(transport, session, uplink, CreateWelcome(session, session.JoinSecret), rest).ConfigureAwait(false);
        return true;
    }

    private async Task JoinAsync(IUplinkTransport transport, UplinkPeer peer, ReadOnlyMemory<byte> payload, ReadOnlyMemory<byte> rest)
    {
        var error = JoinMessage.TryRead(payload.Span, out var join);
        if (error != ProtocolError.None)
        {
            await RefuseJoinAsync(transport, RejectCode.Malformed, TimeSpan.Zero, error.ToString()).ConfigureAwait(false);
        }
        else if (join!.Version != ProtocolVersion.V1)
        {
            await RefuseJoinAsync(
                transport,
                RejectCode.VersionNotSupported,
                TimeSpan.Zero,
                "A further uplink speaks its session's version.").ConfigureAwait(false);
        }
        else if (_drain.IsDraining)
        {
            await RefuseJoinAsync(transport, RejectCode.GoingAway, _joinAgain, "The server is stopping.").ConfigureAwait(false);
        }
        else if (_joins.Find(join) is not { } session || session.IsLeaving)
        {
            await RefuseJoinAsync(
                transport, RejectCode.UnknownSession, TimeSpan.Zero, "The session is unknown or the proof is wrong.").ConfigureAwait(false);
        }
        else if (!_quota.TryJoin())
        {
            await RefuseJoinAsync(
                transport,
                RejectCode.Overloaded,
                _joinAgain,
                "The server has no connection left for a further uplink.").ConfigureAwait(false);
        }
        else
        {
            try
            {
                await JoinAsync(transport, peer, session, rest).ConfigureAwait(false);
            }
            finally
            {
                _quota.LeaveConnection();
            }
        }
    }

    private async Task JoinAsync(IUplinkTransport transport, UplinkPeer peer, EntrySession session, ReadOnlyMemory<byte> rest)
    {
        if (UplinkPlacement.TryMove(_engine.Loops, session.Tunnel.Uplinks, transport) is { } loop)
        {
            await new SchedulerYield(loop);
        }

        var uplink = CreateUplink(transport, session);
        if (session.Tunnel.TryAdd(uplink))
        {
            if (session.IsLeaving)
            {
                // The session began to leave in that time, and this uplink may have missed the notice.
                uplink.Drain(SessionEndReason.Superseded, SupersededText);
            }

            peer.Handshake?.Finish();

            // The secret has crossed the wire once, which is enough.
            await _uplinks.RunAsync(transport, session, uplink, CreateWelcome(session, _noSecret), rest).ConfigureAwait(false);
        }
        else if (session.Tunnel.HasEnded)
        {
            await RefuseJoinAsync(transport, RejectCode.UnknownSession, TimeSpan.Zero, "The session is over.").ConfigureAwait(false);
        }
        else
        {
            await RefuseJoinAsync(
                transport, RejectCode.Overloaded, _joinAgain, "The session has as many uplinks as it may.").ConfigureAwait(false);
        }
    }

    /// <summary>There are too many agents. Not a line for each refusal, because refused agents come again and again.</summary>
    private async Task RefuseForNowAsync(IUplinkTransport transport, string text)
    {
        _metrics.SessionRejected(RejectCode.Overloaded.ToString());
        if (_quotaLines.MayLog())
        {
            ProxyEntryLog.AgentRejected(_logger, transport.RemoteName, RejectCode.Overloaded.ToString(), text);
        }

        await _rejection.SendQuietlyAsync(transport, new RejectMessage(RejectCode.Overloaded, _joinAgain, text)).ConfigureAwait(false);
    }

    /// <summary>Not a warning: anybody can send JOINs, and a refused one does no harm.</summary>
    private async Task RefuseJoinAsync(IUplinkTransport transport, RejectCode code, TimeSpan retryAfter, string text)
    {
        ProxyEntryLog.JoinRefused(_logger, transport.RemoteName, code.ToString(), text);
        _uplinkMetrics.JoinRefused(code.ToString());
        await _rejection.SendQuietlyAsync(transport, new RejectMessage(code, retryAfter, text)).ConfigureAwait(false);
    }

    /// <summary>
    /// The name already leads to the successor. If both sessions are of one process, the older connection is already lost for it. Otherwise
    /// the older process may still be answering requests, and finishes them.
    /// </summary>
    private static void Supersede(EntrySession older, EntrySession successor)
    {
        older.MarkLeaving();
        if (older.Instance == successor.Instance)
        {
            older.Tunnel.End(SessionEndReason.Superseded, SupersededText);
            return;
        }

        foreach (var uplink in older.Tunnel.Uplinks)
        {
            uplink.Drain(SessionEndReason.Superseded, SupersededText);
        }
    }

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
        session.MarkLeaving();
    }

    private UplinkConnection CreateUplink(IUplinkTransport transport, EntrySession session) =>
        new(
            transport,
            session.UplinkSettings,
            onGoAway: (uplink, phase) =>
                _ = uplink.PeerGoAwayReason == SessionEndReason.HandOver ? OnHandOverAsync(session) : OnGoodbyeAsync(session));

    private UplinkSettings CreateSettings(HelloMessage hello) => _engine.Apply(new UplinkSettings
    {
        Role = UplinkRole.Entry,
        SendStreamWindow = hello.StreamWindow,
        SendUplinkWindow = hello.UplinkWindow,
        MaxStreams = hello.MaxStreams,
        ReceiveBudget = _stalled.Budget,
        TimeProvider = _timeProvider,
    });

    private WelcomeMessage CreateWelcome(EntrySession session, ReadOnlyMemory<byte> joinSecret) => new()
    {
        Capabilities = session.MaxUplinks > 1 ? HandshakeCapabilities.MultipleUplinks : HandshakeCapabilities.None,
        SessionId = session.SessionId,
        JoinSecret = joinSecret,
        Epoch = (ulong)session.Epoch,
        MaxUplinks = (byte)session.MaxUplinks,
        Name = session.Name,
        PublicUrls = _addresses.All(session.Name),
        BackendConnectTimeout = _settings.BackendConnectTimeout,
    };
}
