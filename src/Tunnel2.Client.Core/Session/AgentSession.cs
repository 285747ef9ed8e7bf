using System.Reflection;
using System.Text;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Core.Session;

/// <summary>One life of a session after another: connect, say HELLO, serve, and say why it ended.</summary>
internal sealed class AgentSession
{
    private static readonly TimeSpan _drainLimit = TimeSpan.FromSeconds(30);
    private static readonly string _version =
        typeof(AgentSession).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion
        ?? "0";

    private readonly AgentOptions _options;
    private readonly UplinkDialer _dialer;
    private readonly IAgentEvents _events;
    private readonly ExchangeContext _exchanges;
    private readonly UplinkHeartbeat _heartbeat;
    private readonly IEngine _engine;
    private readonly TimeProvider _timeProvider;

    private readonly RetiringUplinks _retiring = new();
    private readonly ReceiveBudget _uploads;

    public AgentSession(
        AgentOptions options,
        IAgentEvents events,
        ExchangeContext exchanges,
        UplinkHeartbeat heartbeat,
        IEngine engine,
        UplinkDialer dialer,
        ReceiveBudget uploads,
        TimeProvider timeProvider)
    {
        _uploads = uploads;
        _options = options;
        _dialer = dialer;
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
        var (transport, end) = await _dialer.DialAsync(joins: false, stop).ConfigureAwait(false);
        if (transport is null)
        {
            return end!;
        }

        try
        {
            return end = await ShakeHandsAsync(transport, stop).ConfigureAwait(false);
        }
        catch (IOException exception)
        {
            return ConnectionEnd.Unreachable(ConnectFailure.From(_options.Server, exception));
        }
        finally
        {
            // A retiring uplink disposes of it when it ends.
            if (end is not { Reason: ConnectionEndReason.GoingAway })
            {
                await transport.DisposeAsync().ConfigureAwait(false);
            }
        }
    }

    /// <summary>Completes when the uplinks that were replaced have finished what they carried.</summary>
    public Task WhenRetiredAsync() => _retiring.WhenAllEnded();

    private async Task<ConnectionEnd> ShakeHandsAsync(IUplinkTransport transport, CancellationToken stop)
    {
        var hello = CreateHello();
        await transport.SendAsync(hello.ToFrame()).ConfigureAwait(false);
        var answer = await HandshakeFrameReader.ReadAsync(
            transport,
            static type => type is FrameType.Welcome or FrameType.Reject,
            ProtocolLimits.HandshakeTimeout,
            _timeProvider,
            stop).ConfigureAwait(false);
        switch (answer.Status)
        {
            case HandshakeReadStatus.Frame when answer.Type == FrameType.Reject:
                return RejectMessage.TryRead(answer.Payload.Span, out var reject) == ProtocolError.None ? Rejected(reject!) : NotTunnel2();
            case HandshakeReadStatus.Frame:
                return WelcomeMessage.TryRead(answer.Payload.Span, out var welcome) == ProtocolError.None
                    ? await ServeAsync(transport, hello, welcome!, answer.Rest, stop).ConfigureAwait(false)
                    : NotTunnel2();
            case HandshakeReadStatus.Malformed:
                return ConnectionEnd.Unreachable(
                    await ForeignAnswer.DescribeAsync(_options.Server, answer.FirstBytes, stop).ConfigureAwait(false));
            case var _ when stop.IsCancellationRequested:
                return ConnectionEnd.Stopped(TimeSpan.Zero);
            case HandshakeReadStatus.Closed or HandshakeReadStatus.TimedOut when !answer.FirstBytes.IsEmpty:
                // Too short for a frame, as a TLS alert is: it says who is there all the same.
                return ConnectionEnd.Unreachable(
                    await ForeignAnswer.DescribeAsync(_options.Server, answer.FirstBytes, stop).ConfigureAwait(false));
            case HandshakeReadStatus.TimedOut:
                return ConnectionEnd.Unreachable(ConnectFailure.Create(_options.Server, ConnectFailureReason.TimedOut));
            default:
                return ConnectionEnd.Unreachable(ConnectFailure.Create(_options.Server, ConnectFailureReason.ClosedEarly));
        }
    }

    private async Task<ConnectionEnd> ServeAsync(
        IUplinkTransport transport, HelloMessage hello, WelcomeMessage welcome, ReadOnlyMemory<byte> rest, CancellationToken stop)
    {
        var settings = _engine.Apply(new UplinkSettings
        {
            Role = UplinkRole.Agent,
            ReceiveStreamWindow = hello.StreamWindow,
            ReceiveUplinkWindow = hello.UplinkWindow,
            SendStreamWindow = welcome.StreamWindow,
            SendUplinkWindow = welcome.UplinkWindow,
            MaxStreams = Math.Min(hello.MaxStreams, welcome.MaxStreams),
            ReceiveBudget = _uploads,
            TimeProvider = _timeProvider,
        });
        _exchanges.Connector.Timeout = welcome.BackendConnectTimeout > TimeSpan.Zero
            ? welcome.BackendConnectTimeout
            : BackendConnector.DefaultTimeout;
        var started = _timeProvider.GetTimestamp();
        var goodbye = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var maxUplinks = (welcome.Capabilities & HandshakeCapabilities.MultipleUplinks) != 0 ? welcome.MaxUplinks : 1;
        var joiner = new UplinkJoiner(
            welcome, async giveUp => (await _dialer.DialAsync(joins: true, giveUp).ConfigureAwait(false)).Transport, _timeProvider);
        UplinkPool? pool = null;
        pool = new UplinkPool(
            _options.Uplinks,
            maxUplinks,
            connection =>
                new UplinkConnection(
                    connection, settings, _exchanges.On(connection).Serve, (uplink, phase) => OnGoAway(pool!, uplink, phase, goodbye)),
            joiner,
            _heartbeat,
            _timeProvider);
        var running = FinishAsync(pool, transport, rest, stop);
        _events.Ready(welcome.PublicUrls, _options.Upstream);
        await Task.WhenAny(running, goodbye.Task).ConfigureAwait(false);
        if (running.IsCompleted || stop.IsCancellationRequested)
        {
            return Describe(await running.ConfigureAwait(false), pool.LastGoAway, _timeProvider.GetElapsedTime(started), stop);
        }

        // The server opens no more streams here: a new session is wanted at once, and this one finishes what it has beside it.
        _retiring.Add(running);
        return ConnectionEnd.GoingAway(_timeProvider.GetElapsedTime(started));
    }

    /// <summary>Runs a session's uplinks to their end, even if nobody waits for it by then.</summary>
    private async Task<UplinkEnd> FinishAsync(UplinkPool pool, IUplinkTransport first, ReadOnlyMemory<byte> rest, CancellationToken stop)
    {
        var running = pool.RunAsync(first, rest);
        using (stop.UnsafeRegister(static state => ((AgentDrain)state!).Begin(), new AgentDrain(pool, _events, _timeProvider, _drainLimit)))
        {
            return await running.ConfigureAwait(false);
        }
    }

    private HelloMessage CreateHello() => new()
    {
        AgentName = "tunnel2",
        AgentVersion = _version,
        InstanceKey = _options.InstanceKey,
        Capabilities = HandshakeCapabilities.MultipleUplinks,
        MaxStreams = _options.MaxStreams,
        WantedName = _options.Name,
        ProofKind = _options.Token is null ? TokenProofKind.None : TokenProofKind.Bearer,
        Proof = _options.Token is null ? default : Encoding.UTF8.GetBytes(_options.Token),
        OwnerKey = _options.Token is null ? _options.OwnerKey : default,
    };

    private void OnGoAway(UplinkPool pool, UplinkConnection uplink, GoAwayPhase phase, TaskCompletionSource goodbye)
    {
        if (phase == GoAwayPhase.Notice && pool.StopDialling())
        {
            _events.Draining();
            if (uplink.PeerGoAwayReason == SessionEndReason.Shutdown)
            {
                goodbye.TrySetResult();
            }
        }
    }

    private static ConnectionEnd Describe(UplinkEnd end, SessionEndReason goAway, TimeSpan upTime, CancellationToken stop)
    {
        if (stop.IsCancellationRequested)
        {
            return ConnectionEnd.Stopped(upTime);
        }

        return end.Reason switch
        {
            // The server has said that it goes: that it closes the connection then is no fault.
            SessionEndReason.PeerClosed when goAway == SessionEndReason.Superseded => ConnectionEnd.Superseded(upTime),
            SessionEndReason.PeerClosed when goAway != SessionEndReason.None => ConnectionEnd.GoingAway(upTime),
            SessionEndReason.Revoked =>
                ConnectionEnd.RejectedPermanently(new Rejection(RejectionReason.Unauthorized, nameof(SessionEndReason.Revoked), end.Text)),
            SessionEndReason.Superseded => ConnectionEnd.Superseded(upTime),
            SessionEndReason.PeerGoingAway or SessionEndReason.Shutdown => ConnectionEnd.GoingAway(upTime),
            _ => ConnectionEnd.Lost(SessionEndWords.For(end), upTime),
        };
    }

    private ConnectionEnd NotTunnel2() =>
        ConnectionEnd.Unreachable(ConnectFailure.Create(_options.Server, ConnectFailureReason.NotTunnel2));

    private static ConnectionEnd Rejected(RejectMessage reject)
    {
        var reason = reject.Code switch
        {
            RejectCode.Unauthorized => RejectionReason.Unauthorized,
            RejectCode.TlsRequired => RejectionReason.TlsRequired,
            RejectCode.NameTaken when reject.IsRetryable => RejectionReason.NameKept,
            RejectCode.NameTaken => RejectionReason.NameTaken,
            RejectCode.InvalidName or RejectCode.NameNotAllowed => RejectionReason.NameNotAllowed,
            RejectCode.VersionNotSupported => RejectionReason.VersionUnsupported,
            RejectCode.Overloaded or RejectCode.GoingAway => RejectionReason.Busy,
            _ => RejectionReason.Other,
        };
        var rejection = new Rejection(reason, reject.Code.ToString(), reject.Text);
        return reject.IsRetryable
            ? ConnectionEnd.RejectedForNow(rejection, reject.RetryAfter)
            : ConnectionEnd.RejectedPermanently(rejection);
    }
}
