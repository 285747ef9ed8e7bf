namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <summary>The statements about limits that nodes share. Groups are the shares of <c>tunnel2_members</c>.</summary>
internal static class PostgresShareSql
{
    /// <summary>
    /// A crash of the database may lose what was decided a moment before, so no commit waits for the disk. A node that stops in the
    /// middle of it holds up no other node for longer than a second.
    /// </summary>
    public const string Settings =
        """
        select set_config('synchronous_commit', 'off', true), set_config('idle_in_transaction_session_timeout', '1000', true)
        """;

    /// <summary>$1 names. One node after the other; always in one order, so that two nodes never wait for each other.</summary>
    public const string Lock =
        """
        select pg_advisory_xact_lock(7450217, b.number)
        from (select distinct hashtext(n) & 63 as number from unnest($1::text[]) n order by 1 offset 0) b
        """;

    /// <summary>$1 names, $2 groups, $3 how long a row is of use after its time.</summary>
    public const string Read =
        """
        select w.position, s.node, s.demand, s.part, least(s.kept_until, clock_timestamp() + interval '1 hour') - clock_timestamp()
        from unnest($1::text[], $2::bytea[]) with ordinality as w(name, share, position)
        join tunnel2_shares s on s.name = w.name and s.share = w.share
        where s.kept_until > clock_timestamp() - $3::interval
        """;

    /// <summary>The same parameters: the nodes that have sessions, and how long their leases last. A lease may be over.</summary>
    public const string Leases =
        """
        select m.position, n.node, least(n.lease_until, clock_timestamp() + interval '1 hour') - clock_timestamp()
        from (
            select distinct w.position, m.node, m.incarnation
            from unnest($1::text[], $2::bytea[]) with ordinality as w(name, share, position)
            join tunnel2_members m on m.name = w.name and m.share = w.share and m.state < 2
        ) m
        join tunnel2_nodes n on n.node = m.node and n.incarnation = m.incarnation and n.lease_until > clock_timestamp() - $3::interval
        """;

    /// <summary>$1 node, $2 time; $3 to $6 arrays: names, groups, demands, parts.</summary>
    public const string Write =
        """
        insert into tunnel2_shares as s (name, node, share, demand, part, kept_until)
        select w.name, $1, w.share, w.demand, w.part, clock_timestamp() + $2
        from unnest($3::text[], $4::bytea[], $5::double precision[], $6::double precision[]) as w(name, share, demand, part)
        on conflict (name, node) do update set share = excluded.share, demand = excluded.demand, part = excluded.part,
            kept_until = excluded.kept_until
        """;

    /// <summary>$1 node, $2 names: it needs no part.</summary>
    public const string Remove = "delete from tunnel2_shares where node = $1 and name = any($2)";

    /// <summary>
    /// What no node counts on any more, and what was written before the database's clock was set back: a node that lives writes it again.
    /// </summary>
    public const string Tidy =
        """
        delete from tunnel2_shares
        where kept_until not between clock_timestamp() - interval '10 minutes' and clock_timestamp() + interval '1 minute'
        """;
}
