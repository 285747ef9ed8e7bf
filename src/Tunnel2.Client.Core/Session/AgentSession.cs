using System.Net;
using System.Net.Sockets;
using System.Reflection;
using System.Text;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Console;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Client.Core.Reconnect;
using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Sockets;

namespace Tunnel2.Client.Core.Session;

/// <summary>One life of a session after another: connect, say HELLO, serve, and say why it ended.</summary>
internal sealed class AgentSession
{
    private static readonly TimeSpan _connectTimeout = TimeSpan.FromSeconds(10);
    private static readonly TimeSpan _drainLimit = TimeSpan.FromSeconds(30);
    private static readonly string _version = typeof(AgentSession).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion ?? "0";

    private readonly AgentOptions _options;
    private readonly IAgentEvents _events;
    private readonly ExchangeContext _exchanges;
    private readonly UplinkHeartbeat _heartbeat;
    private readonly IEngine _engine;
    private readonly TimeProvider _timeProvider;

    /// <summary>The server has said that it goes: that it closes the connection then is no fault.</summary>
    private volatile bool _serverIsLeaving;

    public AgentSession(
        AgentOptions options, IAgentEvents events, ExchangeContext exchanges, UplinkHeartbeat heartbeat, IEngine engine, TimeProvider timeProvider)
    {
        _options = options;
        _events = events;
        _exchanges = exchanges;
        _heartbeat = heartbeat;
        _engine = engine;
        _timeProvider = timeProvider;
    }

    /// <summary>Connects once and serves until the session ends.</summary>
    /// <param name="stop">Asks to stop: what is under way is finished first.</param>
    public async Task<ConnectionEnd> RunOnceAsync(CancellationToken stop)
    {
        var (transport, failure) = await ConnectAsync(stop).ConfigureAwait(false);
        if (transport is null)
        {
            return failure!;
        }

        try
        {
            return await ShakeHandsAsync(transport, stop).ConfigureAwait(false);
        }
        catch (IOException exception)
        {
            return ConnectionEnd.Unreachable(ConnectFailure.From(_options.Server, exception));
        }
        finally
        {
            await transport.DisposeAsync().ConfigureAwait(false);
        }
    }

    /// <summary>Dials the server, for a session's first uplink or a further one.</summary>
    private async Task<(SocketUplinkTransport? Transport, ConnectionEnd? Failure)> ConnectAsync(CancellationToken stop)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp);
        try
        {
            using var deadline = CancellationTokenSource.CreateLinkedTokenSource(stop);
            deadline.CancelAfter(_connectTimeout);
            await socket.ConnectAsync(_options.Server.Host, _options.Server.Port, deadline.Token).ConfigureAwait(false);
        }
        catch (Exception exception) when (exception is SocketException or OperationCanceledException)
        {
            socket.Dispose();
            return (null, stop.IsCancellationRequested ? ConnectionEnd.Stopped(TimeSpan.Zero) : ConnectionEnd.Unreachable(ConnectFailure.From(_options.Server, exception)));
        }

        if (_options.Token is not null && !_options.AllowPlaintextToken && socket.RemoteEndPoint is IPEndPoint { Address: var address } && !IPAddress.IsLoopback(address))
        {
            // The uplink is not encrypted: whoever is on the way could read the token and be us.
            socket.Dispose();
            return (null, ConnectionEnd.RejectedPermanently(new Rejection(
                RejectionReason.Other, "token-in-plaintext", "the token would leave this machine unencrypted; TUNNEL2_ALLOW_PLAINTEXT=1 permits it on a network that is private by itself")));
        }

        return (new SocketUplinkTransport(socket), null);
    }

    private async Task<ConnectionEnd> ShakeHandsAsync(SocketUplinkTransport transport, CancellationToken stop)
    {
        var hello = CreateHello();
        await transport.SendAsync(hello.ToFrame()).ConfigureAwait(false);
        var answer = await HandshakeFrameReader.ReadAsync(
            transport, static type => type is FrameType.Welcome or FrameType.Reject, ProtocolLimits.HandshakeTimeout, _timeProvider, stop).ConfigureAwait(false);
        switch (answer.Status)
        {
            case HandshakeReadStatus.Frame when answer.Type == FrameType.Reject:
                return RejectMessage.TryRead(answer.Payload.Span, out var reject) == ProtocolError.None ? Rejected(reject!) : NotTunnel2();
            case HandshakeReadStatus.Frame:
                return WelcomeMessage.TryRead(answer.Payload.Span, out var welcome) == ProtocolError.None
                    ? await ServeAsync(transport, hello, welcome!, answer.Rest, stop).ConfigureAwait(false)
                    : NotTunnel2();
            case HandshakeReadStatus.Malformed:
                return NotTunnel2();
            case var _ when stop.IsCancellationRequested:
                return ConnectionEnd.Stopped(TimeSpan.Zero);
            case HandshakeReadStatus.TimedOut:
                return ConnectionEnd.Unreachable(ConnectFailure.Create(_options.Server, ConnectFailureReason.TimedOut));
            default:
                return ConnectionEnd.Unreachable(ConnectFailure.Create(_options.Server, ConnectFailureReason.ClosedEarly));
        }
    }

    private async Task<ConnectionEnd> ServeAsync(
        SocketUplinkTransport transport, HelloMessage hello, WelcomeMessage welcome, ReadOnlyMemory<byte> rest, CancellationToken stop)
    {
        var settings = _engine.Apply(new UplinkSettings
        {
            Role = UplinkRole.Agent,
            ReceiveStreamWindow = hello.StreamWindow,
            ReceiveUplinkWindow = hello.UplinkWindow,
            SendStreamWindow = welcome.StreamWindow,
            SendUplinkWindow = welcome.UplinkWindow,
            MaxStreams = Math.Min(hello.MaxStreams, welcome.MaxStreams),
            TimeProvider = _timeProvider,
        });
        _exchanges.Connector.Timeout = welcome.BackendConnectTimeout > TimeSpan.Zero ? welcome.BackendConnectTimeout : BackendConnector.DefaultTimeout;
        var started = _timeProvider.GetTimestamp();
        _serverIsLeaving = false;
        var maxUplinks = (welcome.Capabilities & HandshakeCapabilities.MultipleUplinks) != 0 ? welcome.MaxUplinks : 1;
        var joiner = new UplinkJoiner(welcome, async give => (await ConnectAsync(give).ConfigureAwait(false)).Transport, _timeProvider);
        UplinkPool? pool = null;
        pool = new UplinkPool(
            _options.Uplinks,
            maxUplinks,
            connection => new UplinkConnection(connection, settings, _exchanges.Serve, (uplink, phase) => OnGoAway(phase, pool!.IsRetiring(uplink))),
            joiner,
            _heartbeat,
            _timeProvider);
        var running = pool.RunAsync(transport, rest);
        _events.Ready(welcome.PublicUrls, _options.Upstream);
        using (stop.UnsafeRegister(static state => ((AgentDrain)state!).Begin(), new AgentDrain(pool, _events, _timeProvider, _drainLimit)))
        {
            return Describe(await running.ConfigureAwait(false), _timeProvider.GetElapsedTime(started), stop);
        }
    }

    private HelloMessage CreateHello() => new()
    {
        AgentName = "tunnel2",
        AgentVersion = _version,
        InstanceKey = _options.InstanceKey,
        Capabilities = HandshakeCapabilities.MultipleUplinks,
        WantedName = _options.Name,
        ProofKind = _options.Token is null ? TokenProofKind.None : TokenProofKind.Bearer,
        Proof = _options.Token is null ? default : Encoding.UTF8.GetBytes(_options.Token),
    };

    private void OnGoAway(GoAwayPhase phase, bool isOurWish)
    {
        if (isOurWish || _serverIsLeaving)
        {
            return;
        }

        _serverIsLeaving = true;
        if (phase == GoAwayPhase.Notice)
        {
            _events.Draining();
        }
    }

    private ConnectionEnd Describe(UplinkEnd end, TimeSpan upTime, CancellationToken stop)
    {
        if (stop.IsCancellationRequested)
        {
            return ConnectionEnd.Stopped(upTime);
        }

        return end.Reason switch
        {
            SessionEndReason.PeerClosed when _serverIsLeaving => ConnectionEnd.GoingAway(upTime),
            SessionEndReason.Superseded => ConnectionEnd.Superseded(upTime),
            SessionEndReason.PeerGoingAway or SessionEndReason.Shutdown => ConnectionEnd.GoingAway(upTime),
            SessionEndReason.PeerClosed => ConnectionEnd.Lost("The server closed the connection.", upTime),
            SessionEndReason.PeerSilent => ConnectionEnd.Lost("The server has been silent for too long.", upTime),
            SessionEndReason.TransportFailed => ConnectionEnd.Lost($"The connection failed: {end.Text}", upTime),
            _ => ConnectionEnd.Lost($"The session ended: {end}.", upTime),
        };
    }

    private ConnectionEnd NotTunnel2() => ConnectionEnd.Unreachable(ConnectFailure.Create(_options.Server, ConnectFailureReason.NotTunnel2));

    private static ConnectionEnd Rejected(RejectMessage reject)
    {
        var reason = reject.Code switch
        {
            RejectCode.Unauthorized => RejectionReason.Unauthorized,
            RejectCode.NameTaken => RejectionReason.NameTaken,
            RejectCode.InvalidName or RejectCode.NameNotAllowed => RejectionReason.NameNotAllowed,
            RejectCode.VersionNotSupported => RejectionReason.VersionUnsupported,
            RejectCode.Overloaded or RejectCode.GoingAway => RejectionReason.Busy,
            _ => RejectionReason.Other,
        };
        var rejection = new Rejection(reason, reject.Code.ToString(), reject.Text);
        return reject.IsRetryable ? ConnectionEnd.RejectedForNow(rejection, reject.RetryAfter) : ConnectionEnd.RejectedPermanently(rejection);
    }
}
