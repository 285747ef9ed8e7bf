using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Backends;

/// <summary>What happens where the agent may have no more connections, or takes no more requests.</summary>
[Trait("Engine", "each")]
public sealed class ConnectionLimitTests
{
    private readonly AsyncCounter _waiting = new("requests at the backend");
    private readonly AsyncCounter _release = new("requests that may be answered");
    private long _served;
    private long _mostServed;

    [Theory]
    [InlineData(true, 1)]
    [InlineData(false, 1)]
    [InlineData(true, 3)]
    [InlineData(false, 3)]
    public Task Requests_beyond_the_limit_are_served_in_turn(bool trusts, int uplinks) => TunnelFixture.RunAsync(
        AnswerWhenReleasedAsync,
        async tunnel =>
        {
            await tunnel.Entry.WaitForUplinksAsync(uplinks);
            _release.Set(int.MaxValue);
            var answers = await Task.WhenAll(Enumerable.Range(0, 40).Select(i => tunnel.ExchangeAsync($"/{i}")));
            Assert.All(answers, static answer => Assert.Equal(200, answer.Head.StatusCode));
            Assert.Equal(Enumerable.Range(0, 40).Select(static i => $"/{i}"), answers.Select(static answer => answer.Body.Text()));
            Assert.InRange(Interlocked.Read(ref _mostServed), 1, 4);
        },
        Limited(4, trusts: trusts, uplinks: uplinks));

    [Fact]
    public Task A_request_that_waits_too_long_gets_the_reason_and_all_continues_after_it() => TunnelFixture.RunAsync(
        AnswerWhenReleasedAsync,
        async tunnel =>
        {
            var first = tunnel.ExchangeAsync("/first");
            await _waiting.WaitForAsync(1);
            var (head, _) = await tunnel.ExchangeAsync("/late");
            Assert.Equal((503, "backend-connection-limit", "1"), (head.StatusCode, head["Tunnel2-Error"], head["Retry-After"]));
            Assert.Equal(1, tunnel.Agent.Events.ShortCount.Value);
            Assert.Equal(
                "Connections to services: 1 of 1 in use (--backend-connections); requests that wait their turn: 1",
                tunnel.Agent.Events.ShortMessage);
            await tunnel.Agent.Events.RequestCount.WaitForAsync(1);
            Assert.Equal(
                "no connection to the service came free in time: all that --backend-connections allows are in use",
                tunnel.Agent.Events.Requests[0].Error);
            _release.Set(2);
            Assert.Equal(200, (await first).Head.StatusCode);
            Assert.Equal(200, (await tunnel.ExchangeAsync("/next")).Head.StatusCode);
            Assert.Equal(2, _waiting.Value);
        },
        Limited(1, "Timeouts:BackendConnect=1s") with { WantsRequests = true });

    [Fact]
    public Task A_visitor_that_leaves_gives_its_turn_to_the_next() => TunnelFixture.RunAsync(
        AnswerWhenReleasedAsync,
        async tunnel =>
        {
            var first = tunnel.ExchangeAsync("/first");
            await _waiting.WaitForAsync(1);
            var impatient = await tunnel.ConnectAsync();
            await impatient.SendRequestAsync("/impatient", TunnelFixture.Host);
            await tunnel.Agent.Events.ShortCount.WaitForAsync(1);
            impatient.Reset();
            await tunnel.Agent.Events.RequestCount.WaitForAsync(1);
            Assert.Equal("/impatient", tunnel.Agent.Events.Requests[0].Target);
            _release.Set(2);
            Assert.Equal(200, (await first).Head.StatusCode);
            Assert.Equal("/patient", (await tunnel.ExchangeAsync("/patient")).Body.Text());
            Assert.Equal(2, _waiting.Value);
        },
        Limited(1) with { WantsRequests = true });

    [Fact]
    public Task An_upgraded_connection_counts() => TunnelFixture.RunAsync(
        static async connection =>
        {
            var head = await connection.ReadHeadAsync();
            await connection.WriteAsync(head["Upgrade"] is null
                ? "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
                : "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
            await connection.WaitForEndAsync();
        },
        async tunnel =>
        {
            var upgraded = await tunnel.ConnectAsync();
            await upgraded.SendRequestAsync("/", TunnelFixture.Host, fields: "Connection: upgrade\r\nUpgrade: x\r\n");
            Assert.Equal(101, (await upgraded.ReadHeadAsync()).StatusCode);
            var (head, _) = await tunnel.ExchangeAsync("/");
            Assert.Equal("backend-connection-limit", head["Tunnel2-Error"]);
            var waiting = tunnel.ExchangeAsync("/");
            upgraded.Reset();
            Assert.Equal(200, (await waiting).Head.StatusCode);
        },
        Limited(1, "Timeouts:BackendConnect=3s"));

    [Theory]
    [InlineData(1)]
    [InlineData(3)]
    public async Task An_idle_connection_of_http2_makes_room_for_one_of_http1(int uplinks)
    {
        var accepted = 0;
        var http2 = Http2ServiceConnection.Serving(static async (service, _) =>
        {
            while (true)
            {
                await service.AnswerAsync((await service.ReadRequestAsync()).Id);
            }
        });
        _release.Set(int.MaxValue);
        await TunnelFixture.RunAsync(
            connection => Interlocked.Increment(ref accepted) % 2 == 1 ? http2(connection) : AnswerWhenReleasedAsync(connection),
            async tunnel =>
            {
                await tunnel.Entry.WaitForUplinksAsync(uplinks);
                for (var i = 1; i <= 4; i++)
                {
                    var call = await tunnel.ExchangeAsync(
                        "/call", method: "POST", fields: "Content-Type: application/grpc\r\nTE: trailers\r\nContent-Length: 0\r\n");
                    Assert.Equal((200, "well"), (call.Head.StatusCode, call.Body.Text()));
                    Assert.Equal("/plain", (await tunnel.ExchangeAsync("/plain")).Body.Text());
                    Assert.Equal(2 * i, Volatile.Read(ref accepted));
                }
            },
            Limited(1, uplinks: uplinks));
    }

    /// <summary>The connection is not idle when the other request begins to wait, but once its own request is over.</summary>
    [Fact]
    public async Task One_of_http2_that_becomes_idle_makes_room_for_a_request_that_waits()
    {
        var accepted = 0;
        var http2 = Http2ServiceConnection.Serving(async (service, _) =>
        {
            var request = await service.ReadRequestAsync();
            await _release.WaitForAsync(_waiting.Increment());
            await service.AnswerAsync(request.Id);
        });
        await TunnelFixture.RunAsync(
            connection => Interlocked.Increment(ref accepted) == 1 ? http2(connection) : AnswerWhenReleasedAsync(connection),
            async tunnel =>
            {
                var call = tunnel.ExchangeAsync(
                    "/call", method: "POST", fields: "Content-Type: application/grpc\r\nTE: trailers\r\nContent-Length: 0\r\n");
                await _waiting.WaitForAsync(1);
                var plain = tunnel.ExchangeAsync("/plain");
                await tunnel.Agent.Events.ShortCount.WaitForAsync(1);
                _release.Set(int.MaxValue);
                Assert.Equal("well", (await call).Body.Text());
                Assert.Equal("/plain", (await plain).Body.Text());
                Assert.Equal(2, Volatile.Read(ref accepted));
            },
            Limited(1, uplinks: 1));
    }

    [Theory]
    [InlineData(1, "stream-limit")]
    [InlineData(2, "agent-refused")]
    public Task A_request_beyond_those_that_the_agent_takes_is_refused(int uplinks, string error) => TunnelFixture.RunAsync(
        AnswerWhenReleasedAsync,
        async tunnel =>
        {
            await tunnel.Entry.WaitForUplinksAsync(uplinks);
            var under = Enumerable.Range(0, 2).Select(i => tunnel.ExchangeAsync($"/{i}")).ToArray();
            await _waiting.WaitForAsync(2);
            var (head, _) = await tunnel.ExchangeAsync("/third");
            Assert.Equal((503, error), (head.StatusCode, head["Tunnel2-Error"]));
            _release.Set(int.MaxValue);
            Assert.All(await Task.WhenAll(under), static answer => Assert.Equal(200, answer.Head.StatusCode));
            Assert.Equal(200, (await tunnel.ExchangeAsync("/next")).Head.StatusCode);
        },
        new TunnelSetup { Agent = options => options with { MaxStreams = 2, Uplinks = UplinkPolicy.Fixed(uplinks) } });

    [Theory]
    [InlineData(true, "stream-limit")]
    [InlineData(false, "backend-connection-limit")]
    public Task A_stream_that_is_refused_costs_its_http2_connection_no_other(bool limitsStreams, string error) => TunnelFixture.RunAsync(
        AnswerWhenReleasedAsync,
        async tunnel =>
        {
            await using var visitor = await Http2Visitor.ConnectAsync(tunnel.Entry.Http, isTls: false);
            var under = new List<Http2VisitorStream>();
            for (var i = 0; i < 2; i++)
            {
                under.Add(await OpenAsync($"/{i}"));
            }

            await _waiting.WaitForAsync(2);
            var beyond = new List<Http2VisitorStream>();
            for (var i = 0; i < 10; i++)
            {
                beyond.Add(await OpenAsync("/beyond"));
            }

            foreach (var stream in beyond)
            {
                var (status, fields) = await stream.ReadAnswerAsync();
                Assert.Equal((503, error), (status, fields["tunnel2-error"].Single()));
            }

            _release.Set(int.MaxValue);
            for (var i = 0; i < 2; i++)
            {
                Assert.Equal(200, (await under[i].ReadAnswerAsync()).Status);
                Assert.Equal($"/{i}", System.Text.Encoding.ASCII.GetString(await under[i].ReadToEndAsync()));
            }

            Assert.Equal(200, (await (await OpenAsync("/next")).ReadAnswerAsync()).Status);
            Assert.Equal((3, null), (_waiting.Value, visitor.GoneAway));

            Task<Http2VisitorStream> OpenAsync(string path) =>
                visitor.OpenAsync(
                    [(":method", "GET"), (":scheme", "http"), (":authority", TunnelFixture.Host), (":path", path)], end: true);
        },
        limitsStreams
            ? new TunnelSetup { Agent = options => options with { MaxStreams = 2, Uplinks = UplinkPolicy.Fixed(1) } }
            : Limited(2, "Timeouts:BackendConnect=1s"));

    private static TunnelSetup Limited(
        int connections, string setting = "Timeouts:BackendConnect=20s", bool trusts = true, int? uplinks = null) => new()
        {
            Settings = [setting],
            Agent = options => options with
            {
                BackendConnections = ConnectionLimit.Fixed(connections),
                TrustsBackend = trusts,
                Uplinks = uplinks is { } number ? UplinkPolicy.Fixed(number) : UplinkPolicy.Auto,
            },
        };

    private async Task AnswerWhenReleasedAsync(RawConnection connection)
    {
        while (true)
        {
            var head = await connection.ReadHeadAsync();
            var served = Interlocked.Increment(ref _served);
            for (var most = Interlocked.Read(ref _mostServed);
                 served > most && Interlocked.CompareExchange(ref _mostServed, served, most) != most;)
            {
                most = Interlocked.Read(ref _mostServed);
            }

            await _release.WaitForAsync(_waiting.Increment());
            Interlocked.Decrement(ref _served);
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {head.Target.Length}\r\n\r\n{head.Target}");
        }
    }
}
