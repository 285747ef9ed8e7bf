namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <summary>The statements about what nodes share. A change first locks the row of the kind, which has no key.</summary>
internal static class PostgresSharedSql
{
    /// <summary>The text before the kind in a notice that it has changed.</summary>
    public const string SharedNotice = "shared\n";

    /// <summary>
    /// $1 kind, $2 how many documents at most, $3 the version after which a change counts; 0: all, $4 the key after which they begin, $5
    /// how many notes of what was removed. One statement, so that all is of one moment. First comes a row with the number of documents as
    /// its version, their sum and the latest version, then the row of the kind; what was removed has no value. Sum and notes are with the
    /// documents that begin with the first one.
    /// </summary>
    public const string Read =
        $"""
        select * from (
            select '' as key, count(*) filter (where key <> '') as version, null::bytea as value, null::timestamptz as touched_at,
                bit_xor({Mark}) filter (where key <> '') as mark, 0 as part, null::interval as age, coalesce(max(version), 0) as latest
            from tunnel2_shared where kind = $1 and $4 = ''
            union all
            select key, version, value, null, null, 1, null, 0 from tunnel2_shared where kind = $1 and key = ''
            union all (
                select key, version, value, touched_at, {Mark}, 2, clock_timestamp() - touched_at, 0
                from tunnel2_shared where kind = $1 and key collate "C" > $4 and version > $3
                order by key collate "C" limit $2)
            union all (
                select key, version, null, null, null, 3, null, 0 from tunnel2_shared
                where kind = $1 || '{Removed}' and version > $3 and $3 > 0 and $4 = ''
                order by version limit $5)
        ) r order by part, key collate "C"
        """;

    /// <summary>$1 kind, $2 generation: waits for other changes of the kind. No row: the database was emptied.</summary>
    public const string Lock = "select true from tunnel2_shared where kind = $1 and key = '' and value = $2 for update";

    /// <summary>$1 kind, $2 generation: begins the kind. No row: another node was first.</summary>
    public const string Begin =
        """
        insert into tunnel2_shared (kind, key, version, value, changed_at)
        values ($1, '', nextval('tunnel2_epochs'), $2, clock_timestamp())
        on conflict (kind, key) do nothing returning true
        """;

    /// <summary>$1 kind, $2 channel; $3 to $5 arrays: keys, values, moments of use.</summary>
    public const string Fill =
        """
        with put as (
            insert into tunnel2_shared (kind, key, version, value, changed_at, touched_at)
            select $1, w.key, nextval('tunnel2_epochs'), w.value, clock_timestamp(), w.touched
            from unnest($3::text[], $4::bytea[], $5::timestamptz[]) as w(key, value, touched)
            order by w.key on conflict (kind, key) do nothing returning key
        )
        select pg_notify($2, E'shared\n' || $1) where exists (select from put)
        """;

    /// <summary>$1 kind, $2 channel, $3 key, $4 value, $5 how many at most. The number of documents before, and the new version.</summary>
    public const string Add =
        """
        with before as (
            select count(*) as number from tunnel2_shared where kind = $1 and key <> ''
        ), put as (
            insert into tunnel2_shared (kind, key, version, value, changed_at)
            select $1, $3, nextval('tunnel2_epochs'), $4, clock_timestamp() from before b where b.number < $5
            on conflict (kind, key) do nothing returning version
        )
        select (select number from before), (select version from put),
            (select true from tunnel2_shared where kind = $1 and key = $3),
            (select pg_notify($2, E'shared\n' || $1)::text from put)
        """;

    /// <summary>
    /// $1 kind, $2 channel, $3 key, $4 value, $5 how many at most, $6 when it was used or null, $7 the version that is replaced or 0.
    /// Whether there may be one more, and the new version.
    /// </summary>
    public const string Put =
        """
        with before as (
            select count(*) filter (where key not in ('', $3)) as others, max(version) filter (where key = $3) as version
            from tunnel2_shared where kind = $1
        ), put as (
            insert into tunnel2_shared (kind, key, version, value, changed_at, touched_at)
            select $1, $3, nextval('tunnel2_epochs'), $4, clock_timestamp(), coalesce($6, clock_timestamp())
            from before b where b.others < $5 and ($7 = 0 or b.version = $7)
            on conflict (kind, key) do update set version = excluded.version, value = excluded.value,
                changed_at = excluded.changed_at, touched_at = excluded.touched_at
            returning version
        )
        select (select others < $5 from before), (select version from put), (select pg_notify($2, E'shared\n' || $1)::text from put)
        """;

    /// <summary>
    /// $1 kind, $2 channel, $3 key. What was removed is noted for ten minutes, for nodes that read what has changed. As with leases,
    /// <c>touched_at</c> is when a note ends, and some that are over are swept.
    /// </summary>
    public const string Remove =
        $"""
        with gone as (
            delete from tunnel2_shared where kind = $1 and key = $3 and key <> '' returning key
        ), swept as (
            delete from tunnel2_shared where kind = $1 || '{Removed}' and key in (
                select key from tunnel2_shared
                where kind = $1 || '{Removed}' and key <> $3 and touched_at < clock_timestamp() limit 100 for update skip locked)
        ), noted as (
            insert into tunnel2_shared (kind, key, version, value, changed_at, touched_at)
            select $1 || '{Removed}', key, nextval('tunnel2_epochs'), '', clock_timestamp(), clock_timestamp() + interval '10 minutes'
            from gone
            on conflict (kind, key) do update set version = excluded.version, touched_at = excluded.touched_at
        )
        select pg_notify($2, E'shared\n' || $1), key from gone
        """;

    /// <summary>
    /// $1 kind; $2 and $3 arrays: keys, moments. In one order, so that two nodes never wait for each other. Another version, so that other
    /// nodes read it with what has changed.
    /// </summary>
    public const string Touch =
        """
        with wanted as (
            select * from unnest($2::text[], $3::timestamptz[]) as w(key, moment)
        ), locked as (
            select s.key from tunnel2_shared s join wanted w on w.key = s.key
            where s.kind = $1 and s.key <> '' and (s.touched_at is null or s.touched_at < w.moment) order by s.key for update of s
        )
        update tunnel2_shared s set touched_at = w.moment, version = nextval('tunnel2_epochs')
        from wanted w, locked l
        where s.kind = $1 and s.key = w.key and l.key = s.key
        """;

    /// <summary>Ends the kind in which is noted what was removed of a kind.</summary>
    private const string Removed = "-removed";

    /// <summary>A number for one document as it is: another one after each change, and in each other history of the database.</summary>
    private const string Mark = "hash_record_extended((key, version, changed_at), 0)";
}
