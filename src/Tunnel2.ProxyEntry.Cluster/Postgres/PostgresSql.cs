namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <summary>The statements. Every comparison of times is with the clock of the database.</summary>
internal static class PostgresSql
{
    /// <summary>Is the same number for every node: one of them changes the schema.</summary>
    public const long MigrationLock = 7450217181;

    public const string SchemaVersion = "select version, least_node from tunnel2_schema";

    public const string SchemaTable = "select to_regclass('tunnel2_schema')::text";

    /// <summary>How many of the tables and functions of the present version are not there: they were removed by hand.</summary>
    public const string MissingParts =
        """
        select (
            select count(*) from unnest(array['tunnel2_nodes', 'tunnel2_names', 'tunnel2_members', 'tunnel2_shared', 'tunnel2_shares',
                'tunnel2_tunnels', 'tunnel2_epochs']) part where to_regclass(part) is null)
            + (
            select count(*) from unnest(array['tunnel2_lives', 'tunnel2_raise', 'tunnel2_put', 'tunnel2_change']) part
            where to_regproc(part) is null)
        """;

    public const string CreateSchemaTable =
        """
        create table if not exists tunnel2_schema (version integer not null, least_node integer not null, changed_at timestamptz not null)
        """;

    public const string CurrentSchema = "select current_schema()";

    /// <summary>How full the queue of notifications is; what no listener needs any more is freed.</summary>
    public const string QueueUsage = "select pg_notification_queue_usage()";

    /// <summary>$1 a process of this role: whether it works, and does not wait for its client.</summary>
    public const string IsBusy =
        """
        select exists (
            select from pg_stat_activity
            where pid = $1 and usename = current_user and datname = current_database() and wait_event_type is distinct from 'Client')
        """;

    public const string Raise = "select tunnel2_raise($1)";

    /// <summary>$1 node, $2 process, $3 address, $4 version, $5 lease, $6 whether it takes the name from a process that lives.</summary>
    public const string Acquire =
        """
        insert into tunnel2_nodes as n (
            node, process, incarnation, link_address, version, lease_until, joined_at, uplink_address, zone, domain)
        values ($1, $2, nextval('tunnel2_epochs'), $3, $4, clock_timestamp() + $5, clock_timestamp(), $7, $8, $9)
        on conflict (node) do update set process = excluded.process, incarnation = nextval('tunnel2_epochs'),
            link_address = excluded.link_address, version = excluded.version, lease_until = clock_timestamp() + $5,
            joined_at = excluded.joined_at, drained = n.drained and n.process = excluded.process,
            uplink_address = excluded.uplink_address, zone = excluded.zone, domain = excluded.domain
        where $6 or n.process = excluded.process or n.lease_until <= clock_timestamp()
        returning incarnation
        """;

    /// <summary>
    /// $1 node, $2 process, $3 incarnation, $4 lease, $5 address, $6 the highest epoch known, $7 version of the tables that this node
    /// makes: whether the sequence has to be raised; and the version of tables that are for newer nodes only.
    /// </summary>
    public const string Renew =
        """
        update tunnel2_nodes set lease_until = clock_timestamp() + $4, link_address = $5
        where node = $1 and process = $2 and incarnation = $3 and lease_until > clock_timestamp()
        returning (select last_value from tunnel2_epochs) < greatest($6, (extract(epoch from clock_timestamp())::bigint - 60) * 1000000),
            (select max(version) from tunnel2_schema where least_node > $7)
        """;

    /// <summary>$1 node, $2 incarnation, $3 channel; $4 to $9 arrays: names, identities, owners, instances, weights, bases.</summary>
    public const string Claim = Put + "where " + IsAlone + " and (" + Free
        + " or s.state < 2 and (" + Takes + " or not tunnel2_lives(s.node, s.incarnation)))\n"
        + Report;

    /// <summary>The same parameters.</summary>
    public const string Publish = Put + "where " + IsAlone + " and (" + Free
        + " or s.node = excluded.node and s.incarnation = excluded.incarnation"
        + " or s.epoch <= (select w.base from wanted w where w.name = s.name)"
        + " or s.state < 2 and not tunnel2_lives(s.node, s.incarnation))\n"
        + Report;

    /// <summary>
    /// For names that are shared, or were until now. $1 node, $2 incarnation, $3 channel; $4 to $13 arrays: names, members, shares, whether
    /// it is a pool, whether the service works, identities, owners, instances, weights, bases; $14 whether they are published later.
    /// </summary>
    public const string PutShared =
        """
        select p.*, w.position from (
            select * from unnest(
                $4::text[], $5::bytea[], $6::bytea[], $7::boolean[], $8::boolean[], $9::bytea[], $10::bytea[], $11::bytea[],
                $12::integer[], $13::bigint[]) with ordinality
                as w(name, member, share, pool, healthy, identity, owner, instance, weight, base, position)
            order by name, member offset 0
        ) w cross join lateral tunnel2_put(
            $1, $2, $3, w.name, w.member, w.share, w.pool, w.healthy, w.identity, w.owner, w.instance, w.weight, w.base, $14) p
        """;

    /// <summary>
    /// $1 names: why a claim of them was refused. An hour of a time is enough: it may be one that was written by hand.
    /// </summary>
    public const string Holders =
        """
        select name, node, epoch, instance,
            case when state = 2 and kept_until > clock_timestamp()
                then greatest(least(kept_until, clock_timestamp() + interval '1 hour') - clock_timestamp(), interval '0')
                else interval '0' end,
            share is not null and shared = epoch
        from tunnel2_names where name = any($1)
        """;

    /// <summary>$1 name, $2 epoch, $3 owner: how long the lease of the node lasts at which that owner's session is online.</summary>
    public const string LeaseRest =
        """
        select greatest(least(n.lease_until, clock_timestamp() + interval '1 hour') - clock_timestamp(), interval '0') from (
            select node, incarnation, state from tunnel2_names where name = $1 and epoch = $2 and owner = $3
            union all
            select node, incarnation, state from tunnel2_members where name = $1 and epoch = $2 and owner = $3
        ) s join tunnel2_nodes n on n.node = s.node and n.incarnation = s.incarnation
        where s.state = 0 and n.lease_until > clock_timestamp() limit 1
        """;

    /// <summary>$1 node, $2 channel; $3 to $6 arrays: names, epochs, states, times for which they are kept.</summary>
    public const string Change =
        """
        with wanted as (
            select * from unnest($3::text[], $4::bigint[], $5::smallint[], $6::interval[]) as w(name, epoch, state, kept)
        ), locked as (
            select s.name from tunnel2_names s join wanted w on w.name = s.name order by s.name for update of s
        ), changed as (
            update tunnel2_names s set state = w.state, kept_until = clock_timestamp() + w.kept
            from wanted w, locked l
            where s.name = w.name and l.name = s.name and s.node = $1 and s.epoch = w.epoch
                and (s.share is null or s.shared is distinct from s.epoch)
            returning s.name, s.node, s.epoch, s.state, s.instance
        )
        select pg_notify($2, concat_ws(E'\n', c.state, c.name, c.node, c.epoch, '', encode(c.instance, 'hex'))) from changed c
        """;

    /// <summary>For one session of a name that is shared: $1 node, $2 channel, $3 name, $4 epoch, $5 state, $6 time, $7 health.</summary>
    public const string ChangeShared = "select tunnel2_change($1, $2, $3, $4, $5, $6, $7)";

    /// <summary>
    /// $1 name: its sessions at nodes that live, and, without a node, those that are over, with the time for which their agents are
    /// expected back: while the name is kept, and for 10 s after the lease of a node. An hour is enough, as above.
    /// </summary>
    public const string Locate =
        $"""
        select n.node, n.link_address, s.epoch, s.state, s.share, s.member, s.healthy, s.weight,
            greatest(statement_timestamp(), least(statement_timestamp() + interval '1 hour', case
                when s.state = 2 then s.kept_until
                when l.node is null or n.node is not null then statement_timestamp()
                when l.incarnation = s.incarnation then l.lease_until + interval '10 seconds'
                else l.joined_at + interval '10 seconds' end)) - statement_timestamp()
        from ({Sessions}) s
            left join tunnel2_nodes l on l.node = s.node
            left join tunnel2_nodes n
                on n.node = s.node and n.incarnation = s.incarnation and s.state < 2 and n.lease_until > clock_timestamp()
        where s.name = $1
        """;

    /// <summary>$1 name. All sessions of a name that is shared have one owner.</summary>
    public const string FindOwner =
        """
        select owner from (
            select owner, epoch, state from tunnel2_names where name = $1
            union all
            select owner, epoch, state from tunnel2_members where name = $1
        ) s where state < 2 order by epoch desc limit 1
        """;

    public const string Sum =
        $"""
        select count(*), coalesce(sum(epoch % 1000000000000), 0)::bigint from ({Sessions}) s
        where node = $1 and incarnation = $2 and state < 2
        """;

    public const string List =
        $"select name, epoch, share is not null from ({Sessions}) s where node = $1 and incarnation = $2 and state < 2";

    public const string Nodes =
        $"""
        select n.node, n.link_address, n.version,
            least(greatest(n.lease_until, timestamptz 'epoch'), clock_timestamp() + interval '1 hour') - clock_timestamp(),
            (select count(*) from ({Sessions}) s where s.node = n.node and s.incarnation = n.incarnation and s.state < 2),
            n.drained
        from tunnel2_nodes n order by n.node
        """;

    /// <summary>
    /// What was left or lost long ago. A name that was left stays for ten minutes: visitors of any node hear that its agent is away, and no
    /// epoch is given twice.
    /// </summary>
    public const string TidyNames =
        """
        delete from tunnel2_names s where s.name in (
            select name from tunnel2_names t
            where (t.state = 2 and t.kept_until < clock_timestamp() - interval '10 minutes'
                or t.state < 2 and not exists (
                    select from tunnel2_nodes n
                    where n.node = t.node and n.incarnation = t.incarnation and n.lease_until > clock_timestamp() - interval '1 day'))
                and not exists (select from tunnel2_members m where m.name = t.name and t.share = m.share and t.shared = t.epoch)
            limit 1000 for update skip locked)
        """;

    /// <summary>The same for the sessions of shared names. Those of a node that is lost stay as long as the node.</summary>
    public const string TidyMembers =
        """
        delete from tunnel2_members m where (m.name, m.member) in (
            select t.name, t.member from tunnel2_members t
            where t.state = 2 and t.kept_until < clock_timestamp() - interval '10 minutes'
                or not exists (
                    select from tunnel2_nodes n
                    where n.node = t.node and n.incarnation = t.incarnation and n.lease_until > clock_timestamp() - interval '1 day')
                or not exists (select from tunnel2_names s where s.name = t.name)
            limit 1000 for update skip locked)
        """;

    /// <summary>
    /// $1 channel; $2 to $6 arrays: epochs, names, kinds, ports, tokens or null. Other nodes hear of it after the row is there.
    /// </summary>
    public const string NoteTunnels =
        """
        with put as (
            insert into tunnel2_tunnels (epoch, name, kind, port, token)
            select * from unnest($2::bigint[], $3::text[], $4::smallint[], $5::integer[], $6::text[]) on conflict (epoch) do nothing
        )
        select pg_notify($1, E'shared\ntunnels')
        """;

    /// <summary>$1 the node that asks, $2 how many at most.</summary>
    public const string ListTunnels =
        $"""
        select t.name, t.kind, t.port {OfOtherNodes} order by t.epoch limit $2
        """;

    /// <summary>$1 the node that asks, $2 an owner's digest, $3 a token or null: a tunnel of that owner.</summary>
    public const string FindTunnel =
        $"""
        select t.name, t.kind, t.port {OfOtherNodes} and exists (
            select from tunnel2_names h where h.name = t.name and h.owner = $2) and ($3 is null or t.token = $3)
        order by t.epoch limit 1
        """;

    /// <summary>$1 the node that asks, $2 kind, $3 port, $4 name: whether another name has the port at another node.</summary>
    public const string HasPort =
        $"""
        select exists (select {OfOtherNodes} and t.kind = $2 and t.port = $3 and t.name <> $4)
        """;

    /// <summary>What registrations carried that are over.</summary>
    public const string TidyTunnels =
        """
        delete from tunnel2_tunnels t where t.epoch in (
            select o.epoch from tunnel2_tunnels o
            where not exists (select from tunnel2_names s where s.name = o.name and s.epoch = o.epoch)
                and not exists (select from tunnel2_members m where m.name = o.name and m.epoch = o.epoch)
            limit 1000 for update skip locked)
        """;

    public const string TidyNodes = "delete from tunnel2_nodes where lease_until < clock_timestamp() - interval '1 day'";

    /// <summary>$1 the node that asks: the tunnels that others serve.</summary>
    private const string OfOtherNodes =
        $"""
        from tunnel2_tunnels t join ({Sessions}) s on s.name = t.name and s.epoch = t.epoch
            join tunnel2_nodes n on n.node = s.node and n.incarnation = s.incarnation
        where s.state < 2 and s.node <> $1 and n.lease_until > clock_timestamp()
        """;

    /// <summary>What counts: names that one session has for itself, and the sessions of names that are shared.</summary>
    private const string Sessions =
        """
        select s.name, s.node, s.incarnation, s.epoch, s.state, null::bytea as share, null::bytea as member, true as healthy, s.weight,
            s.kept_until
        from tunnel2_names s where s.share is null or s.shared is distinct from s.epoch
        union all
        select m.name, m.node, m.incarnation, m.epoch, m.state, m.share, m.member, m.healthy, m.weight, m.kept_until
        from tunnel2_members m join tunnel2_names s on s.name = m.name and s.share = m.share and s.shared = s.epoch
        """;

    private const string IsAlone = "(s.share is null or s.shared is distinct from s.epoch)";

    private const string Free = "s.state = 2 and (s.kept_until <= clock_timestamp() or s.owner = excluded.owner)";

    private const string Takes = "s.identity = excluded.identity or s.state = 1 and s.owner = excluded.owner";

    /// <summary>The names in one order, so that two nodes never wait for each other.</summary>
    private const string Put =
        """
        with me as (
            select link_address from tunnel2_nodes where node = $1 and incarnation = $2 and lease_until > clock_timestamp()
        ), wanted as (
            select * from unnest($4::text[], $5::bytea[], $6::bytea[], $7::bytea[], $8::integer[], $9::bigint[])
                as w(name, identity, owner, instance, weight, base)
        ), put as (
            insert into tunnel2_names as s (name, node, incarnation, epoch, identity, owner, instance, weight, state, kept_until)
            select w.name, $1, $2, nextval('tunnel2_epochs'), w.identity, w.owner, w.instance, w.weight, 0, clock_timestamp()
            from wanted w, me order by w.name
            on conflict (name) do update set node = excluded.node, incarnation = excluded.incarnation,
                epoch = nextval('tunnel2_epochs'), identity = excluded.identity, owner = excluded.owner,
                instance = excluded.instance, weight = excluded.weight, state = 0, kept_until = excluded.kept_until, share = null,
                shared = null

        """;

    private const string Report =
        """
            returning s.name, s.node, s.epoch, s.instance
        )
        select p.name, p.epoch, exists (select from me),
            pg_notify($3, concat_ws(E'\n', 0, p.name, p.node, p.epoch, (select link_address from me), encode(p.instance, 'hex')))
        from put p
        union all
        select null, null, exists (select from me), null
        """;
}
