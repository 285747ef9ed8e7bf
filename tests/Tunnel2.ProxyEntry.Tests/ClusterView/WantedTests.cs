using Tunnel2.ProxyEntry.ClusterView;

namespace Tunnel2.ProxyEntry.Tests.ClusterView;

public sealed class WantedTests
{
    [Fact]
    public void What_is_wanted_of_all_nodes_is_wanted_of_each()
    {
        var wanted = Wanted.Of(["at.*.session.*.stats", "at.n2.node.load", "cluster.nodes"]);
        Assert.True(wanted.Any);
        Assert.Equal(["session.*.stats"], wanted.For("n1"));
        Assert.Equal(["node.load", "session.*.stats"], wanted.For("n2").Order());
    }

    [Theory]
    [InlineData("at.n1.at.n2.node.stats")]
    [InlineData("at.n1.cluster.nodes")]
    [InlineData("at.n1.>")]
    [InlineData("at.n1.*.stats")]
    [InlineData("at.>")]
    [InlineData("at.n1")]
    public void What_a_node_shows_of_others_is_not_asked_of_any_node(string pattern)
    {
        Assert.Empty(Wanted.Of([pattern]).For("n1"));
    }

    [Fact]
    public void There_is_an_end_of_what_is_asked_of_a_node()
    {
        var many = Enumerable.Range(0, 500).SelectMany(static i => new[] { $"at.n1.session.s{i}.stats", $"at.*.session.s{i}.stats" });
        Assert.InRange(Wanted.Of(many).For("n1").Count, 1, Wanted.MostPatterns);
    }
}
