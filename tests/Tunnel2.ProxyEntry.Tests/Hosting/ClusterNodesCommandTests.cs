using System.Text.Json.Nodes;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Hosting;

namespace Tunnel2.ProxyEntry.Tests.Hosting;

public sealed class ClusterNodesCommandTests
{
    [Theory]
    [InlineData("'extra' is too much", "nodes", "extra")]
    [InlineData("'--jsno' is not known, did you mean '--json'?", "status", "--jsno")]
    [InlineData("'--json' is not known", "drain", "e1", "--json")]
    [InlineData("'--undo' is not known", "nodes", "--undo")]
    [InlineData("'cluster drain' needs a node after it; 'cluster nodes' shows them", "drain")]
    [InlineData("'cluster drain' needs a node after it; 'cluster nodes' shows them", "drain", "--undo")]
    [InlineData("'--undoo' is not known, did you mean '--undo'?", "drain", "e1", "--undoo")]
    [InlineData("'e2' is too much", "drain", "e1", "e2")]
    public async Task A_wrong_command_line_is_named_and_followed_by_the_right_one(string mistake, params string[] args)
    {
        var (code, _, error) = await RunAsync(["cluster", .. args]);
        Assert.Equal((2, $"tunnel2-entry: {mistake}\n{EntryHelp.ClusterNodesUsage}"), (code, error.ReplaceLineEndings("\n").Trim()));
    }

    [Fact]
    public async Task A_server_that_is_alone_has_no_nodes()
    {
        var (code, _, error) = await RunAsync("cluster", "nodes");
        Assert.Equal(2, code);
        Assert.Contains("this server is alone", error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_database_that_is_not_there_is_said_without_its_secrets()
    {
        var (code, output, error) = await RunAsync(
            "cluster", "status", "--Tunnel2:Cluster:Database=Host=/nowhere;Username=a;Password=secret");
        Assert.Equal((1, ""), (code, output));
        Assert.Contains("not available", error, StringComparison.Ordinal);
        Assert.DoesNotContain("secret", error, StringComparison.Ordinal);
    }

    [Fact]
    public async Task A_setting_that_is_no_connection_string_is_said_without_its_secrets()
    {
        var (code, _, error) = await RunAsync("cluster", "status", "--Tunnel2:Cluster:Database=Hots=db;Password=secret");
        Assert.Equal(2, code);
        Assert.Contains("Cluster:Database", error, StringComparison.Ordinal);
        Assert.DoesNotContain("secret", error, StringComparison.Ordinal);
    }

    [Fact]
    public void Programs_get_the_nodes_as_JSON()
    {
        NodeStatus[] nodes =
        [
            new("e1", "10.0.0.1:12004", "1.2.3", TimeSpan.FromSeconds(9.44), 3),
            new("e\"2", "", "1.2.3", TimeSpan.FromSeconds(-20), 5),
            new("e3", "10.0.0.3:12004", "1.2.4", TimeSpan.FromSeconds(5), 0, IsDrained: true),
        ];
        using var output = new StringWriter();
        Assert.Equal(0, ClusterNodesCommand.ShowNodes(nodes, isJson: true, output));
        var list = JsonNode.Parse(output.ToString())!.AsArray();
        Assert.Equal(["up", "lost", "drained"], list.Select(static node => (string?)node!["state"]));
        Assert.Equal(["e1", "e\"2", "e3"], list.Select(static node => (string?)node!["node"]));
        Assert.Equal([9.4, -20, 5], list.Select(static node => (double)node!["leaseSeconds"]!));
        Assert.Equal(["10.0.0.1:12004", null, "10.0.0.3:12004"], list.Select(static node => (string?)node!["link"]));
        Assert.Equal([3, 5, 0], list.Select(static node => (int)node!["names"]!));

        output.GetStringBuilder().Clear();
        Assert.Equal(0, ClusterNodesCommand.ShowStatus(nodes, isJson: true, output));
        Assert.Equal("""{"up":2,"lost":1,"names":3}""", output.ToString().Trim());
        Assert.Equal(1, ClusterNodesCommand.ShowStatus([nodes[1]], isJson: true, TextWriter.Null));
    }

    [Fact]
    public void A_node_that_was_lost_is_shown_for_ten_minutes()
    {
        NodeStatus[] nodes =
        [
            new("e1", "", "1", TimeSpan.FromSeconds(9), 3),
            new("e2", "", "1", TimeSpan.FromMinutes(-9.9), 0),
            new("e3", "", "1", TimeSpan.FromMinutes(-10.1), 0),
        ];
        Assert.Equal(["e1", "e2"], ClusterNodesCommand.Shown(nodes).Select(static node => node.Node));
    }

    private static async Task<(int Code, string Output, string Error)> RunAsync(params string[] args)
    {
        Assert.True(ClusterNodesCommand.IsMeant(args));
        using var output = new StringWriter();
        using var error = new StringWriter();
        var code = await ClusterNodesCommand.RunAsync(args, output, error);
        return (code, output.ToString(), error.ToString());
    }
}
