using System.Diagnostics;
using System.Globalization;
using System.Text.Json;
using Tunnel2.Client.Core.Configuration;
using Tunnel2.FunctionalTests.Harness;
using Tunnel2.TestUtilities;

namespace Tunnel2.FunctionalTests.Uplinks;

/// <summary>What visitors see of faults of one uplink among four. <c>load-tests/uplinks/run.sh</c> runs the same for longer.</summary>
public sealed class UplinkFaultTests
{
    private const int Visitors = 8;
    private const string UplinkLost = "502 uplink-lost";

    private static readonly double _seconds = Number("TUNNEL2_UPLINK_SECONDS", 4);
    private static readonly long _uploadLength = Number("TUNNEL2_UPLOAD_MEGABYTES", 64) * 1_000_000;

    private static readonly TunnelSetup _four = new()
    {
        CanBeCut = true,
        Agent = static options => options with { Uplinks = UplinkPolicy.Fixed(4) },
        Patience = TimeSpan.FromSeconds(40 + (2 * _seconds) + (_uploadLength / 5_000_000)),
    };

    private static SteadyVisitors StartVisitors(TunnelFixture tunnel, int count, string target) =>
        SteadyVisitors.StartInTurn(tunnel.Entry.Http, count, TunnelFixture.Host, target);

    [Fact]
    public Task Of_uplinks_killed_again_and_again_only_requests_under_way_fail() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await UntilFourAsync(tunnel);
            await using var steady = StartVisitors(tunnel, Visitors, "/delay/30");
            await using var lateness = TimerLateness.Watch();
            var cuts = new List<TimeSpan>();
            var random = new Random(4);
            for (var clock = Stopwatch.StartNew(); clock.Elapsed.TotalSeconds < _seconds;)
            {
                // About 250 requests a second: a cut every 200 ms or so.
                await steady.Ended.WaitForAsync(50 * (cuts.Count + 1), TimeSpan.FromSeconds(20));
                var open = tunnel.Link.Connections.Where(static connection => !connection.Closed.IsSet).ToArray();
                cuts.Add(steady.Elapsed);
                open[random.Next(open.Length)].Cut(cuts.Count % 2 == 0 ? CutMode.Fin : CutMode.Reset);
            }

            var requests = await steady.StopAsync();
            var failed = requests.Where(static request => request.Problem is not null).ToList();
            Report($"{cuts.Count} cuts, {requests.Count} requests, {failed.Count} failed");
            Assert.All(failed, static request => Assert.Equal(UplinkLost, request.Problem));
            Assert.All(failed, request => Assert.Contains(cuts, cut => request.WasUnderWayAt(cut, lateness.Longest)));

            // One uplink of four carries a quarter of what is under way, or half while others are being redialled.
            Assert.InRange(failed.Count, 0, cuts.Count * Visitors / 2);
            Assert.Equal(1, tunnel.Agent.Events.ReadyCount.Value);
            Assert.Equal(0, tunnel.Agent.Events.EndCount.Value);
            await UntilFourAsync(tunnel);
        },
        _four);

    [Fact]
    public Task A_black_holed_uplink_is_avoided_once_seen_and_dead_within_fifteen_seconds() => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await UntilFourAsync(tunnel);
            var session = tunnel.Entry.Session.Tunnel;
            await using var steady = StartVisitors(tunnel, Visitors, "/delay/10");
            var uplinks = session.Uplinks;
            var busiest = await BusiestAsync(tunnel, steady);
            await using var lateness = TimerLateness.Watch();
            busiest.BlackHole();
            var swallowed = steady.Elapsed;
            await WaitSignal.UntilAsync(
                () => uplinks.Any(static uplink => uplink.IsStalled(TimeProvider.System.GetTimestamp())), "the stall is seen");
            var seen = steady.Elapsed;
            var stalled = uplinks.Single(static uplink => uplink.IsStalled(TimeProvider.System.GetTimestamp()));
            await tunnel.Entry.UntilAsync(() => !session.Uplinks.Contains(stalled), "it is dead", TimeSpan.FromSeconds(20));
            var dead = steady.Elapsed;
            await UntilFourAsync(tunnel);
            var requests = await steady.StopAsync();
            Report($"seen after {(seen - swallowed).TotalSeconds:0.0} s, dead after {(dead - swallowed).TotalSeconds:0.0} s");

            // What ends with a timer is as late as timers were in that time: once where it happens, once where it is seen.
            var late = 2 * lateness.Longest.TotalSeconds;

            // A request that went in is asked about soon. Where none did, the PING of a silent uplink finds the hole after 5 s, and its
            // answer is missed a second later.
            var wentIn = requests.Where(request => request.Problem is not null && request.Started > swallowed)
                .Select(static request => request.Started).ToList();
            Assert.InRange((seen - swallowed).TotalSeconds, 0, 6.5 + late);
            Assert.InRange(wentIn.Count > 0 ? (seen - wentIn.Min()).TotalSeconds : 0, 0, 4 + late);
            Assert.InRange((dead - swallowed).TotalSeconds, 0, 15.2 + late);
            Assert.All(requests.Where(request => request.Started > seen), request =>
            {
                Assert.Null(request.Problem);
                Assert.InRange(request.Took.TotalSeconds, 0, 1 + late);
            });

            // What had gone into the hole is lost, and nothing else is.
            var failed = requests.Where(static request => request.Problem is not null).ToList();
            Assert.All(failed, request =>
                Assert.True(request.Problem == UplinkLost && request.Started < seen && request.Ended >= dead - TimeSpan.FromSeconds(1)));
            Assert.InRange(failed.Count, 0, Visitors);
            Assert.Equal(1, tunnel.Agent.Events.ReadyCount.Value);
        },
        _four);

    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public Task An_upload_arrives_whole_or_fails_when_two_uplinks_are_killed_and_others_are_unharmed(
        bool ownUplink) => TunnelFixture.RunAsync(
        async tunnel =>
        {
            await UntilFourAsync(tunnel);
            await using var visitor = await tunnel.ConnectAsync();
            await visitor.WriteAsync(
                $"POST /sink?hash=1 HTTP/1.1\r\nHost: {TunnelFixture.Host}\r\nContent-Length: {_uploadLength}\r\n\r\n");
            var uploaded = new AsyncCounter("bytes of the upload");
            var uploading = UploadAsync(visitor, uploaded.Set);
            var cuts = new List<TimeSpan>();
            await using var steady = StartVisitors(tunnel, 4, "/delay/5");
            await using var lateness = TimerLateness.Watch();
            for (var cut = 1; cut <= 2; cut++)
            {
                await Task.WhenAny(uploaded.WaitForAsync((_uploadLength * cut / 3) + 1, _four.Patience), uploading);
                var byLoad = tunnel.Link.Connections.Where(static connection => !connection.Closed.IsSet)
                    .OrderByDescending(static connection => connection.BytesToClient.Value)
                    .ToArray();
                cuts.Add(steady.Elapsed);
                (ownUplink && cut == 2 ? byLoad[0] : byLoad[^1]).Cut(CutMode.Reset);
            }

            var isSent = await uploading;
            var requests = await steady.StopAsync();
            var failed = requests.Where(static request => request.Problem is not null);
            Assert.All(failed, request => Assert.Contains(cuts, cut => request.WasUnderWayAt(cut, lateness.Longest)));
            if (ownUplink)
            {
                // The visitor sees that it failed, and the backend never a whole request.
                if (isSent || visitor.Ending == ConnectionEnding.Open)
                {
                    await AssertFailedAsync(visitor);
                }
            }
            else
            {
                var head = await visitor.ReadHeadAsync();
                var answer = JsonDocument.Parse((await visitor.ReadBodyAsync(head)).Text()).RootElement;
                Assert.Equal(_uploadLength, answer.GetProperty("bytes").GetInt64());
                Assert.Equal(
                    PatternBytes.Sha256Hex(_uploadLength, TestContext.Current.CancellationToken), answer.GetProperty("sha256").GetString());
            }

            await UntilFourAsync(tunnel);
            Assert.Equal(200, (await tunnel.ExchangeAsync("/bytes/1000")).Head.StatusCode);
        },
        _four);

    private static async Task AssertFailedAsync(RawHttpClient visitor)
    {
        try
        {
            Assert.Equal(502, (await visitor.ReadHeadAsync()).StatusCode);
        }
        catch (RawConnectionEndedException)
        {
            // Cut off while it was still sending: the answer was lost with the connection, which is a failure to see all the same.
        }
    }

    /// <summary>Sends a body.</summary>
    /// <returns>Whether all of it was taken.</returns>
    private static async Task<bool> UploadAsync(RawHttpClient visitor, Action<long> progress)
    {
        try
        {
            for (long position = 0; position < _uploadLength;)
            {
                var piece = PatternBytes.Window(position, Math.Min(200_003, _uploadLength - position));
                await visitor.WriteAsync(piece);
                position += piece.Length;
                progress(position);
            }

            return true;
        }
        catch (Exception exception) when (exception is IOException or System.Net.Sockets.SocketException)
        {
            return false;
        }
    }

    /// <summary>The connection that carries most: visitors stay with an uplink, so that another one may have none of them.</summary>
    private static async Task<ProxiedConnection> BusiestAsync(TunnelFixture tunnel, SteadyVisitors visitors)
    {
        await visitors.MoreAsync(100);
        var before = tunnel.Link.Connections.Select(static connection => (connection, connection.BytesToTarget.Value)).ToList();
        await visitors.MoreAsync(100);
        return before.MaxBy(static one => one.connection.BytesToTarget.Value - one.Value).connection;
    }

    private static Task UntilFourAsync(TunnelFixture tunnel) =>
        tunnel.Entry.WaitForUplinksAsync(4, TimeSpan.FromSeconds(35));

    private static int Number(string variable, int normally) =>
        int.Parse(
            Environment.GetEnvironmentVariable(variable) ?? normally.ToString(CultureInfo.InvariantCulture), CultureInfo.InvariantCulture);

    private static void Report(FormattableString text) =>
        TestContext.Current.TestOutputHelper?.WriteLine(text.ToString(CultureInfo.InvariantCulture));
}
