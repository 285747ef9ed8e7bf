using Tunnel2.ProxyEntry.Api;
using Tunnel2.ProxyEntry.Cluster;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.ClusterCalls;
using Tunnel2.ProxyEntry.ClusterView;
using Tunnel2.ProxyEntry.Reload;

namespace Tunnel2.ProxyEntry.Hosting;

/// <summary>The parts of a node of a cluster that speak with other nodes. A server that is none has none of them.</summary>
internal static class NodeLinkServices
{
    /// <summary>Registers them.</summary>
    public static void AddNodeLinks(this IServiceCollection services)
    {
        services.AddSingleton<NodeCertificates>();
        services.AddSingleton<NodeLinkMetrics>();
        services.AddSingleton<NodeHeartbeat>();
        services.AddSingleton<NodeDialer>();
        services.AddSingleton<NodeLinks>();
        services.AddSingleton<NodeLinkListener>();
        services.AddSingleton<LinkFeeds>();
        services.AddSingleton<INodeFeeds>(static provider => provider.GetRequiredService<LinkFeeds>());
        services.AddSingleton<ClusterViewer>();
        services.AddSingleton<ClusterNodes>();
        services.AddSingleton<ClusterFile>();
        services.AddSingleton<ClusterExchanges>();
        services.AddSingleton<ClusterInspections>();
        services.AddSingleton<IClusterApi, ClusterApi>();
        services.AddSingleton<INodeCalls, LinkCalls>();
        services.AddSingleton(
            static provider => new NodeRouter(
                provider.GetRequiredService<NodeLinks>(), provider.GetRequiredService<TimeProvider>(),
                provider.GetService<ISessionLocator>()));
    }

    /// <summary>Begins to listen, where the server is a node.</summary>
    /// <exception cref="IOException">The address is not available, or a file cannot be used.</exception>
    public static void StartNodeLinks(this IServiceProvider services)
    {
        if (services.GetService<NodeLinkListener>() is { } listener)
        {
            listener.Start();

            // Before the node takes part in the cluster: the others learn it with its lease.
            services.GetService<NodeState>()?.SetLinkAddress(listener.Address);
            if (services.GetService<IOtherNodes>() is not null)
            {
                services.GetRequiredService<ClusterViewer>().Start();
            }
        }
    }

    /// <summary>What is read again when its files change.</summary>
    public static IEnumerable<IReloadable> NodeLinkReloadables(this IServiceProvider services) =>
        services.GetService<NodeCertificates>()?.Reloadables ?? [];
}
