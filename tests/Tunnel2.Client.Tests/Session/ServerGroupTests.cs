using Tunnel2.Client.Core.Configuration;
using Tunnel2.Client.Core.Diagnostics;
using Tunnel2.Client.Core.Events;
using Tunnel2.Client.Core.Session;

namespace Tunnel2.Client.Tests.Session;

/// <summary>Sessions with several servers look like one tunnel.</summary>
public sealed class ServerGroupTests
{
    private static readonly BackendTarget _upstream = new(false, "127.0.0.1", 3000);
    private static readonly string[] _url = ["https://web.example.com"];

    [Fact]
    public async Task Public_urls_are_shown_once_and_a_server_that_is_lost_is_no_end_while_another_one_is_connected()
    {
        var said = new Said();
        await RunAsync(said, new AgentOptions { Upstream = _upstream }, (one, other) =>
        {
            one.Connecting(one.Server);
            other.Connecting(other.Server);
            one.Ready(_url, _upstream);
            other.Ready(_url, _upstream);
            one.ConnectionEnded(ConnectionEnd.Lost("it broke", TimeSpan.FromSeconds(1)));
            one.Reconnecting(TimeSpan.FromSeconds(1));
            one.Ready(_url, _upstream);
            other.Draining();
        });
        Assert.Equal(
            [
                "connecting", "ready https://web.example.com", "+one -two", "+one +two", "-one (it broke) +two", "+one +two",
                "+one -two (The server is stopping.)", "stopped",
            ],
            said.All);
    }

    [Fact]
    public async Task The_last_one_that_is_lost_is_an_end_and_the_next_one_is_ready_again()
    {
        var said = new Said();
        await RunAsync(said, new AgentOptions { Upstream = _upstream }, (one, other) =>
        {
            one.Ready(_url, _upstream);
            one.ConnectionEnded(ConnectionEnd.Lost("it broke", TimeSpan.FromSeconds(1)));
            one.Reconnecting(TimeSpan.FromSeconds(1));
            other.Ready(_url, _upstream);
        });
        Assert.Equal(
            [
                "ready https://web.example.com", "+one -two", "ended it broke", "reconnecting", "ready https://web.example.com",
                "-one (it broke) +two", "stopped",
            ],
            said.All);
    }

    [Fact]
    public async Task Servers_of_two_clusters_show_both_urls()
    {
        var said = new Said();
        await RunAsync(said, new AgentOptions { Upstream = _upstream }, (one, other) =>
        {
            one.Ready(_url, _upstream);
            other.Ready(["https://web.example.net"], _upstream);
        });
        Assert.Equal("ready https://web.example.com https://web.example.net", said.All[2]);
        Assert.Equal("+one +two (it is of another cluster than one:12001, and has a public URL of its own)", said.All[3]);
    }

    [Fact]
    public async Task Nodes_that_differ_in_their_ports_show_the_url_once_and_attempts_that_fail_alike_are_said_once()
    {
        var said = new Said();
        var failure = ConnectionEnd.Unreachable(ConnectFailure.Create(new ServerEndpoint("two", 12001), ConnectFailureReason.Refused));
        await RunAsync(said, new AgentOptions { Upstream = _upstream }, (one, other) =>
        {
            one.Ready(["https://web.example.com:12443"], _upstream);
            other.Ready(["https://web.example.com:13443"], _upstream);
            for (var i = 0; i < 3; i++)
            {
                other.ConnectionEnded(failure);
            }
        });
        Assert.Equal(
            "ready https://web.example.com:12443",
            Assert.Single(said.All, static line => line.StartsWith("ready", StringComparison.Ordinal)));
        Assert.Single(said.All, line => line.Contains("-two (" + failure.Message, StringComparison.Ordinal));
    }

    [Fact]
    public async Task The_agent_ends_when_it_reaches_none_and_not_when_it_reaches_one()
    {
        var failure = ConnectionEnd.Unreachable(
            ConnectFailure.Create(new ServerEndpoint("one", 12001), ConnectFailureReason.Refused));
        var options = new AgentOptions { Upstream = _upstream, ExitOnFailure = true };
        Assert.Equal(AgentExitCode.Stopped, await RunAsync(new Said(), options, (one, other) =>
        {
            one.ConnectionEnded(failure);
            other.Ready(_url, _upstream);
            one.ConnectionEnded(failure);
        }));
        Assert.Equal(AgentExitCode.ServerUnreachable, await RunAsync(new Said(), options, (one, other) =>
        {
            one.ConnectionEnded(failure);
            other.ConnectionEnded(failure);
        }));
    }

    [Fact]
    public void Each_server_has_options_of_its_own()
    {
        var input = new AgentOptionsInput().Give("<upstream>", "3000").Give("--server", "127.0.0.1, e2.example.com\nwss://e3.example.com");
        var options = AgentOptionsParser.Parse(input).Options!;
        Assert.Equal("127.0.0.1:12001", options.Server.ToString());
        Assert.Null(options.Tls);
        Assert.Equal(["e2.example.com:12001", "e3.example.com:443"], options.Further.Select(static one => one.Server.ToString()));
        var third = options.Further[1].Apply(options);
        Assert.Equal((UplinkWay.WebSocket, 443, true), (third.Uplink, third.PublicPort, third.Tls is not null));
        Assert.Equal(UplinkWay.Auto, options.Further[0].Apply(options).Uplink);
    }

    [Theory]
    [InlineData("a,b,c,d,e", "5 servers")]
    [InlineData("a,b,a:12001", "given twice")]
    [InlineData("a,tcp://b:x", "not a port")]
    public void Mistakes_in_a_list_of_servers_are_reported(string servers, string words)
    {
        var result = AgentOptionsParser.Parse(new AgentOptionsInput().Give("<upstream>", "3000").Give("--server", servers));
        Assert.Null(result.Options);
        Assert.Contains(
            result.Mistakes, mistake => mistake.Flag == "--server" && mistake.Message.Contains(words, StringComparison.Ordinal));
    }

    private static async Task<int> RunAsync(Said said, AgentOptions options, Action<ServerReports, ServerReports> script)
    {
        using var stop = new CancellationTokenSource();
        options = options with
        {
            Server = new ServerEndpoint("one", 12001),
            Further = [new ServerAccess(new ServerEndpoint("two", 12001), null, null, IsWebSocket: false)],
        };
        using var group = new ServerGroup(options, said, stop.Token);
        var both = new List<ServerReports>();
        var running = group.RunAsync((_, events, _, end) =>
        {
            both.Add((ServerReports)events);
            var over = new TaskCompletionSource<int>(TaskCreationOptions.RunContinuationsAsynchronously);
            end.UnsafeRegister(_ => over.TrySetResult(AgentExitCode.Stopped), null);
            return over.Task;
        });
        script(both[0], both[1]);
        if (said.All is not [.., var last] || !last.StartsWith("ended", StringComparison.Ordinal) || !options.ExitOnFailure)
        {
            await stop.CancelAsync();
        }

        return await running.WaitAsync(TimeSpan.FromSeconds(60));
    }

    private sealed class Said : IAgentEvents
    {
        public List<string> All { get; } = [];

        public bool WantsRequests => false;

        public void Connecting(ServerEndpoint server) => All.Add("connecting");

        public void Ready(IReadOnlyList<string> publicUrls, BackendTarget upstream) => All.Add($"ready {string.Join(' ', publicUrls)}");

        public void Servers(IReadOnlyList<ServerStatus> servers) => All.Add(string.Join(' ', servers.Select(
            static one => $"{(one.IsConnected ? '+' : '-')}{one.Server.Host}{(one.Message is { } why ? $" ({why})" : "")}")));

        public void ConnectionEnded(ConnectionEnd end) => All.Add($"ended {end.Message}");

        public void Reconnecting(TimeSpan delay) => All.Add("reconnecting");

        public void Draining() => All.Add("draining");

        public void Stopped() => All.Add("stopped");

        public void RequestCompleted(RequestSummary request)
        {
        }
    }
}
