using System.Security.Cryptography;
using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Policies.Tables;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Domains;
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
    private readonly ITunnelPorts _ports;
    private readonly ProxyEntryMetrics _metrics;
    private readonly UplinkMetrics _uplinkMetrics;
    private readonly StalledTransfers _stalled;
    private readonly TimeProvider _timeProvider;
    private readonly OncePerSecond _quotaLines;
    private readonly ILogger _logger;
    private readonly DomainProofs? _proofs;
    private readonly AgentNotices _notices;
    private readonly IOtherNodes? _others;
    private readonly NodeNews? _news;

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
        ITunnelPorts ports,
        ProxyEntryMetrics metrics,
        UplinkMetrics uplinkMetrics,
        StalledTransfers stalled,
        DrainSignal drain,
        TimeProvider timeProvider,
        ILogger<UplinkAcceptor> logger,
        DomainProofs? proofs = null,
        IOtherNodes? others = null)
    {
        _others = others;
        _news = others is null ? null : new NodeNews(others, joins, timeProvider);
        _proofs = proofs;
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
        _ports = ports;
        _quotaLines = new OncePerSecond(timeProvider);
        _metrics = metrics;
        _uplinkMetrics = uplinkMetrics;
        _timeProvider = timeProvider;
        _logger = logger;
        _notices = new AgentNotices(directory, logger);
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
        if (_drain.IsDraining)
        {
            // Before it takes its name from the node that serves it.
            await _rejection.SendAsync(
                transport, new RejectMessage(RejectCode.GoingAway, _drainingRetry, _drain.Reason)).ConfigureAwait(false);
            return;
        }

        var admission = _admission.Admit(hello, peer);
        if (admission.Reject is { } reject)
        {
            await _rejection.SendAsync(transport, reject).ConfigureAwait(false);
            return;
        }

        var instance = AgentIdentity.OfInstance(hello.InstanceKey.Span);
        if (_joins.Refuse(hello, instance, _settings.EntryId) is { } running)
        {
            await _rejection.SendAsync(transport, running).ConfigureAwait(false);
            return;
        }

        if (admission.NeedsProof
            && (_proofs is null
                ? new RejectMessage(RejectCode.NameNotAllowed, TimeSpan.Zero, "This server proves no domains.")
                : await _proofs.CheckAsync(admission.Grant!.AgentId, admission.Name, stopping).ConfigureAwait(false)) is { } unproven)
        {
            await _rejection.SendAsync(transport, unproven).ConfigureAwait(false);
            return;
        }

        // One table for both uses: what is not refused by it has all its rules from it.
        var agents = _agents.Current;
        Policy? policy = null;
        var problem = SessionAccess.FindObstacle(hello.Kind, hello.Access, agents, admission.Grant)
            ?? SessionPolicies.FindObstacle(hello.Kind, agents, admission.Grant, admission.Name)
            ?? SessionWebhooks.FindObstacle(hello.Kind, hello.Access, agents.WebhookOf(admission.Grant))
            ?? SessionPolicies.TryRead(hello.Kind, hello.Access, _settings.CountryHeader is not null, out policy);
        if (problem is { } obstacle)
        {
            await _rejection.SendAsync(
                transport, new RejectMessage(RejectCode.AccessNotSupported, TimeSpan.Zero, obstacle)).ConfigureAwait(false);
            return;
        }

        var isPooled = (hello.Capabilities & HandshakeCapabilities.Pools) != 0;
        var owner = admission.Grant is null && !hello.OwnerKey.IsEmpty ? AgentIdentity.OfOwner(hello.OwnerKey.Span) : admission.Identity;
        var port = await FindPortAsync(hello, admission.Name, owner, stopping).ConfigureAwait(false);
        if (port.Reject is { } noPort)
        {
            await _rejection.SendAsync(transport, noPort).ConfigureAwait(false);
            return;
        }

        var announcement = hello.Kind == SessionKind.Http && (hello.Capabilities & HandshakeCapabilities.AnnouncedNodes) != 0
            ? _others?.Announcement
            : null;
        var hearsNodes = announcement is not null && (hello.Capabilities & HandshakeCapabilities.NodeNews) != 0;
        if (!hearsNodes && announcement is { Others.Count: 0 })
        {
            // An agent of the release before would have no use of it.
            announcement = null;
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
            Owner = owner,
            Kind = hello.Kind,
            Lease = port.Lease,
            Grant = admission.Grant,
            OwnRules = hello.Access,
            OwnAccess = SessionAccess.OwnOf(hello.Access, agents),
            OwnPolicy = policy,
            Holder = UplinkQuota.HolderOf(admission.Grant, peer.Address),
            AgentVersion = hello.AgentVersion,
            Instance = instance,
            IsSpread = hello.Kind == SessionKind.Http
                && ((hello.Capabilities & HandshakeCapabilities.SeveralNodes) != 0 || announcement is not null),
            HearsNodes = hearsNodes,
            Member = isPooled
                ? new PoolMember(_timeProvider, _settings.Pool.SlowStart, _settings.Pool.Pause, isHealthy: !hello.WaitsForHealth)
                : null,
        };
        var replaces = _directory.Find(session.Name, out var present) == NameState.Online && present!.Identity == session.Identity
            && (present.Member?.Pool is not { } pool || pool.FindInstance(session.Instance) is not null);
        if (_quota.TryEnter(session, replaces) is { } refusal)
        {
            session.Lease?.Dispose();
            await RefuseForNowAsync(transport, refusal).ConfigureAwait(false);
            return;
        }

        var isBegun = false;
        try
        {
            if (await TryRegisterAsync(transport, session, hello.Running, stopping).ConfigureAwait(false) is { } uplink)
            {
                var welcome = CreateWelcome(session, session.JoinSecret, announcement);
                peer.Handshake?.Finish();
                _uplinks.Begin(session);
                _news?.Settle(session, announcement);

                // From here on SessionUplinks gives back what the session has, after its last uplink.
                isBegun = true;
                await _uplinks.RunAsync(transport, session, uplink, welcome, rest).ConfigureAwait(false);
            }
        }
        finally
        {
            _quota.LeaveConnection();
            if (!isBegun)
            {
                _quota.LeaveSession(session);
                session.Lease?.Dispose();
            }
        }
    }

    /// <summary>A port for a session of TCP. Other sessions need none.</summary>
    private ValueTask<TunnelPort> FindPortAsync(
        HelloMessage hello, string name, AgentIdentity owner, CancellationToken stopping) =>
        hello.Kind == SessionKind.Http ? default
        : _ports.FindObstacle(hello.Kind) is { } obstacle
        ? ValueTask.FromResult(
            new TunnelPort(null, new RejectMessage(RejectCode.KindNotSupported, TimeSpan.Zero, obstacle)))
        : hello.Kind is SessionKind.Tcp or SessionKind.Udp
        ? _ports.TakeAsync(hello.Kind, name, owner, hello.WantedPort, hello.TakesAnotherPort, stopping)
        : default;

    /// <summary>Registers a session, or refuses it. One of those that run, which it supersedes, finishes what it carries.</summary>
    /// <returns>Its first uplink; null when it was refused.</returns>
    private async Task<UplinkConnection?> TryRegisterAsync(
        IUplinkTransport transport, EntrySession session, IReadOnlyList<Guid> running, CancellationToken stopping)
    {
        // Before any request can find the session, so that none passes without its limit or its access rules.
        SessionTiers.Apply(session, _agents.Current);
        SessionAccess.Apply(session, _agents.Current);
        SessionPolicies.Apply(session, _agents.Current);
        SessionWebhooks.Apply(session, _agents.Current);
        var uplink = _notices.CreateUplink(transport, session);
        session.Tunnel.TryAdd(uplink);
        var registration = await _directory.RegisterAsync(session, stopping).ConfigureAwait(false);
        if (registration.Reason is { } reason)
        {
            var (code, again) = registration.Status switch
            {
                RegistrationStatus.PoolNotPossible => (RejectCode.PoolNotPossible, TimeSpan.Zero),
                RegistrationStatus.PoolFull => (RejectCode.Overloaded, _joinAgain),
                _ => (RejectCode.Overloaded, registration.FreeIn),
            };
            await _rejection.SendAsync(transport, new RejectMessage(code, again, reason)).ConfigureAwait(false);
            return null;
        }

        if (registration.Status == RegistrationStatus.NameTaken)
        {
            await _rejection.SendAsync(transport, new RejectMessage(
                RejectCode.NameTaken, registration.FreeIn, registration.FreeIn > TimeSpan.Zero
                ? $"The name '{session.Name}' is kept for the agent that has just left."
                : $"The name '{session.Name}' is taken.")).ConfigureAwait(false);
            return null;
        }

        if (registration.Superseded is { } superseded)
        {
            ProxyEntryLog.SessionSuperseded(_logger, session.Name, superseded.DisplayId, session.DisplayId);
            SessionTiers.Inherit(session, superseded);
            SessionPolicies.Inherit(session, superseded);
            SessionTakeover.Supersede(
                superseded,
                superseded.Instance == session.Instance && !superseded.IsLeaving && !running.Contains(new Guid(superseded.SessionId.Span)));
        }

        session.Epoch = registration.Epoch;

        // One that was only taken out of service since serves the name, which no other node has now, until the agent is elsewhere.
        if (_drain.IsStopping)
        {
            await _directory.UnregisterAsync(session.Name, registration.Epoch, isKept: true, CancellationToken.None).ConfigureAwait(false);
            session.Tunnel.End(SessionEndReason.Shutdown, "");
            await _rejection.SendAsync(
                transport, new RejectMessage(RejectCode.GoingAway, _drainingRetry, _drain.Reason)).ConfigureAwait(false);
            return null;
        }

        session.Lease?.IsKept = true;
        _revocation.Settle(session);
        return uplink;
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
            await RefuseJoinAsync(transport, RejectCode.GoingAway, _joinAgain, _drain.Reason).ConfigureAwait(false);
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

        var uplink = _notices.CreateUplink(transport, session);
        if (session.Tunnel.TryAdd(uplink))
        {
            if (session.IsLeaving)
            {
                // The session began to leave in that time, and this uplink may have missed the notice.
                uplink.Drain(SessionEndReason.Superseded, SessionTakeover.Text);
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

    /// <summary>Not a warning: any machine can send JOINs, and a refused one does no harm.</summary>
    private async Task RefuseJoinAsync(IUplinkTransport transport, RejectCode code, TimeSpan retryAfter, string text)
    {
        ProxyEntryLog.JoinRefused(_logger, transport.RemoteName, code.ToString(), text);
        _uplinkMetrics.JoinRefused(code.ToString());
        await _rejection.SendQuietlyAsync(transport, new RejectMessage(code, retryAfter, text)).ConfigureAwait(false);
    }

    private UplinkSettings CreateSettings(HelloMessage hello) => _engine.Apply(new UplinkSettings
    {
        Role = UplinkRole.Entry,
        SendStreamWindow = hello.StreamWindow,
        SendUplinkWindow = hello.UplinkWindow,
        MaxStreams = hello.MaxStreams,
        ReceiveBudget = _stalled.Budget,
        TimeProvider = _timeProvider,
    });

    private WelcomeMessage CreateWelcome(EntrySession session, ReadOnlyMemory<byte> secret, NodeAnnouncement? announcement = null) => new()
    {
        Capabilities = (session.MaxUplinks > 1 ? HandshakeCapabilities.MultipleUplinks : HandshakeCapabilities.None)
            | (session.Kind == SessionKind.Http ? HandshakeCapabilities.None : HandshakeCapabilities.SessionKinds)
            | (session.OwnRules is null ? HandshakeCapabilities.None : HandshakeCapabilities.AccessRules)
            | (session.Member is null ? HandshakeCapabilities.None : HandshakeCapabilities.Pools)
            | (session.IsSpread ? HandshakeCapabilities.SeveralNodes : HandshakeCapabilities.None)
            | (announcement is null ? HandshakeCapabilities.None : HandshakeCapabilities.AnnouncedNodes)
            | (announcement is not null && session.HearsNodes ? HandshakeCapabilities.NodeNews : HandshakeCapabilities.None),
        Announcement = announcement,
        SessionId = session.SessionId,
        JoinSecret = secret,
        Epoch = (ulong)session.Epoch,
        MaxUplinks = (byte)session.MaxUplinks,
        Name = session.Name,
        PublicUrls = _addresses.Of(session),
        BackendConnectTimeout = _settings.BackendConnectTimeout,
        Kind = session.Kind,
        Port = session.Lease?.Port ?? 0,
    };
}
