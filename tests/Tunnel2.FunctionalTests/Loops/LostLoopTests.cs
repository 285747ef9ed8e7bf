using Microsoft.Extensions.Logging;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.FunctionalTests.Harness.Http2;
using Tunnel2.TestUtilities;
using Tunnel2.Transport.Epoll;

namespace Tunnel2.FunctionalTests.Loops;

/// <summary>An event loop hangs or dies: what it costs, who notices, and what continues.</summary>
public sealed class LostLoopTests
{
    private const int Hangs = 2218;
    private const int IsBack = 2219;
    private const int Died = 2220;

    private static readonly TimeSpan _limit = TimeSpan.FromSeconds(30);

    [Fact]
    public Task A_loop_that_hangs_is_given_up_and_serves_again_when_it_comes_back() => RunAsync(async (entry, time, backend) =>
    {
        await using var web = await MovingVisitorTests.AgentAsync(entry, backend, "web");
        await using var other = await MovingVisitorTests.AgentAsync(entry, backend, "other");
        var lost = LoopVisitors.LoopOf(entry, "web");
        var peers = await Peers.OpenAsync(entry, lost);
        Assert.Equal("200 ready", await ReadyAsync(entry));
        await using (await HeldLoop.HoldAsync(lost))
        {
            await UntilAsync(entry, time, "503 event loop 0 hangs");
            await peers.AssertAsync(entry, backend, lost, web);
            await WaitSignal.UntilAsync(() => lost.HandleCount == 2, "only the listeners are left on the loop", _limit);
            Assert.Contains("tunnel2_entry_engine_loops_failed{state=\"hung\"} 1\n", LoopVisitors.Metrics(entry), StringComparison.Ordinal);
            time.Advance(TimeSpan.FromSeconds(3));
        }

        await UntilAsync(entry, time, "200 ready");
        Assert.Contains("tunnel2_entry_engine_loops_failed{state=\"hung\"} 0\n", LoopVisitors.Metrics(entry), StringComparison.Ordinal);
        Assert.Equal([Hangs, IsBack], LoopEvents(entry));

        // It accepts, and gets uplinks, as before.
        await using var visitor = await LoopVisitors.OnAsync(entry, lost, () => RawHttpClient.ConnectAsync(entry.Http));
        await LoopVisitors.ExchangeAsync(visitor, "/back", "other.localhost");
        await AssertUplinksAsync(entry, backend, loops => Assert.Contains(lost, loops));
        await peers.DisposeAsync();
    });

    [Fact]
    public Task A_loop_that_dies_takes_only_its_own_connections_along() => RunAsync(async (entry, time, backend) =>
    {
        await using var web = await MovingVisitorTests.AgentAsync(entry, backend, "web");
        await using var other = await MovingVisitorTests.AgentAsync(entry, backend, "other");
        var lost = LoopVisitors.LoopOf(entry, "web");
        var peers = await Peers.OpenAsync(entry, lost);
        LoopFault.TakeAway(lost);
        await peers.AssertAsync(entry, backend, lost, web);
        await UntilAsync(entry, time, "503 event loop 0 has died: restart the process");
        await WaitSignal.UntilAsync(() => lost.HandleCount == 0, "nothing is left on the loop", _limit);
        Assert.Contains("tunnel2_entry_engine_loops_failed{state=\"dead\"} 1\n", LoopVisitors.Metrics(entry), StringComparison.Ordinal);
        time.Advance(TimeSpan.FromSeconds(10));
        Assert.Equal([Died], LoopEvents(entry));
        await AssertUplinksAsync(entry, backend, loops => Assert.DoesNotContain(lost, loops));
        await peers.DisposeAsync();
    });

    [Fact]
    public Task A_clock_that_jumps_is_no_hang() => RunAsync(async (entry, time, backend) =>
    {
        await using var web = await MovingVisitorTests.AgentAsync(entry, backend, "web");
        for (var i = 0; i < 50; i++)
        {
            // Less than what ends an uplink, more than a loop has.
            time.Advance(TimeSpan.FromSeconds(9));
            Assert.Equal("200 ready", await ReadyAsync(entry));
        }

        Assert.Empty(LoopEvents(entry));
    });

    private static async Task RunAsync(Func<EntryFixture, ManualTimeProvider, RawTcpServer, Task> test)
    {
        MovingVisitorTests.SkipWithoutLoops();
        var time = new ManualTimeProvider();
        await using var backend = RawTcpServer.Start(LoopVisitors.ServeAsync);
        using var certificate = TestCertificate.Create();
        await using var entry = await EntryFixture.StartAsync(
            time, LoopVisitors.Three, "Public:HttpsListen=127.0.0.1:0", $"Public:Certificate={certificate.File}");

        // In any state: a test that fails must not hang.
        await using var passing = new Timer(_ => time.Advance(TimeSpan.FromSeconds(1)), null, Timeout.InfiniteTimeSpan, TimeSpan.Zero);
        try
        {
            await test(entry, time, backend);
        }
        finally
        {
            passing.Change(TimeSpan.Zero, TimeSpan.FromMilliseconds(20));
            await entry.StopAsync();
        }

        Assert.DoesNotContain(entry.Log.All, static line => line.Level >= LogLevel.Error && line.EventId is not (Hangs or Died or 2215));
    }

    /// <summary>Lets time pass until readiness has these words; every loop has real time to answer in between.</summary>
    private static async Task UntilAsync(EntryFixture entry, ManualTimeProvider time, string readiness)
    {
        // Not faster: idle visitors have limits on the same clock.
        using var pace = new PeriodicTimer(TimeSpan.FromMilliseconds(5));
        var start = TimeProvider.System.GetTimestamp();
        string now;
        while ((now = await ReadyAsync(entry)) != readiness)
        {
            Assert.True(TimeProvider.System.GetElapsedTime(start) < _limit, now);
            time.Advance(TimeSpan.FromMilliseconds(20));
            await pace.WaitForNextTickAsync();
        }
    }

    private static async Task<string> ReadyAsync(EntryFixture entry)
    {
        await using var admin = await RawHttpClient.ConnectAsync(entry.Admin);
        var (head, body) = await admin.ExchangeAsync("/health/ready");
        return $"{head.StatusCode} {body.Text().TrimEnd()}";
    }

    private static IEnumerable<int> LoopEvents(EntryFixture entry) =>
        entry.Log.All.Select(static line => line.EventId).Where(static id => id is Hangs or IsBack or Died);

    /// <summary>Six more sessions, and where their uplinks are.</summary>
    private static async Task AssertUplinksAsync(EntryFixture entry, RawTcpServer backend, Action<EpollLoop[]> check)
    {
        var agents = new List<AgentFixture>();
        for (var i = 0; i < 6; i++)
        {
            agents.Add(await MovingVisitorTests.AgentAsync(entry, backend, $"more{i}"));
            await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
            await LoopVisitors.ExchangeAsync(visitor, "/more", $"more{i}.localhost");
        }

        check([.. Enumerable.Range(0, 6).Select(i => LoopVisitors.LoopOf(entry, $"more{i}"))]);
        foreach (var agent in agents)
        {
            await agent.DisposeAsync();
        }
    }

    /// <summary>Who is there when a loop is lost: visitors on it, by plain HTTP, TLS and HTTP/2, and beside it.</summary>
    private sealed class Peers : IAsyncDisposable
    {
        private RawHttpClient _onIt = null!;
        private RawHttpClient _onItByTls = null!;
        private RawHttpClient _beside = null!;
        private Http2Visitor _crossing = null!;
        private Http2VisitorStream _underWay = null!;

        public static async Task<Peers> OpenAsync(EntryFixture entry, EpollLoop lost)
        {
            var beside = LoopVisitors.LoopOf(entry, "other");
            Assert.NotSame(lost, beside);
            var peers = new Peers
            {
                _onIt = await LoopVisitors.OnAsync(entry, lost, () => RawHttpClient.ConnectAsync(entry.Http)),
                _onItByTls = await LoopVisitors.OnAsync(entry, lost, () => RawHttpClient.ConnectTlsAsync(entry.Https, TunnelFixture.Host)),
                _beside = await LoopVisitors.OnAsync(entry, beside, () => RawHttpClient.ConnectAsync(entry.Http)),
                _crossing = await LoopVisitors.OnAsync(entry, beside, () => Http2Visitor.ConnectAsync(entry.Http, isTls: false)),
            };
            await LoopVisitors.ExchangeAsync(peers._onIt, "/1");
            await LoopVisitors.ExchangeAsync(peers._onItByTls, "/2");
            await LoopVisitors.ExchangeAsync(peers._beside, "/3", "other.localhost");
            peers._underWay = await peers.AskAsync("/wait");
            await WaitSignal.UntilAsync(
                () => entry.Directory.Snapshot().Sum(static session => session.Tunnel.OpenStreams) == 1, "a request is under way", _limit);
            return peers;
        }

        /// <summary>The visitors on it have lost their connection, those beside it are served, and the agent is back on another
        /// loop.</summary>
        public async Task AssertAsync(EntryFixture entry, RawTcpServer backend, EpollLoop lost, AgentFixture agent)
        {
            Assert.NotEqual(ConnectionEnding.Open, await _onIt.WaitForEndAsync().WaitAsync(_limit));
            Assert.NotEqual(ConnectionEnding.Open, await _onItByTls.WaitForEndAsync().WaitAsync(_limit));
            await LoopVisitors.ExchangeAsync(_beside, "/4", "other.localhost");
            await agent.Events.ReadyCount.WaitForAsync(2, _limit);
            Assert.NotSame(lost, LoopVisitors.LoopOf(entry, "web"));
            for (var i = 0; i < 20; i++)
            {
                await using var visitor = await RawHttpClient.ConnectAsync(entry.Http);
                await LoopVisitors.ExchangeAsync(visitor, $"/{i}");
            }

            // The connection of HTTP/2 beside it has outlived the uplink that its streams crossed to.
            Assert.Equal(502, (await _underWay.ReadAnswerAsync()).Status);
            Assert.Equal(200, (await (await AskAsync("/5")).ReadAnswerAsync()).Status);
        }

        public async ValueTask DisposeAsync()
        {
            await _onIt.DisposeAsync();
            await _onItByTls.DisposeAsync();
            await _beside.DisposeAsync();
            await _crossing.DisposeAsync();
        }

        private Task<Http2VisitorStream> AskAsync(string path) =>
            _crossing.OpenAsync([(":method", "GET"), (":scheme", "http"), (":authority", TunnelFixture.Host), (":path", path)], end: true);
    }
}
