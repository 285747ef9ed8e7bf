using System.Reflection;
using System.Text;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Client.Core.Health;
using Tunnel2.Client.Core.Raw;
using Tunnel2.Client.Core.Ways;
using Tunnel2.Multiplexing.Handshake;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.Transport.Engine;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.Client.Core.Session;

/// <summary>One life of a session after another: connect, say HELLO, serve, and say why it ended.</summary>
internal sealed class AgentSession
{
    private static readonly string _version =
        typeof(AgentSession).Assembly.GetCustomAttribute<AssemblyInformationalVersionAttribute>()?.InformationalVersion
        ?? "0";

    private readonly AgentOptions _options;
    private readonly UplinkDialer _dialer;
    private readonly UplinkWays _ways;
    private readonly IAgentEvents _events;
    private readonly ExchangeContext _exchanges;
    private readonly UplinkHeartbeat _heartbeat;
    private readonly IEngine _engine;
    private readonly TimeProvider _timeProvider;

    /// <summary>The public port of the last session of TCP, which the next one asks for; 0 before the first.</summary>
    private int _lastPort;

    private readonly RetiringUplinks _retiring = new();
    private readonly RunningSessions _running;
    private readonly ReceiveBudget _uploads;
    private readonly ServiceCheck? _check;
    private readonly IClusterPlace? _place;

    public AgentSession(
        AgentOptions options,
        IAgentEvents events,
        ExchangeContext exchanges,
        UplinkHeartbeat heartbeat,
        IEngine engine,
        UplinkDialer dialer,
        ReceiveBudget uploads,
        TimeProvider timeProvider,
        UplinkWays? ways = null,
        ServiceCheck? check = null,
        IClusterPlace? place = null,
        RunningSessions? running = null)
    {
        _running = running ?? new RunningSessions();
        _place = place;
        _check = check;
        _ways = ways ?? new UplinkWays(options, Random.Shared);
        _uploads = uploads;
        _options = options;
        _dialer = dialer;
        _events = events;
        _exchanges = exchanges;
        _heartbeat = heartbeat;
        _engine = engine;
        _timeProvider = timeProvider;
    }

    /// <summary>Connects once, on the first way that leads to the server, and serves until the session ends.</summary>
    /// <param name="stop">Asks to stop: what is under way is finished first.</param>
    public async Task<ConnectionEnd> RunOnceAsync(CancellationToken stop)
    {
        var ways = _ways.Order();
        ConnectFailure? direct = null;
        ConnectFailure? other = null;
        for (var i = 0; ; i++)
        {
            var end = await RunOnceAsync(ways[i], direct?.Message, hasOtherWay: i + 1 < ways.Count, stop).ConfigureAwait(false);
            if (end is not { Reason: ConnectionEndReason.ServerUnreachable, Failure: { } failure })
            {
                return end;
            }

            (direct, other) = ways[i] == UplinkWay.Direct ? (failure, other) : (direct, failure);
            if (i + 1 == ways.Count || !UplinkWays.MayHelp(failure.Reason))
            {
                return direct is null || other is null
                    ? end
                    : ConnectionEnd.Unreachable(direct with
                    {
                        Message = $"{direct.Message} {other.Message}",
                        UntrustedFingerprint = direct.UntrustedFingerprint ?? other.UntrustedFingerprint,
                        IsOutOfDate = direct.IsOutOfDate || other.IsOutOfDate,
                    });
            }
        }
    }

    private async Task<ConnectionEnd> RunOnceAsync(UplinkWay way, string? reason, bool hasOtherWay, CancellationToken stop)
    {
        var (transport, end) = await _dialer.DialAsync(way, joins: false, hasOtherWay, stop).ConfigureAwait(false);
        if (transport is null)
        {
            return end!;
        }

        try
        {
            return end = await ShakeHandsAsync(transport, way, reason, stop).ConfigureAwait(false);
        }
        catch (IOException exception)
        {
            return ConnectionEnd.Unreachable(ConnectFailure.From(_options.ServerOn(way), way, exception));
        }
        finally
        {
            // A retiring uplink disposes of it when it ends.
            if (end is not { IsFinishing: true })
            {
                await transport.DisposeAsync().ConfigureAwait(false);
            }
        }
    }

    /// <summary>Completes when the uplinks that were replaced have finished what they carried.</summary>
    public Task WhenRetiredAsync() => _retiring.WhenAllEnded();

    private async Task<ConnectionEnd> ShakeHandsAsync(IUplinkTransport transport, UplinkWay way, string? reason, CancellationToken stop)
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
                return RejectMessage.TryRead(answer.Payload.Span, out var reject) != ProtocolError.None
                    ? Unreachable(way, ConnectFailureReason.NotTunnel2)
                    : reject!.Code == RejectCode.Malformed && hello.Access is { Policy.IsEmpty: false } ? OlderThanPolicies()
                    : SessionRejections.Of(reject);
            case HandshakeReadStatus.Frame:
                return WelcomeMessage.TryRead(answer.Payload.Span, out var welcome) == ProtocolError.None
                    ? await ServeAsync(transport, RouteOf(way, reason), hello, welcome!, answer.Rest, stop).ConfigureAwait(false)
                    : Unreachable(way, ConnectFailureReason.NotTunnel2);
            case HandshakeReadStatus.Malformed:
                return ConnectionEnd.Unreachable(await DescribeAsync(answer.FirstBytes, way, stop).ConfigureAwait(false));
            case var _ when stop.IsCancellationRequested:
                return ConnectionEnd.Stopped(TimeSpan.Zero);
            case HandshakeReadStatus.Closed or HandshakeReadStatus.TimedOut when !answer.FirstBytes.IsEmpty:
                // Too short for a frame, as a TLS alert is: it says who is there all the same.
                return ConnectionEnd.Unreachable(await DescribeAsync(answer.FirstBytes, way, stop).ConfigureAwait(false));
            case HandshakeReadStatus.TimedOut:
                return Unreachable(way, ConnectFailureReason.TimedOut);
            default:
                return Unreachable(way, ConnectFailureReason.ClosedEarly);
        }
    }

    /// <summary>What answers there. A server that is reached by a proxy or over WebSocket is not asked past it.</summary>
    private Task<ConnectFailure> DescribeAsync(ReadOnlyMemory<byte> firstBytes, UplinkWay way, CancellationToken stop) =>
        way == UplinkWay.Direct && _options.Proxy is null
            ? ForeignAnswer.DescribeAsync(_options.Server, firstBytes, stop)
            : Task.FromResult(ConnectFailure.Create(_options.ServerOn(way), way, ForeignAnswer.FromBytes(firstBytes.Span)));

    private UplinkRoute RouteOf(UplinkWay way, string? reason) => new(way, _options.ServerOn(way), _options.Proxy?.ToString(), reason);

    private async Task<ConnectionEnd> ServeAsync(
        IUplinkTransport transport, UplinkRoute route, HelloMessage hello, WelcomeMessage welcome, ReadOnlyMemory<byte> rest,
        CancellationToken stop)
    {
        if (_options.Kind != welcome.Kind)
        {
            // A server that is older than the kind has registered a session of HTTP, under a name that no visitor knows.
            return ConnectionEnd.RejectedPermanently(new Rejection(
                RejectionReason.KindUnsupported, nameof(RejectCode.KindNotSupported), "The server is older than such tunnels; update it."));
        }

        if (_options.Pool && (welcome.Capabilities & HandshakeCapabilities.Pools) == 0)
        {
            // A server that is older than pools has registered a session under a name that no visitor knows. It has taken no name away.
            return ConnectionEnd.RejectedPermanently(new Rejection(
                RejectionReason.PoolNotPossible, nameof(RejectCode.PoolNotPossible), "The server is older than pools; update it."));
        }

        if (hello.Access is not null && (welcome.Capabilities & HandshakeCapabilities.AccessRules) == 0)
        {
            // A server that is older than access rules has registered a session under a name that no visitor knows. It gets no requests.
            return ConnectionEnd.RejectedPermanently(new Rejection(
                RejectionReason.AccessUnsupported,
                nameof(RejectCode.AccessNotSupported),
                "The server is older than access rules; update it."));
        }

        // Before others hear of it, and begin further ones.
        var id = new Guid(welcome.SessionId.Span);
        _running.Add(id);
        var problem = _place?.Welcomed(welcome);
        _lastPort = welcome.Port;
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
        if (problem is null)
        {
            _exchanges.SetConnectTimeout(welcome.BackendConnectTimeout > TimeSpan.Zero
                ? welcome.BackendConnectTimeout
                : BackendConnector.DefaultTimeout);
        }

        var started = _timeProvider.GetTimestamp();
        var goodbye = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        var maxUplinks = (welcome.Capabilities & HandshakeCapabilities.MultipleUplinks) != 0 ? welcome.MaxUplinks : 1;
        _ways.Took(route.Way, route.Reason);
        var joiner = new UplinkJoiner(
            welcome,
            async (isDirect, giveUp) => (await _dialer.DialAsync(
                isDirect ? UplinkWay.Direct : route.Way, joins: true, hasOtherWay: false, giveUp).ConfigureAwait(false)).Transport,
            _timeProvider);
        var reports = _check is null ? null : new ServiceReports(_check);
        var news = (welcome.Capabilities & HandshakeCapabilities.NodeNews) != 0 && problem is null && _place is not null
            ? new NodeLists(_place)
            : null;
        var drain = new DrainNews(_events);
        UplinkPool? pool = null;
        pool = new UplinkPool(
            _options.Uplinks,
            maxUplinks,
            connection =>
            {
                var added = new UplinkConnection(
                    connection, settings, ServeOn(connection), (uplink, phase) => OnGoAway(pool!, uplink, phase, drain, goodbye))
                {
                    NodesObserver = news is null ? null : news.OnList,
                };
                reports?.Add(added);
                return added;
            },
            joiner,
            _heartbeat,
            _timeProvider);
        if (_ways.IsDetour)
        {
            pool.KeepPlaceFree();
        }

        var running = FinishAsync(id, pool, reports, transport, rest, stop);
        if (problem is not null)
        {
            // The server has the name until it hears the goodbye, and a visitor may have come by then.
            _retiring.Add(running);
            new AgentDrain(pool, _events, _timeProvider, _options.DrainLimit).Leave();
            return ConnectionEnd.RejectedPermanently(problem) with { IsFinishing = true };
        }

        var climbing = ClimbAsync(pool, running);
        _events.Uplinks(pool.Read);
        _events.Routed(route with { Reason = _ways.IsDetour ? _ways.Reason : null });
        using var inspected = _options.Inspection?.Open(welcome.PublicUrls);
        if (_options.Routes.Count == 0)
        {
            _events.Ready(welcome.PublicUrls, _options.Upstream);
        }
        else
        {
            _events.Ready(welcome.PublicUrls, _options.Upstream, _options.Routes);
        }

        drain.Reported();
        var replaced = _place?.WhenReplaced ?? goodbye.Task;
        await Task.WhenAny(running, goodbye.Task, replaced).ConfigureAwait(false);
        var way = _ways.Current;
        var wayTime = _timeProvider.GetElapsedTime(climbing is { IsCompletedSuccessfully: true, Result: { } climbed } ? climbed : started);
        if (running.IsCompleted || stop.IsCancellationRequested)
        {
            var end = Describe(await running.ConfigureAwait(false), pool.LastGoAway, _timeProvider.GetElapsedTime(started), stop);
            _ways.Ended(way, wayTime, isLost: end.Reason == ConnectionEndReason.Lost);
            return end;
        }

        _ways.Ended(way, wayTime, isLost: false);

        // The server opens no more streams here, or another session has the place: a new session is wanted at once, and this one finishes
        // what it has beside it.
        _retiring.Add(running);
        news?.Close();
        _ = LeaveAsync(pool, running, isReplaced: !goodbye.Task.IsCompleted);
        return ConnectionEnd.GoingAway(_timeProvider.GetElapsedTime(started)) with { IsFinishing = true };
    }

    /// <summary>
    /// Says goodbye when there is a session with another node. A node that is only drained serves on for agents that find no other one: it
    /// does not end the session by itself. What runs is finished, however long it takes. A session whose place another one took waits for
    /// a moment without a long stream first: a goodbye ends WebSockets.
    /// </summary>
    private async Task LeaveAsync(UplinkPool pool, Task running, bool isReplaced)
    {
        if (isReplaced)
        {
            pool.StopDialling();
            await AgentDrain.WaitForQuietAsync(pool, running, _timeProvider).ConfigureAwait(false);
        }

        if (_place is not null && await _place.IsElsewhereAsync(running).ConfigureAwait(false))
        {
            foreach (var uplink in pool.Uplinks)
            {
                uplink.SendGoAwayNotice(SessionEndReason.Shutdown, "The agent has a session with another node.");
            }
        }
    }

    /// <summary>Leaves a detour when that is possible. Contains its faults: the session is as good without.</summary>
    /// <returns>When it was left; null: it was not.</returns>
    private async Task<long?> ClimbAsync(UplinkPool pool, Task running)
    {
        if (!_ways.IsDetour)
        {
            return null;
        }

        using var over = new CancellationTokenSource();
        var climbing = UplinkClimb.RunAsync(pool, _ways, _timeProvider, over.Token);
        await Task.WhenAny(climbing, running).ConfigureAwait(false);
        await over.CancelAsync().ConfigureAwait(false);
        await ((Task)climbing).ConfigureAwait(ConfigureAwaitOptions.SuppressThrowing);
        if (climbing is not { IsCompletedSuccessfully: true, Result: true })
        {
            return null;
        }

        _ways.Took(UplinkWay.Direct, null);
        _events.Routed(RouteOf(UplinkWay.Direct, null));
        return _timeProvider.GetTimestamp();
    }

    /// <summary>Runs a session's uplinks to their end, even if no task waits for it by then.</summary>
    private async Task<UplinkEnd> FinishAsync(
        Guid id, UplinkPool pool, ServiceReports? reports, IUplinkTransport first, ReadOnlyMemory<byte> rest, CancellationToken stop)
    {
        if (reports is not null)
        {
            _check!.Changed += reports.OnChanged;
        }

        try
        {
            return await FinishAsync(pool, first, rest, stop).ConfigureAwait(false);
        }
        finally
        {
            _running.Remove(id);
            if (reports is not null)
            {
                _check!.Changed -= reports.OnChanged;
            }
        }
    }

    private async Task<UplinkEnd> FinishAsync(UplinkPool pool, IUplinkTransport first, ReadOnlyMemory<byte> rest, CancellationToken stop)
    {
        var running = pool.RunAsync(first, rest);
        var drain = new AgentDrain(pool, _events, _timeProvider, _options.DrainLimit);
        using (stop.UnsafeRegister(static drain => ((AgentDrain)drain!).Begin(), drain))
        using (_options.Hurry.UnsafeRegister(static drain => ((AgentDrain)drain!).End(), drain))
        {
            return await running.ConfigureAwait(false);
        }
    }

    /// <summary>What serves the streams of an uplink.</summary>
    private Action<TunnelStream> ServeOn(IUplinkTransport connection) => _options.Kind == SessionKind.Http
        ? _exchanges.On(connection).Serve
        : new RawExchanges(_exchanges, connection.Home as EpollLoop, _options).Serve;

    private bool HasRules => _options.Access is { IsEmpty: false };

    private HelloMessage CreateHello()
    {
        var running = _running.Latest();
        return new HelloMessage
        {
            AgentName = "tunnel2",
            AgentVersion = _version,
            InstanceKey = _options.InstanceKey,
            Capabilities = HandshakeCapabilities.MultipleUplinks
                | (_options.Kind == SessionKind.Http ? HandshakeCapabilities.None : HandshakeCapabilities.SessionKinds)
                | (HasRules ? HandshakeCapabilities.AccessRules : HandshakeCapabilities.None)
                | (_options.Pool ? HandshakeCapabilities.Pools : HandshakeCapabilities.None)
                | (_options.IsOneOfSeveral || _place is { IsOneOfSeveral: true }
                    ? HandshakeCapabilities.SeveralNodes
                    : HandshakeCapabilities.None)
                | (_place is { TakesNodes: true }
                    ? HandshakeCapabilities.AnnouncedNodes | HandshakeCapabilities.NodeNews
                    : HandshakeCapabilities.None)
                | (running.Length > 0 ? HandshakeCapabilities.RunningSessions : HandshakeCapabilities.None),
            Running = running,
            WaitsForHealth = _check is not null && _check.State != ServiceState.Healthy,
            Access = HasRules ? _options.Access : null,
            Kind = _options.Kind,
            WantedPort = _options.RemotePort != 0 ? _options.RemotePort : _lastPort,
            TakesAnotherPort = _options.RemotePort == 0,
            MaxStreams = _options.MaxStreams,
            WantedName = _options.Name,
            ProofKind = _options.Token is null ? TokenProofKind.None : TokenProofKind.Bearer,
            Proof = _options.Token is null ? default : Encoding.UTF8.GetBytes(_options.Token),
            OwnerKey = _options.Token is null ? _options.OwnerKey : default,
        };
    }

    private static void OnGoAway(
        UplinkPool pool, UplinkConnection uplink, GoAwayPhase phase, DrainNews drain, TaskCompletionSource goodbye)
    {
        if (phase == GoAwayPhase.Notice && pool.StopDialling())
        {
            drain.Came();
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

    /// <summary>The HELLO of a tunnel with a policy may be longer than such a server takes.</summary>
    private static ConnectionEnd OlderThanPolicies() => ConnectionEnd.RejectedPermanently(new Rejection(
        RejectionReason.AccessUnsupported,
        nameof(RejectCode.AccessNotSupported),
        "The server is older than policies; update it."));

    private ConnectionEnd Unreachable(UplinkWay way, ConnectFailureReason reason) =>
        ConnectionEnd.Unreachable(ConnectFailure.Create(_options.ServerOn(way), way, reason));

    /// <summary>
    /// Reports that the server is about to stop, after the session itself was reported: its notice may come with the WELCOME. In the other
    /// order the session would count as one that serves, and as the reason to say goodbye to itself. Thread-safe.
    /// </summary>
    private sealed class DrainNews(IAgentEvents events)
    {
        private const int SessionReported = 1;
        private const int NoticeCame = 2;
        private int _state;

        /// <summary>The session was reported.</summary>
        public void Reported()
        {
            if (Interlocked.CompareExchange(ref _state, SessionReported, 0) == NoticeCame)
            {
                events.Draining();
            }
        }

        /// <summary>The notice has come.</summary>
        public void Came()
        {
            if (Interlocked.Exchange(ref _state, NoticeCame) == SessionReported)
            {
                events.Draining();
            }
        }
    }
}
