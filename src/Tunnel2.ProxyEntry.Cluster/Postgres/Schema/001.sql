-- Who lives: one row for each node. A lease that was lost never comes back; the next has another incarnation.
create table if not exists tunnel2_nodes (
    node text primary key,
    process uuid not null,
    incarnation bigint not null,
    link_address text not null,
    version text not null,
    lease_until timestamptz not null,
    joined_at timestamptz not null
);

-- Epochs and incarnations. A number is never given twice, also not after an older copy was put back: see tunnel2_raise.
create sequence if not exists tunnel2_epochs as bigint;

-- Who owns what. state: 0 online, 1 handing over, 2 left. Digests cannot be turned back into identities.
create table if not exists tunnel2_names (
    name text primary key,
    node text not null,
    incarnation bigint not null,
    epoch bigint not null,
    identity bytea not null,
    owner bytea not null,
    instance bytea not null,
    weight integer not null,
    state smallint not null,
    kept_until timestamptz not null
);

create index if not exists tunnel2_names_of_node on tunnel2_names (node, incarnation, epoch);

-- Volatile and not inlined: it sees what was committed until now, not until the statement around it began.
create or replace function tunnel2_lives(the_node text, the_incarnation bigint) returns boolean
language plpgsql volatile as $$
begin
    return exists (
        select from tunnel2_nodes n
        where n.node = the_node and n.incarnation = the_incarnation and n.lease_until > clock_timestamp());
end $$;

-- Lets epochs go on above the floor, and above all from before a copy was made: they run ahead of the clock.
create or replace function tunnel2_raise(the_floor bigint) returns void
language plpgsql volatile as $$
declare
    wanted bigint := greatest(the_floor, extract(epoch from clock_timestamp())::bigint * 1000000);
begin
    perform pg_advisory_xact_lock(7450217182);
    if (select last_value from tunnel2_epochs) < wanted then
        perform setval('tunnel2_epochs', wanted);
    end if;
end $$;
