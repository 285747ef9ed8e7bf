using System.Security.Cryptography;
using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Admin;
using Tunnel2.ProxyEntry.Configuration;
using Tunnel2.ProxyEntry.Diagnostics;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.Transport.Engine;

namespace Tunnel2.ProxyEntry.Uplink;

/// <summary>
/// One agent's connection from its first byte to its WELCOME or REJECT: handshake, registration or joining. Thread-safe.
/// </summary>
internal sealed class UplinkAcceptor
{
    /// <summary>What an agent is told to wait before it tries again to add an uplink.</summary>
    private static readonly TimeSpan _joinAgain = TimeSpan.FromSeconds(10);

    private static readonly byte[] _noSecret = new byte[WelcomeMessage.JoinSecretLength];

    private readonly ProxyEntrySettings _settings;
    private readonly AgentAdmission _admission;
    private readonly ISessionDirectory _directory;
    private readonly PublicAddresses _addresses;
    private readonly SessionJoins _joins;
    private readonly SessionUplinks _uplinks;
    private readonly Readiness _readiness;
    private readonly IEngine _engine;
    private readonly ProxyEntryMetrics _metrics;
    private readonly UplinkMetrics _uplinkMetrics;
    private readonly TimeProvider _timeProvider;
    private readonly ILogger _logger;

    public UplinkAcceptor(
        ProxyEntrySettings settings,
        AgentAdmission admission,
        ISessionDirectory directory,
        PublicAddresses addresses,
        SessionJoins joins,
        SessionUplinks uplinks,
        Readiness readiness,
        IEngine engine,
        ProxyEntryMetrics metrics,
        UplinkMetrics uplinkMetrics,
        TimeProvider timeProvider,
        ILogger<UplinkAcceptor> logger)
    {
        _settings = settings;
        _admission = admission;
        _directory = directory;
        _addresses = addresses;
        _joins = joins;
        _uplinks = uplinks;
        _readiness = readiness;
        _engine = engine;
        _metrics = metrics;
        _uplinkMetrics = uplinkMetrics;
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
                await JoinAsync(transport, first.Payload, first.Rest).ConfigureAwait(false);
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
            AgentVersion = hello.AgentVersion,
        };
        var uplink = new UplinkConnection(transport, session.UplinkSettings);
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
            superseded.Tunnel.End(SessionEndReason.Superseded, "The same agent registered the name again.");
        }

        session.Epoch = registration.Epoch;
        _uplinks.Begin(session);
        await _uplinks.RunAsync(transport, session, uplink, CreateWelcome(session, session.JoinSecret), rest).ConfigureAwait(false);
    }

    private async Task JoinAsync(IUplinkTransport transport, ReadOnlyMemory<byte> payload, ReadOnlyMemory<byte> rest)
    {
        var error = JoinMessage.TryRead(payload.Span, out var join);
        if (error != ProtocolError.None)
        {
            await RefuseJoinAsync(transport, RejectCode.Malformed, TimeSpan.Zero, error.ToString()).ConfigureAwait(false);
        }
        else if (join!.Version != ProtocolVersion.V1)
        {
            await RefuseJoinAsync(transport, RejectCode.VersionNotSupported, TimeSpan.Zero, "A further uplink speaks its session's version.").ConfigureAwait(false);
        }
        else if (_readiness.Phase == ReadinessPhase.Draining)
        {
            await RefuseJoinAsync(transport, RejectCode.GoingAway, _joinAgain, "The server is stopping.").ConfigureAwait(false);
        }
        else if (_joins.Find(join) is not { } session)
        {
            await RefuseJoinAsync(transport, RejectCode.UnknownSession, TimeSpan.Zero, "The session is unknown or the proof is wrong.").ConfigureAwait(false);
        }
        else
        {
            var uplink = new UplinkConnection(transport, session.UplinkSettings);
            if (session.Tunnel.TryAdd(uplink))
            {
                // The secret has crossed the wire once; that is enough.
                await _uplinks.RunAsync(transport, session, uplink, CreateWelcome(session, _noSecret), rest).ConfigureAwait(false);
            }
            else if (session.Tunnel.HasEnded)
            {
                await RefuseJoinAsync(transport, RejectCode.UnknownSession, TimeSpan.Zero, "The session is over.").ConfigureAwait(false);
            }
            else
            {
                await RefuseJoinAsync(transport, RejectCode.Overloaded, _joinAgain, "The session has as many uplinks as it may.").ConfigureAwait(false);
            }
        }
    }

    /// <summary>Not a warning: anybody can send JOINs, and they harm nobody.</summary>
    private async Task RefuseJoinAsync(IUplinkTransport transport, RejectCode code, TimeSpan retryAfter, string text)
    {
        ProxyEntryLog.JoinRefused(_logger, transport.RemoteName, code.ToString(), text);
        _uplinkMetrics.JoinRefused(code.ToString());
        await SendRejectAsync(transport, new RejectMessage(code, retryAfter, text)).ConfigureAwait(false);
    }

    private async Task RejectAsync(IUplinkTransport transport, RejectMessage reject)
    {
        ProxyEntryLog.AgentRejected(_logger, transport.RemoteName, reject.Code.ToString(), reject.Text);
        _metrics.SessionRejected(reject.Code.ToString());
        await SendRejectAsync(transport, reject).ConfigureAwait(false);
    }

    private async Task SendRejectAsync(IUplinkTransport transport, RejectMessage reject)
    {
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
