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
        _metrics = metrics;
        _timeProvider = timeProvider;
        _logger = logger;
    }

    /// <summary>Serves a connection until it ends.</summary>
    public async Task ServeAsync(IUplinkTransport transport, CancellationToken stopping)
    {
        try
        {
            var first = await HandshakeFrameReader.ReadAsync(
                transport, static type => type is FrameType.Hello or FrameType.Join, ProtocolLimits.HandshakeTimeout, _timeProvider, stopping).ConfigureAwait(false);
            if (first.Status != HandshakeReadStatus.Frame)
            {
                var reason = first.Status == HandshakeReadStatus.Malformed ? first.Error.ToString() : first.Status.ToString();
                ProxyEntryLog.HandshakeFailed(_logger, transport.RemoteName, reason);
                if (first.Status == HandshakeReadStatus.Malformed)
                {
                    await RejectAsync(transport, new RejectMessage(RejectCode.Malformed, TimeSpan.Zero, reason)).ConfigureAwait(false);
                }

                return;
            }

            if (first.Type == FrameType.Join)
            {
                // Sessions with several uplinks are announced by a capability that WELCOME does not give yet.
                await RejectAsync(transport, new RejectMessage(RejectCode.UnknownSession, TimeSpan.Zero, "This session takes no further uplinks.")).ConfigureAwait(false);
                return;
            }

            var error = HelloMessage.TryRead(first.Payload.Span, out var hello);
            if (error != ProtocolError.None)
            {
                ProxyEntryLog.HandshakeFailed(_logger, transport.RemoteName, error.ToString());
                await RejectAsync(transport, new RejectMessage(RejectCode.Malformed, TimeSpan.Zero, error.ToString())).ConfigureAwait(false);
                return;
            }

            await RegisterAsync(transport, hello!, first.Rest, stopping).ConfigureAwait(false);
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

    private async Task RegisterAsync(IUplinkTransport transport, HelloMessage hello, ReadOnlyMemory<byte> rest, CancellationToken stopping)
    {
        var admission = _admission.Admit(hello);
        if (admission.Reject is { } reject)
        {
            await RejectAsync(transport, reject).ConfigureAwait(false);
            return;
        }

        var session = new EntrySession
        {
            Tunnel = new TunnelSession(),
            SessionId = RandomNumberGenerator.GetBytes(WelcomeMessage.SessionIdLength),
            JoinSecret = RandomNumberGenerator.GetBytes(WelcomeMessage.JoinSecretLength),
            Name = admission.Name,
            Identity = admission.Identity,
            AgentVersion = hello.AgentVersion,
            Instance = AgentIdentity.OfInstance(hello.InstanceKey.Span),
        };
        var uplink = new UplinkConnection(transport, CreateSettings(hello), onGoAway: (_, _) => _ = OnGoodbyeAsync(session));
        session.Tunnel.TryAdd(uplink);
        var registration = await _directory.RegisterAsync(session, stopping).ConfigureAwait(false);
        if (registration.Status == RegistrationStatus.NameTaken)
        {
            await RejectAsync(transport, new RejectMessage(RejectCode.NameTaken, TimeSpan.Zero, $"The name '{session.Name}' is taken.")).ConfigureAwait(false);
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
            await RejectAsync(transport, new RejectMessage(RejectCode.GoingAway, _drainingRetry, "The server is stopping.")).ConfigureAwait(false);
            return;
        }

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

    private async Task RejectAsync(IUplinkTransport transport, RejectMessage reject)
    {
        ProxyEntryLog.AgentRejected(_logger, transport.RemoteName, reject.Code.ToString(), reject.Text);
        _metrics.SessionRejected(reject.Code.ToString());
        await transport.SendAsync(reject.ToFrame()).ConfigureAwait(false);
        transport.ShutdownSend();

        // Closing at once could destroy what was just sent, where the peer has sent more than we read: let it read first, for a moment.
        await LingerAsync(transport).ConfigureAwait(false);
    }

    private async Task LingerAsync(IUplinkTransport transport)
    {
        using var deadline = new CancellationTokenSource(TimeSpan.FromSeconds(1), _timeProvider);
        using var registration = deadline.Token.UnsafeRegister(static state => ((IUplinkTransport)state!).Abort(), transport);
        var buffer = new byte[1024];
        var total = 0;
        try
        {
            int received;
            while (total < 64 * 1024 && (received = await transport.ReceiveAsync(buffer).ConfigureAwait(false)) > 0)
            {
                total += received;
            }
        }
        catch (IOException)
        {
            // It is gone, which is what was waited for.
        }
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
