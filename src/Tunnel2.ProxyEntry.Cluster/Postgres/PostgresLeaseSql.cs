namespace Tunnel2.ProxyEntry.Cluster.Postgres;

/// <summary>
/// The statements about values that end by themselves. They are rows of <c>tunnel2_shared</c> in kinds of their own, without a row for the
/// kind; <c>touched_at</c> is when they end.
/// </summary>
internal static class PostgresLeaseSql
{
    /// <summary>The kind of ports that a registration is about to have.</summary>
    public const string Ports = "ports";

    /// <summary>
    /// $1 kind, $2 key, $3 value, $4 how long, $5 whether another's is replaced. Also removes some that ended long ago; two nodes never
    /// wait for each other with that.
    /// </summary>
    public const string Take =
        """
        with swept as (
            delete from tunnel2_shared s using (
                select kind, key from tunnel2_shared
                where kind = $1 and key <> $2 and touched_at < clock_timestamp() - interval '1 minute' limit 100
                for update skip locked) o
            where s.kind = o.kind and s.key = o.key
        )
        insert into tunnel2_shared as t (kind, key, version, value, changed_at, touched_at)
        values ($1, $2, nextval('tunnel2_epochs'), $3, clock_timestamp(), clock_timestamp() + $4)
        on conflict (kind, key) do update set version = excluded.version, value = excluded.value, changed_at = clock_timestamp(),
            touched_at = clock_timestamp() + $4
        where $5 or t.value = excluded.value or t.touched_at <= clock_timestamp()
        returning true
        """;

    /// <summary>$1 kind, $2 key.</summary>
    public const string Find = "select value from tunnel2_shared where kind = $1 and key = $2 and touched_at > clock_timestamp()";

    /// <summary>$1 kind, $2 key, $3 value.</summary>
    public const string Release = "delete from tunnel2_shared where kind = $1 and key = $2 and value = $3";
}
