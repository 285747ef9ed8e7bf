using Tunnel2.ProxyEntry.Hosting;

namespace Tunnel2.ProxyEntry.Tests.Hosting;

public sealed class ClusterNodesCommandTests
{
    [Theory]
    [InlineData("cluster", "nodes", "extra")]
    [InlineData("cluster", "status", "--json")]
    [InlineData("cluster", "nodes", "--undo")]
    [InlineData("cluster", "drain")]
    [InlineData("cluster", "drain", "--undo")]
    [InlineData("cluster", "drain", "e1", "e2")]
    public async Task A_wrong_command_line_is_followed_by_the_right_one(params string[] args)
    {
        var (code, _, error) = await RunAsync(args);
        Assert.Equal((2, EntryHelp.ClusterNodesUsage), (code, error.Trim()));
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
        Assert.Equal(1, code);
        Assert.Contains("Cluster:Database", error, StringComparison.Ordinal);
        Assert.DoesNotContain("secret", error, StringComparison.Ordinal);
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
