namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <summary>The statements about nodes alone.</summary>
internal static class PostgresNodeSql
{
    /// <summary>The text before the node in a notice that it should look around.</summary>
    public const string LookNotice = "look\n";

    /// <summary>
    /// $1 node, $2 for how long lost ones count: its own row first, then at most 16 others that live, then at most 16 whose lease is over,
    /// with how long it has been. Last the domain.
    /// Each node has an order of its own, which does not change: those that it announces are others than those of the next node, and stay
    /// the same while they live.
    /// </summary>
    public const string LookAround =
        """
        (select node, link_address, drained, uplink_address, zone, null::interval, domain from tunnel2_nodes
        where lease_until > clock_timestamp() order by node <> $1, md5($1 || E'\n' || node) limit 17)
        union all
        (select node, link_address, drained, uplink_address, zone, clock_timestamp() - lease_until, domain from tunnel2_nodes
        where lease_until <= clock_timestamp() and lease_until > clock_timestamp() - $2 and node <> $1
        order by lease_until desc limit 16)
        """;

    /// <summary>$1 node: all nodes look around, because there is one more.</summary>
    public const string NotifyJoined = "select pg_notify('tunnel2_' || current_schema(), E'look\\n' || $1)";

    /// <summary>$1 node, $2 incarnation: it has left, and all nodes look around.</summary>
    public const string Release =
        """
        with changed as (
            update tunnel2_nodes set lease_until = clock_timestamp() where node = $1 and incarnation = $2 returning node
        )
        select pg_notify('tunnel2_' || current_schema(), E'look\n' || node) from changed
        """;

    /// <summary>$1 node, $2 whether it is out of service. The channel is that of the tables' schema.</summary>
    public const string SetDrained =
        """
        with changed as (
            update tunnel2_nodes set drained = $2 where node = $1 and lease_until > clock_timestamp() returning node
        )
        select pg_notify('tunnel2_' || current_schema(), E'look\n' || node), node from changed
        """;
}
