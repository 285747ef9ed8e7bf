using System.Diagnostics.Metrics;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging.Abstractions;
using Tunnel2.Multiplexing.Threading;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Tests.Configuration;
using Tunnel2.TestUtilities;

namespace Tunnel2.ProxyEntry.Tests.Cluster.Links;

/// <summary>Which nodes are remembered.</summary>
public sealed class NodeLinksTests
{
    [Fact]
    public void A_node_that_no_request_needs_any_more_is_forgotten()
    {
        var time = new ManualTimeProvider();
        var faults = new ContainedFaults(time);
        using var services = new ServiceCollection().AddMetrics().BuildServiceProvider();
        using var heartbeat = new NodeHeartbeat(time, faults);
        using var links = new NodeLinks(
            SettingsFixture.LoadValid(), null!, heartbeat, new NodeLinkMetrics(services.GetRequiredService<IMeterFactory>()), time, faults,
            NullLogger<NodeLinks>.Instance);

        // So that no link is dialled.
        links.Stop();
        for (var i = 0; i < 100; i++)
        {
            Assert.False(links.Prepare(new NodeLocation($"n{i}", "127.0.0.1:1", 1)));
        }

        time.Advance(TimeSpan.FromMinutes(9));
        Assert.False(links.Prepare(new NodeLocation("n7", "127.0.0.1:1", 1)));
        Assert.Equal(100, links.Known);
        time.Advance(TimeSpan.FromMinutes(2));
        Assert.Equal(1, links.Known);
        time.Advance(TimeSpan.FromMinutes(9));
        Assert.Equal(0, links.Known);
    }
}
