using Tunnel2.ProxyEntry.Cluster.Diagnostics;
using Tunnel2.ProxyEntry.Cluster.Keeping;
using Tunnel2.ProxyEntry.Cluster.Limits;
using Tunnel2.ProxyEntry.Cluster.Links;
using Tunnel2.ProxyEntry.Cluster.Locating;
using Tunnel2.ProxyEntry.Cluster.Names;
using Tunnel2.ProxyEntry.Cluster.Nodes;
using Tunnel2.ProxyEntry.Cluster.Postgres;
using Tunnel2.ProxyEntry.Cluster.Sharing;
using Tunnel2.ProxyEntry.Cluster.Stores;
using Tunnel2.ProxyEntry.Lifetime;
using Tunnel2.ProxyEntry.Sessions;
using Tunnel2.ProxyEntry.Sharing;

namespace Tunnel2.ProxyEntry.Cluster.Joining;

/// <summary>Registers what makes a process a node of a cluster. Without it the directory is a table of the process.</summary>
internal static class ClusterServices
{
    /// <param name="services">The services.</param>
    /// <param name="database">The connection string.</param>
    /// <param name="facts">What the node says of itself.</param>
    /// <param name="keptFor">How long a name is kept for its owner after the session.</param>
    /// <param name="mostMembers">How many sessions of this node may share a name.</param>
    public static IServiceCollection AddTunnel2Cluster(
        this IServiceCollection services, string database, NodeFacts facts, TimeSpan keptFor, int mostMembers)
    {
        services.AddSingleton(provider => new PostgresStore(
            database, provider.GetRequiredService<ILogger<PostgresStore>>(), timeProvider: provider.GetRequiredService<TimeProvider>()));
        services.AddSingleton<IClusterStore>(static provider => provider.GetRequiredService<PostgresStore>());
        services.AddSingleton<ISharedStore>(static provider => provider.GetRequiredService<PostgresStore>());
        services.AddSingleton<SharedDocuments>();
        services.AddSingleton<ISharedDocuments>(static provider => provider.GetRequiredService<SharedDocuments>());
        services.AddSingleton<ISharedLeases>(static provider => provider.GetRequiredService<SharedDocuments>());
        services.AddSingleton<ITunnelStore>(static provider => provider.GetRequiredService<PostgresStore>());
        services.AddSingleton(provider => new ForeignTunnels(
            provider.GetRequiredService<ITunnelStore>(),
            provider.GetRequiredService<ISharedDocuments>(),
            provider.GetRequiredService<NodeState>(),
            keptFor,
            provider.GetRequiredService<TimeProvider>()));
        services.AddSingleton<IForeignTunnels>(static provider => provider.GetRequiredService<ForeignTunnels>());
        services.AddSingleton(provider => new NodeState(facts, provider.GetRequiredService<TimeProvider>()));
        services.AddSingleton<NameTable>();
        services.AddSingleton<ClusterMetrics>();
        services.AddSingleton(provider => new ClusterDirectory(
            new InMemorySessionDirectory(provider.GetRequiredService<TimeProvider>(), keptFor, mostMembers),
            provider.GetRequiredService<IClusterStore>(),
            provider.GetRequiredService<NodeState>(),
            provider.GetRequiredService<NameTable>(),
            keptFor,
            provider.GetRequiredService<ClusterMetrics>(),
            provider.GetRequiredService<ILogger<ClusterDirectory>>(),
            provider.GetRequiredService<TimeProvider>()));
        services.AddSingleton<ISessionDirectory>(static provider => provider.GetRequiredService<ClusterDirectory>());
        services.AddSingleton<SessionLocator>();
        services.AddSingleton<ISessionLocator>(static provider => provider.GetRequiredService<SessionLocator>());
        services.AddSingleton(provider => new NodeKeeper(
            provider.GetRequiredService<IClusterStore>(),
            provider.GetRequiredService<NodeState>(),
            provider.GetRequiredService<NameTable>(),
            provider.GetRequiredService<ClusterDirectory>(),
            keptFor,
            provider.GetRequiredService<TimeProvider>(),
            provider.GetRequiredService<ILogger<NodeKeeper>>()));
        services.AddSingleton<NodeDrain>();
        services.AddSingleton(static provider => new NodeWatch(
            provider.GetRequiredService<IClusterStore>(),
            provider.GetRequiredService<NodeState>(),
            provider.GetRequiredService<NodeDrain>(),
            provider.GetRequiredService<Readiness>(),
            provider.GetRequiredService<TimeProvider>(),
            provider.GetRequiredService<ILogger<NodeWatch>>(),
            provider.GetService<NodeLinks>() is { } links ? links.ReachesAsync : null));
        services.AddSingleton<IOtherNodes>(static provider => provider.GetRequiredService<NodeWatch>());
        services.AddSingleton(static provider => new SharedLimits(
            provider.GetRequiredService<PostgresStore>().Shares,
            provider.GetRequiredService<NodeState>(),
            provider.GetRequiredService<NameTable>(),
            () => provider.GetRequiredService<NodeWatch>().Known.Count,
            provider.GetRequiredService<ClusterMetrics>(),
            provider.GetRequiredService<TimeProvider>(),
            provider.GetRequiredService<ILogger<SharedLimits>>()));
        services.AddSingleton<ClusterMember>();
        return services;
    }
}
