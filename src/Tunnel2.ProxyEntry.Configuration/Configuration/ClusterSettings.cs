namespace Tunnel2.ProxyEntry.Configuration;

/// <summary>What makes the process a node of a cluster. Immutable.</summary>
internal sealed class ClusterSettings(SettingsReader read)
{
    /// <summary>The connection string of the database that all nodes share, or null: this process is alone.</summary>
    public string? Database { get; } = read.Secret(
        "Cluster:Database",
        "makes this process a node of a cluster: the connection string (Npgsql) of the PostgreSQL database that all its nodes share, such "
        + "as `Host=db1,db2;Target Session Attributes=primary;Database=tunnel2;Username=tunnel2`; see [the cluster](cluster.md). Without "
        + "it the process is alone. Give it by environment");
}
