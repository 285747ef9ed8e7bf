using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Session;
using Tunnel2.Protocol.Handshake;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Session;

/// <summary>Servers that announce nodes which are of no use: few dials, few words, and no harm to the session that there is.</summary>
public sealed class AnnouncedSessionsTests : IDisposable
{
    private static readonly string[] _urls = ["https://web.example.com"];

    private static readonly AgentOptions _options = new()
    {
        Server = new ServerEndpoint("e1.example.com", 12001),
        Upstream = new BackendTarget(false, "127.0.0.1", 3000),
        Tls = new TlsOptions(),
        Name = "web",
    };

    private readonly ManualTimeProvider _clock = new() { SkipsWaits = true };
    private readonly CancellationTokenSource _stop = new();
    private readonly RecordedServers _events = new();
    private readonly List<(TimeSpan At, ServerEndpoint Server)> _dials = [];

    [Fact]
    public async Task Of_eight_nodes_that_do_not_answer_each_gets_a_turn_and_one_is_said()
    {
        await RunAsync(Announce(Enumerable.Range(2, 8)), dials: 64, (options, _) => Unreachable(options));
        Assert.Equal(8, _dials.Take(8).Select(static dial => dial.Server).Distinct().Count());

        // 64 waits of 15 s on average; almost impossible below a third of that.
        Assert.True(_dials[^1].At > TimeSpan.FromMinutes(5), $"{_dials.Count} dials in {_dials[^1].At}");
        Assert.Equal("+e1.example.com -" + _dials[0].Server.Host, Assert.Single(_events.All.Skip(1)));
    }

    [Fact]
    public async Task A_list_that_changes_all_the_time_causes_no_more_dials()
    {
        var next = 10;
        await RunAsync(Announce(Enumerable.Range(2, 8)), dials: 64, (options, given) =>
        {
            // New ids and new ports, of which there are many.
            Assert.Null(given.Welcomed(Welcome(Announce(Enumerable.Range(next += 8, 8)))));
            return Unreachable(options);
        });
        Assert.True(_dials[^1].At > TimeSpan.FromMinutes(5), $"{_dials.Count} dials in {_dials[^1].At}");
        Assert.Single(_events.All.Skip(1));
    }

    [Fact]
    public async Task A_node_that_wants_to_be_left_alone_keeps_the_agent_from_no_other_one()
    {
        await RunAsync(Announce([2, 3]), dials: 20, static (options, _) => options.Server.Host == "e2.example.com"
            ? ConnectionEnd.RejectedForNow(new Rejection(RejectionReason.Busy, "busy", ""), TimeSpan.FromHours(1))
            : Unreachable(options));
        Assert.Equal(1, _dials.Count(static dial => dial.Server.Host == "e2.example.com" && dial.At < TimeSpan.FromHours(1)));
        Assert.True(_dials[18].At < TimeSpan.FromMinutes(20));
    }

    [Fact]
    public async Task Nodes_that_refuse_for_good_are_asked_again_after_a_while()
    {
        await RunAsync(Announce([2]), dials: 4, static (_, _) =>
            ConnectionEnd.RejectedPermanently(new Rejection(RejectionReason.Unauthorized, "unauthorized", "")));
        var between = _dials.Zip(_dials.Skip(1), static (one, next) => next.At - one.At);
        Assert.All(between, static pause => Assert.InRange(pause, KnownNodes.Rest, 2 * KnownNodes.Rest));
        Assert.Single(_events.All.Skip(1));
    }

    [Fact]
    public async Task A_node_that_keeps_saying_that_another_agent_has_the_name_is_asked_less_and_less()
    {
        await RunAsync(Announce([2]), dials: 40, static (_, _) => ConnectionEnd.Superseded(TimeSpan.Zero));
        Assert.True(_dials[^1].At > TimeSpan.FromMinutes(5), $"{_dials.Count} dials in {_dials[^1].At}");
        Assert.DoesNotContain(_events.All, static said => said.StartsWith("ended", StringComparison.Ordinal));
    }

    [Fact]
    public async Task The_uplinks_can_be_looked_at_while_sessions_come_and_go()
    {
        await using var given = await StartAsync(Announce([2]));
        var group = given.Group;
        given.Reports.Uplinks(() =>
        {
            Assert.NotNull(group.TryEnter());
            return new UplinkReading(1, 0, TimeSpan.Zero, TimeSpan.Zero, 0);
        });
        Assert.Equal(1, _events.Read!().Open);
    }

    [Fact]
    public async Task The_refusal_of_the_given_server_is_the_end_and_said_last()
    {
        using var group = new ServerGroup(_options, _events, _stop.Token, _clock);
        var refused = ConnectionEnd.RejectedPermanently(new Rejection(RejectionReason.Unauthorized, "unauthorized", ""));
        var code = await group.RunAsync(
            async (_, events, _, end) =>
            {
                var given = (ServerReports)events;
                given.Welcomed(Welcome(Announce([2])));
                given.Ready(_urls, _options.Upstream);
                await _events.Connected.WaitForAsync(2, cancellationToken: end);
                given.ConnectionEnded(refused);
                return AgentExitCode.Rejected;
            },
            async (_, reports, end) =>
            {
                reports.Welcomed(Welcome(Announce([1], "e2")));
                reports.Ready(_urls, _options.Upstream);
                await EndOf(end);
                return (ConnectionEnd.Stopped(TimeSpan.Zero), Task.CompletedTask);
            }).WaitAsync(AsyncCounter.DefaultTimeout);
        Assert.Equal(AgentExitCode.Rejected, code);
        Assert.Equal("ended " + refused.Message, _events.All[^1]);
    }

    [Fact]
    public async Task A_lost_session_is_made_up_for_within_seconds_while_another_one_serves_and_at_once_when_none_does()
    {
        var clock = new ManualTimeProvider();
        var second = new ServerAccess(new ServerEndpoint("e2.example.com", 12001), _options.Tls, null, false);
        var options = _options with { Further = [second] };
        using var group = new ServerGroup(options, _events, _stop.Token, clock);
        List<ServerReports> given = [];
        var running = group.RunAsync(async (_, events, _, end) =>
        {
            given.Add((ServerReports)events);
            await EndOf(end);
            return AgentExitCode.Stopped;
        });
        given.ForEach(one =>
        {
            Assert.Null(one.Welcomed(Welcome(Announce([3, 4], one.Server.Host[..2]))));
            one.Ready(_urls, _options.Upstream);
        });
        Assert.Null(group.TryEnter());

        given[0].ConnectionEnded(ConnectionEnd.Lost("reset", TimeSpan.FromHours(1)));
        Assert.Null(group.TryEnter());
        Assert.InRange(group.NextIn()!.Value, TimeSpan.FromTicks(1), TimeSpan.FromSeconds(5));
        clock.Advance(group.NextIn()!.Value);
        var (_, first) = group.TryEnter()!.Value;
        Assert.Null(group.TryEnter());

        first.Ready(_urls, _options.Upstream);
        group.Leave(first, ConnectionEnd.Lost("reset", TimeSpan.FromHours(1)));
        Assert.Null(group.TryEnter());
        given[1].ConnectionEnded(ConnectionEnd.Lost("reset", TimeSpan.FromHours(1)));
        Assert.NotNull(group.TryEnter());
        await _stop.CancelAsync();
        await running.WaitAsync(AsyncCounter.DefaultTimeout);
    }

    public void Dispose() => _stop.Dispose();

    private static NodeAnnouncement Announce(IEnumerable<int> nodes, string from = "e1") =>
        new(from, "a", [.. nodes.Select(static one => new AnnouncedNode($"e{one}", $"e{one}.example.com", 12001, "b"))]);

    private static Task EndOf(CancellationToken token)
    {
        var over = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
        token.UnsafeRegister(static over => ((TaskCompletionSource)over!).TrySetResult(), over);
        return over.Task;
    }

    private static WelcomeMessage Welcome(NodeAnnouncement announcement) => new()
    {
        SessionId = new byte[WelcomeMessage.SessionIdLength],
        JoinSecret = new byte[WelcomeMessage.JoinSecretLength],
        Name = "web",
        PublicUrls = _urls,
        Announcement = announcement,
    };

    private static ConnectionEnd Unreachable(AgentOptions options) =>
        ConnectionEnd.Unreachable(ConnectFailure.Create(options.Server, ConnectFailureReason.TimedOut));

    /// <summary>Runs one place for sessions with announced nodes until there were so many dials.</summary>
    private async Task RunAsync(NodeAnnouncement announcement, int dials, Func<AgentOptions, ServerReports, ConnectionEnd> answer)
    {
        await using var given = await StartAsync(announcement);
        await new AnnouncedSessions(
            given.Group,
            (options, _, _) =>
            {
                _dials.Add((_clock.Elapsed, options.Server));
                var end = answer(options, given.Reports);
                if (_dials.Count == dials)
                {
                    _stop.Cancel();
                }

                return Task.FromResult((end, Task.CompletedTask));
            },
            _clock).RunAsync(1, _stop.Token).WaitAsync(AsyncCounter.DefaultTimeout);
        Assert.Equal(dials, _dials.Count);
    }

    private async Task<GivenServer> StartAsync(NodeAnnouncement announcement)
    {
        var group = new ServerGroup(_options, _events, _stop.Token, _clock);
        var reports = new TaskCompletionSource<ServerReports>();
        var running = group.RunAsync(async (_, events, _, end) =>
        {
            reports.SetResult((ServerReports)events);
            await EndOf(end);
            return AgentExitCode.Stopped;
        });
        var given = new GivenServer(group, await reports.Task, running, _stop);
        Assert.Null(given.Reports.Welcomed(Welcome(announcement)));
        given.Reports.Ready(_urls, _options.Upstream);
        return given;
    }

    private sealed record GivenServer(
        ServerGroup Group, ServerReports Reports, Task Running, CancellationTokenSource Stop) : IAsyncDisposable
    {
        public async ValueTask DisposeAsync()
        {
            await Stop.CancelAsync();
            await Running;
            Group.Dispose();
        }
    }

    private sealed class RecordedServers : IAgentEvents
    {
        public List<string> All { get; } = [];

        public Func<UplinkReading>? Read { get; private set; }

        public AsyncCounter Connected { get; } = new("servers that are connected");

        public bool WantsRequests => false;

        public void Connecting(ServerEndpoint server)
        {
        }

        public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream)
        {
            All.Add("ready");
            Connected.Increment();
        }

        public void Uplinks(Func<UplinkReading> read) => Read = read;

        public void Servers(IReadOnlyList<ServerStatus> servers)
        {
            All.Add(string.Join(' ', servers.Select(static one => (one.IsConnected ? "+" : "-") + one.Server.Host)));
            if (servers.Count(static one => one.IsConnected) == 2)
            {
                Connected.Increment();
            }
        }

        public void ConnectionEnded(ConnectionEnd end) => All.Add("ended " + end.Message);

        public void Reconnecting(TimeSpan delay)
        {
        }

        public void Draining()
        {
        }

        public void Stopped()
        {
        }

        public void RequestCompleted(RequestSummary request)
        {
        }
    }
}
