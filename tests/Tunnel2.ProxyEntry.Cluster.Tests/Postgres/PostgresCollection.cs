namespace Tunnel2.ProxyEntry.Cluster.Tests.Postgres;

/// <summary>Tests that share one server, one after the other: some of them stop it.</summary>
[CollectionDefinition]
public sealed class PostgresCollection : ICollectionFixture<PostgresServer>;
