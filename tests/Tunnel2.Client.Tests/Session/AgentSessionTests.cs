using System.IO.Pipelines;
using System.Net.Sockets;
using System.Text;
using Tunnel2.Client.Core.Backend;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Exchanges;
using Tunnel2.Client.Core.Session;
using Tunnel2.Client.Tests.InMemory;
using Tunnel2.Client.Tests.Reconnect;
using Tunnel2.Multiplexing.Heartbeat;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Multiplexing.Uplinks;
using Tunnel2.Protocol;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Engine;

namespace Tunnel2.Client.Tests.Session;

/// <summary>One life of a session: how it begins, and each way in which it ends.</summary>
public sealed class AgentSessionTests
{
    [Fact]
    public Task It_says_who_it_is_and_what_it_wants() => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var transport = await fixture.Server.AcceptAsync();
            var (type, payload) = await MemoryServer.ReadFirstAsync(transport);
            Assert.Equal(FrameType.Hello, type);
            Assert.Equal(ProtocolError.None, HelloMessage.TryRead(payload, out var hello));
            Assert.Equal(("web", "tunnel2", 12), (hello!.WantedName, hello.AgentName, hello.MaxStreams));
            Assert.Equal(HandshakeCapabilities.MultipleUplinks, hello.Capabilities);
            Assert.Equal((TokenProofKind.Bearer, "s3cret"), (hello.ProofKind, Encoding.UTF8.GetString(hello.Proof.Span)));
            Assert.True(hello.OwnerKey.IsEmpty);
            transport.Abort();
            Assert.Equal(ConnectionEndReason.ServerUnreachable, (await running).Reason);
        },
        SessionFixture.Options with { Token = "s3cret", MaxStreams = 12, OwnerKey = new byte[HelloMessage.OwnerKeyLength] });

    [Fact]
    public Task Without_a_token_its_owner_key_speaks_for_it() => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var transport = await fixture.Server.AcceptAsync();
            Assert.Equal(ProtocolError.None, HelloMessage.TryRead((await MemoryServer.ReadFirstAsync(transport)).Payload, out var hello));
            Assert.Equal(
                (TokenProofKind.None, 0, HelloMessage.OwnerKeyLength),
                (hello!.ProofKind, hello.Proof.Length, hello.OwnerKey.Length));
            transport.Abort();
            await running;
        },
        SessionFixture.Options with { OwnerKey = new byte[HelloMessage.OwnerKeyLength] });

    [Fact]
    public Task A_welcome_makes_it_ready_and_it_takes_on_the_server_s_limits() => SessionFixture.RunAsync(async fixture =>
    {
        fixture.Server.Welcome = fixture.Server.Welcome with { BackendConnectTimeout = TimeSpan.FromSeconds(3) };
        var running = fixture.Start();
        var served = await fixture.Server.ServeAsync();
        await fixture.UntilAsync(() => fixture.Events.Names.Contains("ready"), "it is ready");
        Assert.Equal(TimeSpan.FromSeconds(3), fixture.Context.Connector.Timeout);
        Assert.Equal(1, fixture.Watched);
        fixture.Time.Advance(TimeSpan.FromMinutes(2));
        served.Transport.Abort();
        var end = await running;
        Assert.Equal((ConnectionEndReason.Lost, TimeSpan.FromMinutes(2)), (end.Reason, end.UpTime));
        await served.Run;
    });

    [Theory]
    [InlineData(RejectCode.Unauthorized, 0, ConnectionEndReason.RejectedPermanently, RejectionReason.Unauthorized)]
    [InlineData(RejectCode.TokenExpired, 0, ConnectionEndReason.RejectedPermanently, RejectionReason.TokenExpired)]
    [InlineData(RejectCode.NameTaken, 0, ConnectionEndReason.RejectedPermanently, RejectionReason.NameTaken)]
    [InlineData(RejectCode.NameTaken, 5, ConnectionEndReason.RejectedForNow, RejectionReason.NameKept)]
    [InlineData(RejectCode.KindNotSupported, 0, ConnectionEndReason.RejectedPermanently, RejectionReason.KindUnsupported)]
    [InlineData(RejectCode.PortNotAvailable, 0, ConnectionEndReason.RejectedPermanently, RejectionReason.PortNotAvailable)]
    [InlineData(RejectCode.PortNotAvailable, 5, ConnectionEndReason.RejectedForNow, RejectionReason.PortNotAvailable)]
    [InlineData(RejectCode.PortLimitReached, 5, ConnectionEndReason.RejectedForNow, RejectionReason.PortLimitReached)]
    [InlineData(RejectCode.AccessNotSupported, 0, ConnectionEndReason.RejectedPermanently, RejectionReason.AccessUnsupported)]
    [InlineData(RejectCode.InvalidName, 0, ConnectionEndReason.RejectedPermanently, RejectionReason.NameNotAllowed)]
    [InlineData(RejectCode.NameNotAllowed, 0, ConnectionEndReason.RejectedPermanently, RejectionReason.NameNotAllowed)]
    [InlineData(RejectCode.VersionNotSupported, 0, ConnectionEndReason.RejectedPermanently, RejectionReason.VersionUnsupported)]
    [InlineData(RejectCode.Overloaded, 9, ConnectionEndReason.RejectedForNow, RejectionReason.Busy)]
    [InlineData(RejectCode.GoingAway, 9, ConnectionEndReason.RejectedForNow, RejectionReason.Busy)]
    [InlineData(RejectCode.Malformed, 0, ConnectionEndReason.RejectedPermanently, RejectionReason.Other)]
    public Task A_no_is_taken_for_what_it_is(RejectCode code, int retryAfter, ConnectionEndReason reason, RejectionReason rejection) =>
        SessionFixture.RunAsync(async fixture =>
        {
            var running = fixture.Start();
            await fixture.Server.RejectAsync(code, TimeSpan.FromSeconds(retryAfter));
            var end = await running;
            Assert.Equal((reason, rejection), (end.Reason, end.Rejection!.Reason));
            Assert.Equal(retryAfter == 0 ? null : TimeSpan.FromSeconds(retryAfter), end.RetryAfter);
            Assert.Empty(fixture.Events.Names);
        });

    [Fact]
    public Task A_server_that_is_older_than_access_rules_gets_no_request_to_serve() => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var transport = await fixture.Server.AcceptAsync();
            var (_, payload) = await MemoryServer.ReadFirstAsync(transport);
            Assert.Equal(ProtocolError.None, HelloMessage.TryRead(payload, out var hello));
            Assert.Equal(("web", 1), (hello!.WantedName, hello.Access!.Allowed.Count));

            // As such a server reads it: without a name to publish.
            payload[9] &= unchecked((byte)~(uint)HandshakeCapabilities.AccessRules);
            Assert.Equal(ProtocolError.None, HelloMessage.TryRead(payload, out hello));
            Assert.Equal("", hello!.WantedName);
            await transport.SendAsync(fixture.Server.Welcome.ToFrame());
            var end = await running;
            Assert.Equal(
                (ConnectionEndReason.RejectedPermanently, RejectionReason.AccessUnsupported), (end.Reason, end.Rejection!.Reason));
            Assert.Contains("older than access rules", end.Message, StringComparison.Ordinal);
            Assert.Empty(fixture.Events.Names);
        },
        SessionFixture.Options with { Access = new AccessRules { Allowed = [AccessNetwork.Create([10, 0, 0, 0], 8)!] } });

    [Fact]
    public Task A_server_that_is_older_than_pools_gets_no_name_to_take_over() => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var transport = await fixture.Server.AcceptAsync();
            var (_, payload) = await MemoryServer.ReadFirstAsync(transport);
            Assert.Equal(ProtocolError.None, HelloMessage.TryRead(payload, out var hello));
            Assert.Equal("web", hello!.WantedName);

            // As such a server reads it: without a name to publish.
            payload[9] &= unchecked((byte)~(uint)HandshakeCapabilities.Pools);
            Assert.Equal(ProtocolError.None, HelloMessage.TryRead(payload, out hello));
            Assert.Equal("", hello!.WantedName);
            await transport.SendAsync(fixture.Server.Welcome.ToFrame());
            var end = await running;
            Assert.Equal(
                (ConnectionEndReason.RejectedPermanently, RejectionReason.PoolNotPossible), (end.Reason, end.Rejection!.Reason));
            Assert.Contains("older than pools", end.Message, StringComparison.Ordinal);
            Assert.Empty(fixture.Events.Names);
        },
        SessionFixture.Options with { Pool = true });

    [Fact]
    public Task A_server_that_is_older_than_policies_may_find_the_hello_too_long() => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            await fixture.Server.RejectAsync(RejectCode.Malformed, TimeSpan.Zero);
            var end = await running;
            Assert.Equal(
                (ConnectionEndReason.RejectedPermanently, RejectionReason.AccessUnsupported), (end.Reason, end.Rejection!.Reason));
            Assert.Contains("older than policies", end.Message, StringComparison.Ordinal);
        },
        SessionFixture.Options with { Access = new AccessRules { Policy = "[]"u8.ToArray() } });

    [Fact]
    public Task A_server_that_keeps_access_rules_is_served() => SessionFixture.RunAsync(
        async fixture =>
        {
            fixture.Server.Welcome = fixture.Server.Welcome with
            {
                Capabilities = HandshakeCapabilities.MultipleUplinks | HandshakeCapabilities.AccessRules,
            };
            var running = fixture.Start();
            var served = await fixture.Server.ServeAsync();
            await fixture.UntilAsync(() => fixture.Events.Names.Contains("ready"), "it is ready");
            served.Transport.Abort();
            Assert.Equal(ConnectionEndReason.Lost, (await running).Reason);
            await served.Run;
        },
        SessionFixture.Options with { Access = new AccessRules { Allowed = [AccessNetwork.Create([10, 0, 0, 0], 8)!] } });

    [Theory]
    [InlineData(SocketError.ConnectionRefused, ConnectFailureReason.Refused)]
    [InlineData(SocketError.HostNotFound, ConnectFailureReason.NameNotResolved)]
    [InlineData(SocketError.NetworkUnreachable, ConnectFailureReason.NoRoute)]
    public Task A_server_that_is_not_there_is_said_so(SocketError error, ConnectFailureReason reason) => SessionFixture.RunAsync(
        async fixture =>
        {
            fixture.Server.Refusal = error;
            var end = await fixture.Start();
            Assert.Equal((ConnectionEndReason.ServerUnreachable, reason), (end.Reason, end.Failure!.Reason));
        });

    [Theory]
    [InlineData("SSH-2.0-OpenSSH_9.6\r\n", ConnectFailureReason.NotTunnel2)]
    [InlineData("\u0015\u0003\u0003\0\u0002\u0002\u0028", ConnectFailureReason.SpeaksTls)]
    [InlineData("", ConnectFailureReason.ClosedEarly)]
    public Task What_speaks_something_else_is_recognised(string answer, ConnectFailureReason reason) => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var transport = await fixture.Server.AcceptAsync();
            await MemoryServer.ReadFirstAsync(transport);
            if (answer.Length > 0)
            {
                await transport.SendAsync(Encoding.Latin1.GetBytes(answer));
            }

            transport.ShutdownSend();
            var end = await running;
            Assert.Equal((ConnectionEndReason.ServerUnreachable, reason), (end.Reason, end.Failure!.Reason));
        });

    [Theory]
    [InlineData(FrameType.Welcome)]
    [InlineData(FrameType.Reject)]
    public Task An_answer_that_cannot_be_read_is_of_no_server_of_ours(FrameType type) => SessionFixture.RunAsync(async fixture =>
    {
        var running = fixture.Start();
        var transport = await fixture.Server.AcceptAsync();
        await MemoryServer.ReadFirstAsync(transport);
        await transport.SendAsync(Frame.Make(type, FrameFlags.None, StreamId.Uplink, [0xFF]));
        Assert.Equal(ConnectFailureReason.NotTunnel2, (await running).Failure!.Reason);
    });

    [Fact]
    public Task A_server_that_says_nothing_is_not_waited_for_longer_than_a_handshake_may_take() => SessionFixture.RunAsync(async fixture =>
    {
        var armed = fixture.Time.ArmedTimers.Value;
        var running = fixture.Start();
        var transport = await fixture.Server.AcceptAsync();
        await MemoryServer.ReadFirstAsync(transport);
        await fixture.Time.ArmedTimers.WaitForAsync(armed + 1);
        fixture.Time.Advance(ProtocolLimits.HandshakeTimeout - TimeSpan.FromMilliseconds(1));
        Assert.False(running.IsCompleted);
        fixture.Time.Advance(TimeSpan.FromMilliseconds(1));
        Assert.Equal(ConnectFailureReason.TimedOut, (await running).Failure!.Reason);
    });

    [Fact]
    public Task Stopping_gives_up_a_handshake() => SessionFixture.RunAsync(async fixture =>
    {
        var running = fixture.Start();
        var transport = await fixture.Server.AcceptAsync();
        await MemoryServer.ReadFirstAsync(transport);
        await fixture.Stop.CancelAsync();
        Assert.Equal(ConnectionEndReason.Stopped, (await running).Reason);
    });

    [Fact]
    public Task Stopping_before_the_connect_connects_to_nothing() => SessionFixture.RunAsync(async fixture =>
    {
        await fixture.Stop.CancelAsync();
        Assert.Equal(ConnectionEndReason.Stopped, (await fixture.Start()).Reason);
        Assert.Equal(0, fixture.Server.Dialled.Value);
    });

    [Theory]
    [InlineData(SessionEndReason.Superseded, ConnectionEndReason.Superseded)]
    [InlineData(SessionEndReason.Revoked, ConnectionEndReason.RejectedPermanently)]
    [InlineData(SessionEndReason.Shutdown, ConnectionEndReason.GoingAway)]
    [InlineData(SessionEndReason.ProtocolError, ConnectionEndReason.Lost)]
    public Task What_the_server_ends_it_for_decides_what_follows(
        SessionEndReason reason, ConnectionEndReason expected) => SessionFixture.RunAsync(
        async fixture =>
        {
            var running = fixture.Start();
            var served = await fixture.Server.ServeAsync();
            await fixture.UntilAsync(() => fixture.Events.Names.Contains("ready"), "it is ready");
            served.Uplink.TryEnd(new UplinkEnd(reason, Text: "said by the server"));
            var end = await running;
            Assert.Equal(expected, end.Reason);
            if (reason == SessionEndReason.Revoked)
            {
                Assert.Contains("said by the server", end.Rejection!.Message, StringComparison.Ordinal);
            }

            await served.Run;
        });

    [Fact]
    public Task A_server_that_says_goodbye_is_left_at_once_while_its_streams_continue() => SessionFixture.RunAsync(async fixture =>
    {
        var running = fixture.Start();
        var served = await fixture.Server.ServeAsync();
        await fixture.UntilAsync(() => fixture.Events.Names.Contains("ready"), "it is ready");
        served.Uplink.SendGoAwayNotice(SessionEndReason.Shutdown, "The server stops.");
        Assert.Equal(ConnectionEndReason.GoingAway, (await running).Reason);
        Assert.Equal(["ready", "draining"], fixture.Events.Names);

        // The old uplink lives until its server ends it, and only then is the session retired.
        Assert.False(fixture.Session.WhenRetiredAsync().IsCompleted);
        Assert.Null(served.Uplink.End);
        Assert.Equal(1, fixture.Watched);
        served.Uplink.TryEnd(new UplinkEnd(SessionEndReason.Shutdown));
        await served.Run;
        await fixture.Session.WhenRetiredAsync();
    });

    [Fact]
    public Task A_goodbye_that_comes_with_the_welcome_is_reported_after_the_session() => SessionFixture.RunAsync(async fixture =>
    {
        var running = fixture.Start();
        var transport = await fixture.Server.AcceptAsync();
        Assert.Equal(FrameType.Hello, (await MemoryServer.ReadFirstAsync(transport)).Type);
        await transport.SendAsync(Frame.Join(
            fixture.Server.Welcome.ToFrame(),
            Frame.GoAway(GoAwayPhase.Notice, SessionEndReason.Shutdown, "The server was taken out of service for a while.")));
        Assert.Equal(ConnectionEndReason.GoingAway, (await running).Reason);
        Assert.Equal(["ready", "draining"], fixture.Events.Names);
        transport.Abort();
    });

    [Fact]
    public Task A_session_of_another_cluster_finishes_what_has_come_and_says_goodbye() => SessionFixture.RunAsync(
        async fixture =>
        {
            ScriptedBackend? backend = null;
            fixture.Context.Connector.Dial = (_, _) =>
            {
                var (agents, own) = InMemoryTransport.CreatePair(64 * 1024, PipeScheduler.ThreadPool);
                var transport = new BackendTransport(agents) { WaitsFreely = true };
                backend = new ScriptedBackend(own, transport);
                return new((transport, SocketError.Success));
            };
            var running = fixture.Start();

            // The visitor has come before the server hears the goodbye.
            var served = await fixture.Server.ServeAsync(isDeaf: true);
            var stream = served.Uplink.TryOpenStream()!;
            stream.SendRequest("/");
            served.Transport.Incoming.Resume();
            var end = await running;
            Assert.Equal((ConnectionEndReason.RejectedPermanently, "no"), (end.Reason, end.Rejection!.Code));
            await fixture.UntilAsync(() => backend is not null, "the request comes to the service");
            await fixture.UntilAsync(() => !served.Uplink.IsOpenForStreams, "the agent says goodbye");
            Assert.Equal(SessionEndReason.Shutdown, served.Uplink.PeerGoAwayReason);
            Assert.False(fixture.Session.WhenRetiredAsync().IsCompleted);
            await backend!.ReadHeadAsync();
            await backend.SendAsync("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1");
            var answer = await Answer.ReadAsync(stream);
            Assert.Equal(("1", true), (answer.Body, answer.IsWhole));
            await served.Run;
            await fixture.Session.WhenRetiredAsync();
            Assert.Empty(fixture.Events.Names);
        },
        place: new StrangePlace());

    [Fact]
    public Task An_idle_agent_that_stops_says_so_and_waits_for_the_server() => SessionFixture.RunAsync(async fixture =>
    {
        var running = fixture.Start();
        var served = await fixture.Server.ServeAsync();
        await fixture.UntilAsync(() => fixture.Events.Names.Contains("ready"), "it is ready");

        // The server hears the goodbye only when the test says so: it ends the uplink by itself then.
        served.Transport.Incoming.Stall();
        await fixture.Stop.CancelAsync();
        await fixture.UntilAsync(() => served.Transport.Incoming.Available > 0, "the agent says goodbye");
        await fixture.SettleAsync();
        Assert.False(running.IsCompleted);
        served.Transport.Incoming.Resume();
        Assert.Equal(ConnectionEndReason.Stopped, (await running).Reason);
        Assert.Equal(SessionEndReason.Shutdown, served.Uplink.PeerGoAwayReason);
        Assert.False(served.Uplink.IsOpenForStreams);
        Assert.Contains("draining", fixture.Events.Names);
        await served.Run;
    });

    [Fact]
    public async Task Its_first_uplink_starts_no_event_loop_where_another_tunnel_uses_the_only_one()
    {
        Assert.SkipUnless(EngineSetup.HasEpoll, "epoll");
        await using var server = RawTcpServer.Start(static connection => connection.ReadExactlyAsync(8));
        var options = SessionFixture.Options with { Server = new ServerEndpoint("127.0.0.1", server.Port) };
        var events = new RecordingEvents();
        using var engine = new EpollEngine(1, most: 2);
        var loops = new UplinkLoops(engine);
        using var place = loops.Take(new IdleConnections(), joins: false);
        using var context = new ExchangeContext(options, events, TimeProvider.System);
        using var heartbeat = new UplinkHeartbeat(TimeProvider.System);
        using var uploads = new ReceiveBudget(ReceiveBudget.SmallestLimit, TimeProvider.System);
        var dialer = new UplinkDialer(options, engine, loops, context.Backends.Idle, TimeProvider.System);
        var session = new AgentSession(options, events, context, heartbeat, engine, dialer, uploads, TimeProvider.System);
        Assert.Equal(ConnectionEndReason.ServerUnreachable, (await session.RunOnceAsync(CancellationToken.None)).Reason);
        Assert.Single(engine.Loops);
    }

    /// <summary>No server is one that it wants.</summary>
    private sealed class StrangePlace : IClusterPlace
    {
        public bool TakesNodes => true;

        public bool IsOneOfSeveral => true;

        public Task WhenReplaced { get; } = new TaskCompletionSource().Task;

        public Rejection? Welcomed(WelcomeMessage welcome) => new(RejectionReason.Other, "no", "of another cluster");

        public void Heard(NodeAnnouncement announcement)
        {
        }

        public Task<bool> IsElsewhereAsync(Task unless) => Task.FromResult(true);
    }
}
