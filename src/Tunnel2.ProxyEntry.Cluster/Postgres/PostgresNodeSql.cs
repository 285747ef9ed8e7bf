namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <summary>The statements about nodes alone.</summary>
internal static class PostgresNodeSql
{
    /// <summary>What stands before the node in a notice that it should look around.</summary>
    public const string LookNotice = "look\n";

    /// <summary>$1 node: its own row first, then at most 16 others.</summary>
    public const string LookAround =
        """
        select node, link_address, drained, uplink_address, zone from tunnel2_nodes
        where lease_until > clock_timestamp() order by node <> $1, random() limit 17
        """;

    /// <summary>$1 node: all nodes look around, since there is one more.</summary>
    public const string TellJoined = "select pg_notify('tunnel2_' || current_schema(), E'look\\n' || $1)";

    /// <summary>$1 node, $2 whether it is out of service. The channel is that of the tables' schema.</summary>
    public const string SetDrained =
        """
        with changed as (
            update tunnel2_nodes set drained = $2 where node = $1 and lease_until > clock_timestamp() returning node
        )
        select pg_notify('tunnel2_' || current_schema(), E'look\n' || node), node from changed
        """;
}
