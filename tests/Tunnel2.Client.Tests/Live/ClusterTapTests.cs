using Tunnel2.Client.Live;
using Tunnel2.TestUtilities;

namespace Tunnel2.Client.Tests.Live;

/// <summary><c>tunnel2 tap --cluster</c>: the requests of all nodes, through the hub of one.</summary>
public sealed class ClusterTapTests : IAsyncLifetime
{
    private readonly FakeHub _hub = new();
    private readonly WatchedWriter _output = new();
    private readonly WatchedWriter _error = new();
    private readonly CancellationTokenSource _stop = new();

    public ValueTask InitializeAsync() => ValueTask.CompletedTask;

    public async ValueTask DisposeAsync()
    {
        await _stop.CancelAsync();
        await _hub.DisposeAsync();
        await _output.DisposeAsync();
        await _error.DisposeAsync();
        _stop.Dispose();
    }

    [Fact]
    public async Task Requests_of_all_nodes_are_shown_once_each_with_their_node()
    {
        Task<int> running = await StartAsync(isCluster: true);
        await _hub.SayAsync(Requests("at.n1.node.requests", Request("web", "/one", 200, 1)));
        await _hub.SayAsync(Requests("at.n2.node.requests", Request("web", "/two", 502, 2, "backend-refused")));

        // A node sends its last ones again after its feed was interrupted.
        await _hub.SayAsync(Requests("at.n1.node.requests", Request("web", "/one", 200, 1), Request("web", "/three", 404, 3)));
        await _output.WhenAsync(static text => text.Contains("/three", StringComparison.Ordinal));
        await EndAsync(running);

        Assert.Equal(4, _output.Lines.Length);
        Assert.Contains(" web@n1 GET /one 200 ", _output.Lines[0], StringComparison.Ordinal);
        Assert.Contains(" web@n2 GET /two 502 ", _output.Lines[1], StringComparison.Ordinal);
        Assert.EndsWith(" backend-refused", _output.Lines[1], StringComparison.Ordinal);
        Assert.Equal("-- 3 seen, 3 shown, 0 missed --", _output.Lines[3]);
    }

    [Fact]
    public async Task Filters_count_and_json_has_the_node()
    {
        Task<int> running = await StartAsync(isCluster: true, "--status", "5xx", "--json");
        await _hub.SayAsync(Requests(
            "at.n2.node.requests", Request("web", "/fine", 200, 1), Request("web", "/bad", 502, 2, "backend-refused")));
        await _output.WhenAsync(static text => text.Contains("/bad", StringComparison.Ordinal));
        await EndAsync(running);

        Assert.StartsWith(
            """{"type":"request","sequence":1,"node":"n2","session":"web","method":"GET","target":"/bad","status":502,"error":"back""",
            _output.Lines[0], StringComparison.Ordinal);
        Assert.StartsWith("""{"type":"end","seen":2,"shown":1,"missed":0,""", _output.Lines[1], StringComparison.Ordinal);
    }

    [Fact]
    public async Task What_was_left_out_is_counted_and_a_lost_node_is_named()
    {
        Task<int> running = await StartAsync(isCluster: true);
        await _hub.SayAsync(Node("n1", "up", 0));
        await _hub.SayAsync(Node("n1", "up", 5));
        await _hub.SayAsync("""{"type":"gap","dropped":2}""");
        await _hub.SayAsync("""{"type":"message","channel":"at.n1.node.requests","key":"0","data":{"requests":[],"skipped":7}}""");
        await _hub.SayAsync(Node("n1", "lost", 5));
        await _hub.SayAsync(Node("n2", "older", 0));
        await _error.WhenAsync(static text => text.Contains("node n2: no live view (older release)", StringComparison.Ordinal));
        await EndAsync(running);

        Assert.Contains("tunnel2: node n1: lost", _error.Lines);
        Assert.Equal("-- 5 messages of n1 did not come: how many requests they had is unknown --", _output.Lines[0]);
        Assert.Equal("-- 2 messages of the nodes did not come: how many requests they had is unknown --", _output.Lines[1]);
        Assert.Equal("-- 7 missed from 0 on (skipped) --", _output.Lines[2]);
        Assert.Equal("-- 0 seen, 0 shown, 7 missed, and those of 7 messages --", _output.Lines[3]);
    }

    [Fact]
    public async Task A_server_without_a_cluster_shows_its_own()
    {
        Task<int> running = await StartAsync(isCluster: false);
        await _hub.SayAsync(Requests("node.requests", Request("web", "/own", 200, 1)));
        await _output.WhenAsync(static text => text.Contains("/own", StringComparison.Ordinal));
        await EndAsync(running);
        Assert.Contains(" web GET /own 200 ", _output.Lines[0], StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("{}")]
    [InlineData("""{"type":"message","channel":"at.n1.node.requests","key":"0","data":{"requests":[{"session":"web"}]}}""")]
    [InlineData("""{"type":"message","channel":"at.n1.node.requests","key":"0","data":{"requests":7}}""")]
    public async Task Nonsense_ends_the_connection_and_it_is_tried_again(string message)
    {
        Task<int> running = await StartAsync(isCluster: true);
        await _hub.SayAsync(message);
        await _error.WhenAsync(static text => text.Contains("does not understand; trying again", StringComparison.Ordinal));
        await EndAsync(running);
    }

    [Theory]
    [InlineData("only one of them can be given", "--cluster", "a", "--host", "b")]
    [InlineData("--from-oldest", "--cluster", "a", "--from-oldest")]
    [InlineData("would leave this machine unencrypted; --cluster https://", "--cluster", "192.0.2.1", "--token", "t")]
    public void Mistakes_are_named(string expected, params string[] flags)
    {
        var mistakes = new List<string>();
        Assert.Null(new TapCommandLine().Parse(["tap", .. flags], static _ => null, mistakes));
        Assert.Contains(mistakes, mistake => mistake.Contains(expected, StringComparison.Ordinal));
    }

    private async Task<Task<int>> StartAsync(bool isCluster, params string[] flags)
    {
        _hub.Node = isCluster ? "n3" : null;
        Task<int> running = TapCommand.RunAsync(["tap", "--cluster", _hub.Address, .. flags], _output, _error, _stop.Token);
        Assert.Contains("cluster.info", await _hub.ReceiveAsync(), StringComparison.Ordinal);
        foreach (string channel in (string[])(isCluster ? ["cluster.nodes", "at.*.node.requests"] : ["node.requests"]))
        {
            Assert.Contains($"\"{channel}\"", await _hub.ReceiveAsync(), StringComparison.Ordinal);
        }

        return running;
    }

    private async Task EndAsync(Task<int> running)
    {
        await _stop.CancelAsync();
        Assert.Equal(0, await running.WaitAsync(AsyncCounter.DefaultTimeout, CancellationToken.None));
    }

    private static string Requests(string channel, params string[] requests) =>
        $$$"""{"type":"message","channel":"{{{channel}}}","key":"0","data":{"requests":[{{{string.Join(',', requests)}}}],"skipped":0}}""";

    private static string Request(string session, string target, int status, int stream, string? error = null) =>
        $$"""{"sequence":{{stream}},"session":"{{session}}","method":"GET","target":"{{target}}","status":{{status}},"""
        + (error is null ? "" : $"\"error\":\"{error}\",")
        + "\"startedUs\":1700000000000000,\"queueUs\":1,\"firstByteUs\":2,\"bodyUs\":3,\"totalUs\":4,\"bytesIn\":5,\"bytesOut\":6,"
        + $"\"sessionId\":\"00000000000000ff\",\"uplink\":0,\"stream\":{stream}}}";

    private static string Node(string node, string state, int skipped) =>
        $$$"""{"type":"message","channel":"cluster.nodes","key":"{{{node}}}","data":{"node":"{{{node}}}","state":"{{{state}}}","""
        + $"\"skipped\":{skipped}}}}}";
}
