using System.Security.Cryptography;
using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Draining;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Tls;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// One agent's connection from its first byte to its end: handshake, registration, the uplink's life, removal. Thread-safe.
/// </summary>
internal sealed class UplinkAcceptor
{
    /// <summary>An agent that comes while we stop may try again after this: the next process may be there by then.</summary>
    private static readonly TimeSpan _drainingRetry = TimeSpan.FromMilliseconds(500);

    private readonly ProxyEntrySettings _settings;
    private readonly DrainSignal _drain;
    private readonly AgentAdmission _admission;
    private readonly ISessionDirectory _directory;
    private readonly PublicAddresses _addresses;
    private readonly UplinkHeartbeat _heartbeat;
    private readonly IEngine _engine;
    private readonly UplinkRejection _rejection;
    private readonly SessionRevocation _revocation;
    private readonly ProxyEntryMetrics _metrics;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;

    public UplinkAcceptor(
        ProxyEntrySettings settings,
        AgentAdmission admission,
        ISessionDirectory directory,
        PublicAddresses addresses,
        UplinkHeartbeat heartbeat,
        IEngine engine,
        UplinkRejection rejection,
        SessionRevocation revocation,
        ProxyEntryMetrics metrics,
        DrainSignal drain,
        TimeProvider timeProvider,
        ILogger<UplinkAcceptor> logger)
    {
        _drain = drain;
        _settings = settings;
        _admission = admission;
        _directory = directory;
        _addresses = addresses;
        _heartbeat = heartbeat;
        _engine = engine;
        _rejection = rejection;
        _revocation = revocation;
        _metrics = metrics;
        _timeProvider = timeProvider;
        _logger = logger;
    }

    /// <summary>Serves a connection until it ends.</summary>
    /// <param name="transport">The connection, behind its TLS handshake where there is one.</param>
    /// <param name="peer">Who is at its other end.</param>
    /// <param name="stopping">Gives up a handshake.</param>
    public async Task ServeAsync(IUplinkTransport transport, UplinkPeer peer, CancellationToken stopping)
    {
        try
        {
            // One limit for all of the handshake: what TLS took is gone.
            var left = ProtocolLimits.HandshakeTimeout - (peer.Connected is { } connected ? _timeProvider.GetElapsedTime(connected) : TimeSpan.Zero);
            var first = await HandshakeFrameReader.ReadAsync(
                transport, static type => type is FrameType.Hello or FrameType.Join, left > TimeSpan.Zero ? left : TimeSpan.Zero, _timeProvider, stopping).ConfigureAwait(false);
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
                    await _rejection.SendAsync(transport, new RejectMessage(RejectCode.Malformed, TimeSpan.Zero, reason)).ConfigureAwait(false);
                }

                return;
            }

            if (first.Type == FrameType.Join)
            {
                // Sessions with several uplinks are announced by a capability that WELCOME does not give yet.
                await _rejection.SendAsync(transport, new RejectMessage(RejectCode.UnknownSession, TimeSpan.Zero, "This session takes no further uplinks.")).ConfigureAwait(false);
                return;
            }

            var error = HelloMessage.TryRead(first.Payload.Span, out var hello);
            if (error != ProtocolError.None)
            {
                ProxyEntryLog.HandshakeFailed(_logger, transport.RemoteName, error.ToString());
                await _rejection.SendAsync(transport, new RejectMessage(RejectCode.Malformed, TimeSpan.Zero, error.ToString())).ConfigureAwait(false);
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

    private async Task RegisterAsync(IUplinkTransport transport, UplinkPeer peer, HelloMessage hello, ReadOnlyMemory<byte> rest, CancellationToken stopping)
    {
        var admission = _admission.Admit(hello, peer);
        if (admission.Reject is { } reject)
        {
            await _rejection.SendAsync(transport, reject).ConfigureAwait(false);
            return;
        }

        var session = new EntrySession
        {
            Tunnel = new TunnelSession(),
            SessionId = RandomNumberGenerator.GetBytes(WelcomeMessage.SessionIdLength),
            JoinSecret = RandomNumberGenerator.GetBytes(WelcomeMessage.JoinSecretLength),
            Name = admission.Name,
            Identity = admission.Identity,
            Grant = admission.Grant,
            AgentVersion = hello.AgentVersion,
            Instance = AgentIdentity.OfInstance(hello.InstanceKey.Span),
        };
        var uplink = new UplinkConnection(transport, CreateSettings(hello), onGoAway: (_, _) => _ = OnGoodbyeAsync(session));
        session.Tunnel.TryAdd(uplink);
        var registration = await _directory.RegisterAsync(session, stopping).ConfigureAwait(false);
        if (registration.Status == RegistrationStatus.NameTaken)
        {
            await _rejection.SendAsync(transport, new RejectMessage(RejectCode.NameTaken, TimeSpan.Zero, $"The name '{session.Name}' is taken.")).ConfigureAwait(false);
            return;
        }

        if (registration.Superseded is { } superseded)
        {
            ProxyEntryLog.SessionSuperseded(_logger, session.Name, superseded.DisplayId, session.DisplayId);
            Supersede(superseded, session);
        }

        session.Epoch = registration.Epoch;
        if (_drain.IsDraining)
        {
            await _directory.UnregisterAsync(session.Name, registration.Epoch, CancellationToken.None).ConfigureAwait(false);
            session.Tunnel.End(SessionEndReason.Shutdown, "");
            await _rejection.SendAsync(transport, new RejectMessage(RejectCode.GoingAway, _drainingRetry, "The server is stopping.")).ConfigureAwait(false);
            return;
        }

        _revocation.EndIfRevoked(session);
        await ServeSessionAsync(transport, session, uplink, registration.Epoch, rest).ConfigureAwait(false);
    }

    private async Task ServeSessionAsync(IUplinkTransport transport, EntrySession session, UplinkConnection uplink, long epoch, ReadOnlyMemory<byte> rest)
    {
        var started = _timeProvider.GetTimestamp();
        var end = new UplinkEnd(SessionEndReason.TransportFailed);
        _metrics.SessionStarted();
        _heartbeat.Add(uplink);
        try
        {
            // A request may find the session from here on: what it sends waits behind the welcome, because the writer starts after it.
            await transport.SendAsync(CreateWelcome(session, epoch).ToFrame()).ConfigureAwait(false);
            ProxyEntryLog.AgentConnected(_logger, session.Identity.ToString(), transport.RemoteName, _addresses.Main(session.Name), session.DisplayId, session.AgentVersion);
            end = await uplink.RunAsync(rest).ConfigureAwait(false);
        }
        finally
        {
            uplink.TryEnd(end);
            _heartbeat.Remove(uplink);
            await _directory.UnregisterAsync(session.Name, epoch, CancellationToken.None).ConfigureAwait(false);
            session.Tunnel.Remove(uplink, end);
            var duration = _timeProvider.GetElapsedTime(started);
            _metrics.SessionEnded(duration, end.Reason.ToString());
            ProxyEntryLog.AgentDisconnected(_logger, session.Identity.ToString(), _addresses.Main(session.Name), duration, end.ToString(), session.DisplayId);
        }
    }

    /// <summary>
    /// The name leads to the successor already. The same process has lost the older connection itself; another one may still be answering
    /// requests on it, and finishes them.
    /// </summary>
    private static void Supersede(EntrySession older, EntrySession successor)
    {
        const string Text = "The same agent registered the name again.";
        older.MarkLeaving();
        if (older.Instance == successor.Instance)
        {
            older.Tunnel.End(SessionEndReason.Superseded, Text);
            return;
        }

        foreach (var uplink in older.Tunnel.Uplinks)
        {
            uplink.Drain(SessionEndReason.Superseded, Text);
        }
    }

    /// <summary>The agent is stopping: nothing new goes to it, and its name is free once none of its uplinks takes streams.</summary>
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

    private UplinkSettings CreateSettings(HelloMessage hello) => _engine.Apply(new UplinkSettings
    {
        Role = UplinkRole.Entry,
        SendStreamWindow = hello.StreamWindow,
        SendUplinkWindow = hello.UplinkWindow,
        MaxStreams = hello.MaxStreams,
        TimeProvider = _timeProvider,
    });

    private WelcomeMessage CreateWelcome(EntrySession session, long epoch) => new()
    {
        SessionId = session.SessionId,
        JoinSecret = session.JoinSecret,
        Epoch = (ulong)epoch,
        Name = session.Name,
        PublicUrls = _addresses.All(session.Name),
        BackendConnectTimeout = _settings.BackendConnectTimeout,
    };
}
