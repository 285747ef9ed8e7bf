using System.Text;
using Tunnel2.Multiplexing.Session;
using Tunnel2.Multiplexing.Streams;
using Tunnel2.Multiplexing.Tests.InMemory;
using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;
using Tunnel2.Protocol.Handshake;
using Tunnel2.ProxyEntry.Agents;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.ProxyEntry.Tests.InMemory;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.Tests.Uplink;

/// <summary>An agent's connection from its first byte to its WELCOME or REJECT, and the registration behind it.</summary>
public sealed class UplinkAcceptorTests
{
    private static readonly string[] _shop =
        ["Agents:shop:TokenHash=" + SettingsFixture.HashSetting("secret"), "Agents:shop:Names=web,other"];

    [Fact]
    public Task An_agent_is_welcomed_and_its_name_leads_to_it() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            var hello = AcceptorFixture.Hello() with { StreamWindow = 100_000, UplinkWindow = 200_000, MaxStreams = 7 };
            var agent = await fixture.ConnectAsync(hello);
            var session = fixture.Session;
            var welcome = agent.Welcome;
            Assert.Equal(("web", (ulong)session.Epoch, TunnelSession.MaxUplinks), (welcome.Name, welcome.Epoch, welcome.MaxUplinks));
            Assert.Equal(HandshakeCapabilities.MultipleUplinks, welcome.Capabilities);
            Assert.Equal(["http://web.localhost:8080"], welcome.PublicUrls);
            Assert.Equal(TimeSpan.FromSeconds(7), welcome.BackendConnectTimeout);
            Assert.True(session.SessionId.Span.SequenceEqual(welcome.SessionId.Span));
            Assert.True(session.JoinSecret.Span.SequenceEqual(welcome.JoinSecret.Span));
            Assert.True(welcome.JoinSecret.Span.ContainsAnyExcept((byte)0));
            var settings = session.UplinkSettings;
            Assert.Equal((100_000, 200_000, 7), (settings.SendStreamWindow, settings.SendUplinkWindow, settings.MaxStreams));
            Assert.Equal(("1.2.3", null, null), (session.AgentVersion, session.Grant, session.Holder));
            Assert.Equal((1, 1, 1), (fixture.Heartbeat.Count, fixture.Joins.Count, fixture.Quota.Connections));
            Assert.Equal((1L, 0), (fixture.Metrics["tunnel2.entry.sessions.active"], fixture.Handshakes.Limit.Count));
            Assert.Contains("http://web.localhost:8080 is public", Assert.Single(fixture.UplinksLog.Of(2000)), StringComparison.Ordinal);
        },
        "Public:HttpListen=127.0.0.1:8080",
        "Timeouts:BackendConnect=7s");

    [Fact]
    public Task An_agent_gets_the_URL_by_which_visitors_come_and_the_log_has_it() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            var agent = await fixture.ConnectAsync();
            Assert.Equal(["https://web.example.com"], agent.Welcome.PublicUrls);
            Assert.Contains("https://web.example.com is public", Assert.Single(fixture.UplinksLog.Of(2000)), StringComparison.Ordinal);
        },
        "Domain=example.com",
        "Public:HttpListen=127.0.0.1:8080",
        "Public:Url=https://{name}.{Domain}");

    [Fact]
    public Task A_session_of_tcp_has_its_port_until_its_end_and_the_port_is_kept() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync(Tcp(20_005));
        Assert.Equal((SessionKind.Tcp, 20_005), (agent.Welcome.Kind, agent.Welcome.Port));
        Assert.Equal(HandshakeCapabilities.MultipleUplinks | HandshakeCapabilities.SessionKinds, agent.Welcome.Capabilities);
        Assert.Equal(["tcp://localhost:20005"], agent.Welcome.PublicUrls);
        Assert.Equal((SessionKind.Tcp, 20_005), (fixture.Session.Kind, fixture.Session.Lease!.Port));
        Assert.Empty(fixture.Ports.Returned);
        await agent.LoseAsync();
        await fixture.UntilAsync(() => agent.Run.IsCompleted, "the session is over");
        Assert.Equal([(20_005, true)], fixture.Ports.Returned);
    });

    [Fact]
    public Task A_session_that_is_not_begun_gives_its_port_back_and_nothing_is_kept() => AcceptorFixture.RunAsync(async fixture =>
    {
        await fixture.ConnectAsync();
        var reject = await fixture.RefusedAsync(Tcp(20_005) with { InstanceKey = new byte[16] });
        Assert.Equal(RejectCode.NameTaken, reject.Code);
        Assert.Equal([(20_005, false)], fixture.Ports.Returned);
    });

    [Fact]
    public Task A_port_that_is_not_given_and_a_kind_that_is_not_carried_are_refused_with_the_reason() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            var reject = await fixture.RefusedAsync(Tcp(1));
            Assert.Equal((RejectCode.PortNotAvailable, "The port 1 belongs to another agent."), (reject.Code, reject.Text));
            reject = await fixture.RefusedAsync(Tcp(0) with { Kind = SessionKind.Tls });
            Assert.Equal((RejectCode.KindNotSupported, "There is no Tls here."), (reject.Code, reject.Text));
            reject = await fixture.RefusedAsync(Tcp(0) with { Kind = (SessionKind)99 });
            Assert.Equal(RejectCode.KindNotSupported, reject.Code);
            Assert.Equal(0, fixture.Ports.Given);
        });

    [Fact]
    public Task Access_rules_are_kept_and_the_agent_learns_that_they_are() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync(WithAccess(AcceptorFixture.Hello()));
        Assert.Equal(HandshakeCapabilities.MultipleUplinks | HandshakeCapabilities.AccessRules, agent.Welcome.Capabilities);
        var policy = fixture.Session.Access!;
        Assert.Equal((true, true), (policy.LimitsAddresses, policy.NeedsLogin));
        Assert.True(policy.Allows(System.Net.IPAddress.Parse("10.1.1.1")));
        Assert.False(policy.Allows(System.Net.IPAddress.Parse("11.1.1.1")));
    });

    [Fact]
    public Task A_session_without_rules_has_none() => AcceptorFixture.RunAsync(async fixture =>
    {
        await fixture.ConnectAsync();
        Assert.Null(fixture.Session.Access);
    });

    [Fact]
    public Task Rules_that_cannot_be_kept_are_refused_and_nothing_is_published() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            var reject = await fixture.RefusedAsync(WithAccess(Tcp(20_005)));
            Assert.Equal(
                (RejectCode.AccessNotSupported, "Visitors can log in to a tunnel of HTTP only; other tunnels take lists of addresses."),
                (reject.Code, reject.Text));
            Assert.Equal(0, fixture.Ports.Given);

            // The last byte of the item's kind is an unknown one.
            var frame = WithAccess(AcceptorFixture.Hello()).ToFrame();
            frame[frame.AsSpan().LastIndexOf(new byte[] { 2, 0, 5, 8, 10, 0, 0, 0 })] = 99;
            reject = await (await fixture.SayAsync(frame)).RejectedAsync();
            Assert.Equal(RejectCode.AccessNotSupported, reject.Code);
            Assert.Contains("does not know one of the access rules", reject.Text, StringComparison.Ordinal);
            Assert.Equal(0, fixture.Directory.Count);
        });

    [Fact]
    public Task Rules_of_the_server_for_a_token_are_applied_and_changed_with_the_settings() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret"));
            var policy = fixture.Session.Access!;
            Assert.False(policy.Allows(System.Net.IPAddress.Parse("11.1.1.1")));
            Assert.Equal(0, fixture.Revocation.Apply(SettingsFixture.LoadValid([.. _shop, "Agents:shop:AllowIp=10.0.0.0/8"]).Agents));
            Assert.Same(policy, fixture.Session.Access);
            Assert.Equal(0, fixture.Revocation.Apply(SettingsFixture.LoadValid([.. _shop, "Agents:shop:AllowIp=11.0.0.0/8"]).Agents));
            Assert.True(fixture.Session.Access!.Allows(System.Net.IPAddress.Parse("11.1.1.1")));
            Assert.Equal(0, fixture.Revocation.Apply(SettingsFixture.LoadValid(_shop).Agents));
            Assert.Null(fixture.Session.Access);
        },
        [.. _shop, "Agents:shop:AllowIp=10.0.0.0/8"]);

    [Fact]
    public Task Logins_that_the_server_asks_for_end_a_session_that_cannot_have_them() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            var hello = Tcp(20_005) with
            {
                ProofKind = TokenProofKind.Bearer,
                Proof = Encoding.UTF8.GetBytes("secret"),
                WantedName = "web",
            };
            await fixture.ConnectAsync(hello);
            var user = $"a:{PasswordHash.Create("p", PasswordHash.LeastIterations).ToText()}";
            var forced = SettingsFixture.LoadValid([.. _shop, "Agents:shop:BasicAuth=" + user]).Agents;
            Assert.Equal(1, fixture.Revocation.Apply(forced));
            var reject = await fixture.RefusedAsync(hello);
            Assert.Equal(RejectCode.AccessNotSupported, reject.Code);
            Assert.Contains("have to log in", reject.Text, StringComparison.Ordinal);
        },
        _shop);

    [Fact]
    public Task A_request_finds_its_way_to_the_agent() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync();
        var stream = fixture.Session.Tunnel.TryOpenStream()!;
        stream.SendRequest("/x");
        await fixture.UntilAsync(() => agent.Streams.Count == 1, "the stream reaches the agent");
        Assert.Equal("/x", await agent.Streams[0].ReadHeadAsync());
        agent.Streams[0].Release();
        stream.Release();
    });

    [Fact]
    public Task An_agent_that_knows_one_uplink_gets_one() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync(AcceptorFixture.Hello(joins: false));
        Assert.Equal((1, HandshakeCapabilities.None), (agent.Welcome.MaxUplinks, agent.Welcome.Capabilities));
        Assert.Equal(RejectCode.Overloaded, (await (await fixture.JoinAsync(agent.Welcome, 1)).RejectedAsync()).Code);
    });

    [Fact]
    public Task Two_sessions_have_neither_id_nor_secret_in_common() => AcceptorFixture.RunAsync(async fixture =>
    {
        var one = (await fixture.ConnectAsync(AcceptorFixture.Hello("one"))).Welcome;
        var two = (await fixture.ConnectAsync(AcceptorFixture.Hello("two", "b"))).Welcome;
        Assert.False(one.SessionId.Span.SequenceEqual(two.SessionId.Span));
        Assert.False(one.JoinSecret.Span.SequenceEqual(two.JoinSecret.Span));
        Assert.True(two.Epoch > one.Epoch);
        Assert.Equal(2, fixture.Directory.Count);
    });

    [Fact]
    public Task An_agent_with_a_token_owns_what_it_registers_as_that_agent() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret", owner: "key"));
            var session = fixture.Session;
            Assert.Equal(
                (AgentIdentity.OfToken("shop"), AgentIdentity.OfToken("shop"), "shop"),
                (session.Identity, session.Owner, session.Grant!.AgentId));
            Assert.Equal("agent shop", session.Holder);
        },
        _shop);

    [Fact]
    public Task An_agent_without_a_token_owns_what_it_registers_by_its_key() => AcceptorFixture.RunAsync(async fixture =>
    {
        await fixture.ConnectAsync(AcceptorFixture.Hello(owner: "key"), new UplinkPeer(System.Net.IPAddress.Parse("203.0.113.9")));
        var session = fixture.Session;
        Assert.Equal(AgentIdentity.OfOwner(Encoding.ASCII.GetBytes("key".PadLeft(32, '-'))), session.Owner);
        Assert.Equal(AgentIdentity.OfInstance(Encoding.ASCII.GetBytes("a".PadLeft(16, '-'))), session.Identity);
        Assert.Equal(session.Identity, session.Instance);
        Assert.StartsWith("address ", session.Holder, StringComparison.Ordinal);
    });

    [Fact]
    public Task A_session_has_its_tier_before_it_can_be_found() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            string? tier = null;
            fixture.Directory.Registered += session => tier = session.RateLimit?.Tier.Name;
            await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret"));
            Assert.Equal("slow", tier);
        },
        [.. _shop, "Agents:shop:Tier=slow", "Tiers:slow:RequestsPerSecond=5", "Tiers:slow:Burst=5"]);

    [Fact]
    public Task Who_may_not_have_the_name_learns_it() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            var reject = await fixture.RefusedAsync(AcceptorFixture.Hello(token: "wrong"));
            Assert.Equal(RejectCode.Unauthorized, reject.Code);
            Assert.Equal(
                (0, 0, 1L),
                (fixture.Directory.Count, fixture.Quota.Connections, fixture.Metrics["tunnel2.entry.sessions.rejected:Unauthorized"]));
            Assert.Single(fixture.RejectionLog.Of(2002));
        },
        _shop);

    [Fact]
    public Task A_name_that_another_agent_has_is_taken() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.ConnectAsync();
        var reject = await fixture.RefusedAsync(AcceptorFixture.Hello(instance: "b"));
        Assert.Equal((RejectCode.NameTaken, TimeSpan.Zero, "The name 'web' is taken."), (reject.Code, reject.RetryAfter, reject.Text));
        Assert.Equal((1, 1, 1), (fixture.Directory.Count, fixture.Quota.Connections, fixture.Heartbeat.Count));
        Assert.Equal(agent.Welcome.Epoch, (ulong)fixture.Session.Epoch);
    });

    [Fact]
    public Task A_name_whose_agent_has_just_left_is_kept_for_it() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            await (await fixture.ConnectAsync()).LoseAsync();
            fixture.Time.Advance(TimeSpan.FromSeconds(2));
            var reject = await fixture.RefusedAsync(AcceptorFixture.Hello(instance: "b"));
            Assert.Equal((RejectCode.NameTaken, TimeSpan.FromSeconds(3)), (reject.Code, reject.RetryAfter));
            Assert.Equal("The name 'web' is kept for the agent that has just left.", reject.Text);
            fixture.Time.Advance(TimeSpan.FromSeconds(3));
            await fixture.ConnectAsync(AcceptorFixture.Hello(instance: "b"));
        },
        "Timeouts:Park=5s");

    [Fact]
    public Task The_same_process_that_comes_again_ends_its_older_session_at_once() => AcceptorFixture.RunAsync(async fixture =>
    {
        var older = await fixture.ConnectAsync();
        var stream = fixture.Session.Tunnel.TryOpenStream()!;
        stream.SendRequest("/");
        var session = fixture.Session;
        var younger = await fixture.ConnectAsync();
        Assert.Equal(younger.Welcome.Epoch, (ulong)fixture.Session.Epoch);
        Assert.True(session.IsLeaving);
        await older.DoneAsync();
        Assert.Equal(SessionEndReason.Superseded, session.Tunnel.Completion.Result.Reason);
        Assert.Equal(StreamFailureKind.UplinkLost, stream.Failure.Kind);
        stream.Release();
        Assert.Equal((1, 1L), (fixture.Directory.Count, fixture.Metrics["tunnel2.entry.session.duration:Superseded"]));
        Assert.Single(fixture.Log.Of(2003));
    });

    [Fact]
    public Task Another_process_of_the_same_agent_lets_the_older_one_finish() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            var older = await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret"));
            var session = fixture.Session;
            var stream = session.Tunnel.TryOpenStream()!;
            stream.SendRequest("/");
            await fixture.UntilAsync(() => older.Streams.Count == 1, "the stream reaches the agent");
            await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret", instance: "b"));
            await fixture.UntilAsync(() => older.Goodbyes.Count == 1, "the older process hears of it");
            Assert.Equal((GoAwayPhase.Notice, SessionEndReason.Superseded), older.Goodbyes[0]);
            Assert.True(session.IsLeaving);
            Assert.Null(session.Tunnel.TryOpenStream());
            Assert.False(older.Serving.IsCompleted);
            older.Streams[0].SendResponse(200, "ok"u8, end: true, out _);
            Assert.Equal("200", await stream.ReadHeadAsync());
            Assert.True((await stream.ReadBodyAsync()).InOrder);
            stream.Release();
            older.Streams[0].Release();
            await older.DoneAsync();
            Assert.Equal(1, fixture.Directory.Count);
        },
        _shop);

    [Fact]
    public Task An_agent_that_comes_again_keeps_what_is_left_of_its_limit() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret"));
            var limit = fixture.Session.RateLimit;
            await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret"));
            Assert.NotNull(limit);
            Assert.Same(limit, fixture.Session.RateLimit);
        },
        [.. _shop, "Agents:shop:Tier=slow", "Tiers:slow:RequestsPerSecond=5", "Tiers:slow:Burst=5"]);

    [Fact]
    public Task While_ProxyEntry_stops_an_agent_is_sent_away_for_a_moment() => AcceptorFixture.RunAsync(async fixture =>
    {
        fixture.Drain.Begin();
        var reject = await fixture.RefusedAsync(AcceptorFixture.Hello());
        Assert.Equal((RejectCode.GoingAway, TimeSpan.FromMilliseconds(500)), (reject.Code, reject.RetryAfter));
        Assert.Equal((0, 0, 0, 0), (fixture.Directory.Count, fixture.Quota.Connections, fixture.Joins.Count, fixture.Heartbeat.Count));
        Assert.Equal(0, fixture.Metrics["tunnel2.entry.sessions.active"]);
    });

    [Fact]
    public Task An_agent_whose_server_stops_while_it_registers_is_sent_away_and_its_name_is_kept() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            fixture.Directory.Registered += _ => fixture.Drain.Begin();
            var reject = await fixture.RefusedAsync(AcceptorFixture.Hello());
            Assert.Equal((RejectCode.GoingAway, 0), (reject.Code, fixture.Directory.Count));
            Assert.Equal(NameState.Offline, fixture.Directory.Find("web", out _));
        });

    [Fact]
    public Task An_agent_whose_server_leaves_service_while_it_registers_is_served_until_it_is_elsewhere() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            // Its name may have been at another node until now, and is at none if this one does not take it.
            fixture.Directory.Registered += _ => fixture.Drain.SetDrained(true);
            var agent = await fixture.ConnectAsync();
            Assert.Equal(NameState.Online, fixture.Directory.Find("web", out _));
            await fixture.UntilAsync(() => agent.Goodbyes.Count > 0, "the agent hears that it should leave");
            Assert.Equal([(GoAwayPhase.Notice, SessionEndReason.Shutdown)], agent.Goodbyes);
        });

    [Fact]
    public Task An_agent_that_lost_its_right_while_it_registered_is_sent_away_and_the_name_is_free() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            fixture.Directory.Registered += _ => fixture.Registry.Replace(new AgentTable([]));
            var agent = await fixture.SayAsync(AcceptorFixture.Hello(token: "secret").ToFrame());
            await agent.WelcomedAsync();
            await fixture.UntilAsync(() => agent.Run.IsCompleted, "the agent's uplink has ended");
            Assert.Equal(SessionEndReason.Revoked, (await agent.Run).Reason);
            await agent.DoneAsync();
            await fixture.ConnectAsync(AcceptorFixture.Hello(instance: "b"));
        },
        _shop);

    [Fact]
    public Task Where_there_is_no_place_an_agent_may_come_again() => AcceptorFixture.RunAsync(async fixture =>
    {
        fixture.Quota.MostConnections = 0;
        for (var i = 0; i < 3; i++)
        {
            var reject = await fixture.RefusedAsync(AcceptorFixture.Hello());
            Assert.Equal((RejectCode.Overloaded, TimeSpan.FromSeconds(10)), (reject.Code, reject.RetryAfter));
        }

        Assert.Equal((3L, 0), (fixture.Metrics["tunnel2.entry.sessions.rejected:Overloaded"], fixture.Directory.Count));
        Assert.Single(fixture.Log.Of(2002));
        fixture.Time.Advance(TimeSpan.FromSeconds(1));
        await fixture.RefusedAsync(AcceptorFixture.Hello());
        Assert.Equal(2, fixture.Log.Of(2002).Count);
        fixture.Quota.MostConnections = 1;
        await fixture.ConnectAsync();
    });

    [Fact]
    public Task An_agent_with_all_its_sessions_may_still_take_over_one_of_them() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret"));
            Assert.Equal(RejectCode.Overloaded, (await fixture.RefusedAsync(AcceptorFixture.Hello("other", token: "secret"))).Code);
            await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret", instance: "b"));
        },
        [.. _shop, "Uplink:SessionsPerAgent=1"]);

    [Fact]
    public Task Who_speaks_TLS_to_a_plain_port_is_recognised() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.SayAsync([0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]);
        Assert.Equal((RejectCode.Malformed, "TLS on a plaintext port"), Described(await agent.RejectedAsync()));
        Assert.Single(fixture.Log.Of(2051));
        Assert.EndsWith("TLS on a plaintext port", Assert.Single(fixture.Log.Of(2005)), StringComparison.Ordinal);
    });

    [Theory]
    [InlineData("GET / HTTP/1.1\r\n\r\n")]
    [InlineData("\0\0\0\u0016\u0003\0\0\0")]
    public Task What_speaks_another_protocol_is_refused_with_the_reason(string text) => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.SayAsync(Encoding.Latin1.GetBytes(text));
        Assert.Equal(RejectCode.Malformed, (await agent.RejectedAsync()).Code);
        Assert.Empty(fixture.Log.Of(2051));
    });

    [Fact]
    public Task A_frame_that_may_not_come_first_is_refused() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.SayAsync(Frame.Ping(1));
        Assert.Equal((RejectCode.Malformed, nameof(ProtocolError.HandshakeExpected)), Described(await agent.RejectedAsync()));
    });

    [Fact]
    public Task A_HELLO_that_cannot_be_read_is_refused() => AcceptorFixture.RunAsync(async fixture =>
    {
        var agent = await fixture.SayAsync(Frame.Make(FrameType.Hello, FrameFlags.None, StreamId.Uplink, "TNL3"u8));
        Assert.Equal((RejectCode.Malformed, nameof(ProtocolError.WrongMagic)), Described(await agent.RejectedAsync()));
        Assert.EndsWith(nameof(ProtocolError.WrongMagic), Assert.Single(fixture.Log.Of(2005)), StringComparison.Ordinal);
        Assert.Equal(1, fixture.Metrics["tunnel2.entry.sessions.rejected:Malformed"]);
    });

    [Fact]
    public Task A_welcome_that_cannot_be_sent_gives_the_session_s_place_and_port_back_once() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            await fixture.ConnectAsync(AcceptorFixture.Hello("one", token: "secret"));
            var agent = fixture.Dial();
            agent.Acceptors.FailSendAt = 1;
            var hello = Tcp(20_005) with { WantedName = "two", ProofKind = TokenProofKind.Bearer, Proof = "secret"u8.ToArray() };
            await agent.SendAsync(hello.ToFrame());
            await agent.DoneAsync();
            Assert.Equal([(20_005, true)], fixture.Ports.Returned);
            Assert.Equal(1, fixture.Quota.Connections);
            Assert.Contains(fixture.Log.Of(2005), static line => line.EndsWith("The send was made to fail.", StringComparison.Ordinal));

            // Of two places one is taken, and not none.
            await fixture.ConnectAsync(AcceptorFixture.Hello("two", token: "secret"));
            Assert.Equal(RejectCode.Overloaded, (await fixture.RefusedAsync(AcceptorFixture.Hello("three", token: "secret"))).Code);
        },
        "Agents:shop:TokenHash=" + SettingsFixture.HashSetting("secret"), "Agents:shop:Names=one,two,three", "Uplink:SessionsPerAgent=2");

    [Fact]
    public Task A_welcome_that_cannot_be_sent_to_an_agent_s_only_session_is_an_end_like_any() => AcceptorFixture.RunAsync(
        async fixture =>
        {
            var agent = fixture.Dial();
            agent.Acceptors.FailSendAt = 1;
            await agent.SendAsync(AcceptorFixture.Hello(token: "secret").ToFrame());
            await agent.DoneAsync();
            Assert.Equal((0, 0L), (fixture.Quota.Connections, fixture.Metrics["tunnel2.entry.sessions.active"]));
            await fixture.ConnectAsync(AcceptorFixture.Hello(token: "secret"));
        },
        _shop);

    private static (RejectCode Code, string Text) Described(RejectMessage reject) => (reject.Code, reject.Text);

    private static HelloMessage Tcp(int port) => AcceptorFixture.Hello() with
    {
        Capabilities = HandshakeCapabilities.MultipleUplinks | HandshakeCapabilities.SessionKinds,
        Kind = SessionKind.Tcp,
        WantedPort = port,
    };

    private static HelloMessage WithAccess(HelloMessage hello) => hello with
    {
        Capabilities = hello.Capabilities | HandshakeCapabilities.AccessRules,
        Access = new AccessRules
        {
            Users = [new AccessUser("alice", PasswordHash.Create("secret", PasswordHash.LeastIterations))],
            Allowed = [AccessNetwork.Create([10, 0, 0, 0], 8)!],
        },
    };
}
