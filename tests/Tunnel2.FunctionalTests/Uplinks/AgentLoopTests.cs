using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestBackend;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.FunctionalTests.Uplinks;

/// <summary>An agent whose uplinks live on different event loops.</summary>
public sealed class AgentLoopTests
{
    private const int Requests = 60;

    private readonly AsyncCounter _asked = new("requests at the backend");
    private readonly AsyncCounter _answered = new("requests that may be answered");

    [Fact]
    public Task An_agent_has_one_loop_and_one_more_with_each_uplink_that_it_adds() => RunAsync(
        uplinks: 1,
        async tunnel =>
        {
            Assert.Single(Loops(tunnel));
            Assert.Equal(200, (await tunnel.ExchangeAsync("/bytes/1000")).Head.StatusCode);
            Assert.Equal(2, Loops(tunnel)[0].HandleCount);
        });

    [Fact]
    public Task Each_uplink_has_a_loop_with_the_connections_of_its_requests_until_there_may_be_no_more() => RunAsync(
        uplinks: 4,
        async tunnel =>
        {
            await WaitSignal.UntilAsync(() => Loops(tunnel).Sum(static loop => loop.HandleCount) == 4, "four uplinks and nothing else");
            Assert.Equal([2, 1, 1], Loops(tunnel).Select(static loop => loop.HandleCount));
            await ExchangeManyAsync(tunnel);

            // All connections are idle now; each loop had some requests, and keeps what they used.
            Assert.All(Loops(tunnel), static loop => Assert.InRange(loop.HandleCount, 3, Requests));
            Assert.All(tunnel.Entry.Session.Tunnel.Uplinks, static uplink => Assert.InRange(uplink.Streams.Table.Opened, 5, Requests / 2));
        });

    [Theory]
    [InlineData(CutMode.Reset)]
    [InlineData(CutMode.Fin)]
    public Task An_uplink_that_is_lost_takes_its_own_requests_along_and_no_others(CutMode cut) => RunAsync(
        uplinks: 3,
        async tunnel =>
        {
            var exchanges = Enumerable.Range(0, Requests).Select(i => tunnel.ExchangeAsync($"/{i}")).ToArray();
            await _asked.WaitForAsync(Requests);
            var uplinks = tunnel.Entry.Session.Tunnel.Uplinks;
            var lost = uplinks.Sum(static uplink => uplink.OpenStreams);
            tunnel.Link.Connections[1].Cut(cut);
            await tunnel.Entry.UntilAsync(
                () => tunnel.Entry.Session.Tunnel.Uplinks is { Count: 3 } now && !now.SequenceEqual(uplinks), "a new uplink is open");
            lost -= tunnel.Entry.Session.Tunnel.Uplinks.Sum(static uplink => uplink.OpenStreams);
            Assert.InRange(lost, 5, Requests / 2);

            _answered.Set(int.MaxValue);
            var answers = await Task.WhenAll(exchanges);
            Assert.Equal(lost, answers.Count(static answer => answer.Head.StatusCode == 502));
            for (var i = 0; i < Requests; i++)
            {
                Assert.True(answers[i].Head.StatusCode == 502 || answers[i].Body.Text() == $"/{i}");
            }

            // What its requests used is gone, and the new uplink's begin anew.
            Assert.Equal(3, Loops(tunnel).Count);
            answers = await Task.WhenAll(Enumerable.Range(0, Requests).Select(i => tunnel.ExchangeAsync($"/{i}")));
            Assert.Equal(Enumerable.Range(0, Requests).Select(static i => $"/{i}"), answers.Select(static answer => answer.Body.Text()));
        },
        AnswerWhenAllowedAsync);

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Where_connections_are_few_they_serve_the_requests_of_all_loops(bool isHttps)
    {
        await using var backend = await TestBackendServer.StartAsync(new TestBackendOptions { UseTls = isHttps });
        await TunnelFixture.RunAsync(
            backend.Port,
            async tunnel =>
            {
                await UntilAsync(tunnel, 3);
                await ExchangeManyAsync(tunnel);
                await WaitSignal.UntilAsync(
                    () => TestEngine.IsPortable || Loops(tunnel).Sum(static loop => loop.HandleCount) is > 3 and <= 3 + 2,
                    "three uplinks and one or two connections are left on the loops");
            },
            new TunnelSetup
            {
                AgentEngine = static () => TestEngine.CreateGrowing(3),
                Settings = ["Timeouts:BackendConnect=20s"],
                Agent = options => options with
                {
                    Uplinks = UplinkPolicy.Fixed(3),
                    BackendConnections = ConnectionLimit.Fixed(2),
                    Upstream = options.Upstream with { IsHttps = isHttps },
                },
            });
    }

    [Fact]
    public Task An_agent_that_stops_finishes_what_runs_on_every_loop() => RunAsync(
        uplinks: 3,
        async tunnel =>
        {
            var exchanges = Enumerable.Range(0, Requests).Select(i => tunnel.ExchangeAsync($"/{i}")).ToArray();
            await _asked.WaitForAsync(Requests);
            var stopping = tunnel.Agent.StopAsync();
            await tunnel.Agent.Events.DrainingCount.WaitForAsync(1);
            _answered.Set(int.MaxValue);
            var answers = await Task.WhenAll(exchanges);
            Assert.Equal(Enumerable.Range(0, Requests).Select(static i => $"/{i}"), answers.Select(static answer => answer.Body.Text()));
            Assert.Equal(0, await stopping);
            await WaitSignal.UntilAsync(
                () => Loops(tunnel).All(static loop => loop.HandleCount == 0), "nothing is left on the loops");
        },
        AnswerWhenAllowedAsync);

    private static Task RunAsync(int uplinks, Func<TunnelFixture, Task> test, Func<RawConnection, Task>? onConnection = null)
    {
        Assert.SkipWhen(TestEngine.IsPortable, "No loops.");
        var setup = new TunnelSetup
        {
            CanBeCut = true,
            AgentEngine = static () => TestEngine.CreateGrowing(3),
            Agent = options => options with { Uplinks = UplinkPolicy.Fixed(uplinks) },
        };
        return onConnection is null
            ? TunnelFixture.RunAsync(RunWhenReadyAsync, setup)
            : TunnelFixture.RunAsync(onConnection, RunWhenReadyAsync, setup);

        async Task RunWhenReadyAsync(TunnelFixture tunnel)
        {
            await UntilAsync(tunnel, uplinks);
            await test(tunnel);
        }
    }

    private static async Task ExchangeManyAsync(TunnelFixture tunnel)
    {
        var answers = await Task.WhenAll(Enumerable.Range(0, Requests).Select(i => tunnel.ExchangeAsync($"/bytes/{i * 1000}")));
        for (var i = 0; i < Requests; i++)
        {
            Assert.Equal((200, i * 1000), (answers[i].Head.StatusCode, answers[i].Body.Bytes.Length));
            PatternBytes.Verify(answers[i].Body.Bytes, 0);
        }
    }

    private static IReadOnlyList<EpollLoop> Loops(TunnelFixture tunnel) => tunnel.Agent.Engine.Loops;

    private static Task UntilAsync(TunnelFixture tunnel, int uplinks) =>
        tunnel.Entry.WaitForUplinksAsync(uplinks);

    private async Task AnswerWhenAllowedAsync(RawConnection connection)
    {
        while (true)
        {
            var head = await connection.ReadHeadAsync();
            await _answered.WaitForAsync(_asked.Increment());
            await connection.WriteAsync($"HTTP/1.1 200 OK\r\nContent-Length: {head.Target.Length}\r\n\r\n{head.Target}");
        }
    }
}
