-- Names that several sessions share. Nodes of the release before go on with the row of tunnel2_names alone: it is that of a member.
-- They change its epoch and know nothing of "shared", so that what is in tunnel2_members counts only while the two are equal.
alter table tunnel2_names add column if not exists share bytea, add column if not exists shared bigint;

-- One row for each session of such a name. Those of one name have one share: who has another takes the name as a whole, or not at all.
create table if not exists tunnel2_members (
    name text not null,
    member bytea not null,
    node text not null,
    incarnation bigint not null,
    epoch bigint not null,
    identity bytea not null,
    owner bytea not null,
    instance bytea not null,
    share bytea not null,
    pool boolean not null,
    weight integer not null,
    state smallint not null,
    healthy boolean not null,
    kept_until timestamptz not null,
    primary key (name, member)
);

create index if not exists tunnel2_members_of_node on tunnel2_members (node, incarnation, epoch);

-- Who may change names may change these too: nodes may run as a role with few rights.
do $$
declare
    node text;
begin
    for node in
        select distinct g.grantee::text from information_schema.role_table_grants g
        where g.table_schema = current_schema() and g.table_name = 'tunnel2_names' and g.privilege_type = 'UPDATE'
            and g.grantee not in (current_user, 'PUBLIC')
    loop
        execute format('grant select, insert, update, delete on tunnel2_members to %I', node);
    end loop;
end $$;

-- Registers a session by the rules for names that are shared, or where the name is shared until now. The row of tunnel2_names is the lock.
-- outcome: 0 registered, 1 taken, 2 the node has no lease, 3 an agent without a pool has it, 4 a pool has it, 5 a pool with other terms.
create or replace function tunnel2_put(
    the_node text, the_incarnation bigint, the_channel text, the_name text, the_member bytea, the_share bytea, is_pool boolean,
    is_healthy boolean, the_identity bytea, the_owner bytea, the_instance bytea, the_weight integer, the_base bigint,
    is_published boolean)
returns table (name text, outcome integer, epoch bigint, holder text, holder_instance bytea, free_in interval)
language plpgsql volatile as $$
#variable_conflict use_column
declare
    head tunnel2_names;
    present record;
    is_alone boolean;
    next bigint;
    address text;
begin
    select n.link_address into address from tunnel2_nodes n
    where n.node = the_node and n.incarnation = the_incarnation and n.lease_until > clock_timestamp();
    if address is null then
        return query select the_name, 2, null::bigint, null::text, null::bytea, interval '0';
        return;
    end if;

    insert into tunnel2_names as s (name, node, incarnation, epoch, identity, owner, instance, weight, state, kept_until)
    values (the_name, the_node, the_incarnation, 0, the_identity, the_owner, the_instance, the_weight, 2, clock_timestamp())
    on conflict on constraint tunnel2_names_pkey do update set weight = s.weight
    returning s.* into head;
    is_alone := head.share is null or head.shared is distinct from head.epoch;

    for present in
        select head.node, head.incarnation, head.epoch, head.identity, head.owner, head.instance, head.state, head.kept_until,
            false as pool, false as beside
        where is_alone
        union all
        select m.node, m.incarnation, m.epoch, m.identity, m.owner, m.instance, m.state, m.kept_until, m.pool, m.share = the_share
        from tunnel2_members m
        where m.name = the_name and not is_alone and (the_share is null or m.share <> the_share or m.member = the_member)
        order by 7, 3 desc
    loop
        -- A member of its own place takes that anyway, unless it is told later and has moved.
        continue when present.beside and not is_published;
        continue when is_published
            and (present.epoch <= the_base or present.node = the_node and present.incarnation = the_incarnation);
        continue when present.state = 2
            and (present.beside or present.kept_until <= clock_timestamp() or present.owner = the_owner);
        continue when present.state < 2 and not tunnel2_lives(present.node, present.incarnation);
        if not is_published and present.state = 0 and present.owner = the_owner and (present.pool or is_pool) then
            return query select the_name, case when not present.pool then 3 when not is_pool then 4 else 5 end,
                present.epoch, present.node, present.instance, interval '0';
            return;
        end if;

        continue when not is_published and present.state < 2
            and (present.identity = the_identity or present.state = 1 and present.owner = the_owner);
        return query select the_name, 1, present.epoch, present.node, present.instance,
            case when present.state = 2 then greatest(present.kept_until - clock_timestamp(), interval '0') else interval '0' end;
        return;
    end loop;

    next := nextval('tunnel2_epochs');
    if is_alone or head.share is distinct from the_share then
        delete from tunnel2_members m where m.name = the_name;
    end if;

    if the_share is not null then
        insert into tunnel2_members as m (
            name, member, node, incarnation, epoch, identity, owner, instance, share, pool, weight, state, healthy, kept_until)
        values (
            the_name, the_member, the_node, the_incarnation, next, the_identity, the_owner, the_instance, the_share, is_pool, the_weight,
            0, is_healthy, clock_timestamp())
        on conflict on constraint tunnel2_members_pkey do update set node = excluded.node, incarnation = excluded.incarnation,
            epoch = excluded.epoch, identity = excluded.identity, owner = excluded.owner, instance = excluded.instance,
            share = excluded.share, pool = excluded.pool, weight = excluded.weight, state = 0, healthy = excluded.healthy,
            kept_until = excluded.kept_until;
    end if;

    update tunnel2_names s set node = the_node, incarnation = the_incarnation, epoch = next, identity = the_identity,
        owner = the_owner, instance = the_instance, weight = the_weight, state = 0, kept_until = clock_timestamp(), share = the_share,
        shared = case when the_share is not null then next end
    where s.name = the_name;
    perform pg_notify(the_channel, concat_ws(
        E'\n', 0, the_name, the_node, next, address, encode(the_instance, 'hex'), coalesce(encode(the_share, 'hex'), ''),
        coalesce(encode(the_member, 'hex'), ''), is_healthy::integer, the_weight));
    return query select the_name, 0, next, the_node, the_instance, interval '0';
end $$;

-- Changes a member of the node's own. The row of tunnel2_names is then that of a member that serves, the newest one.
create or replace function tunnel2_change(
    the_node text, the_channel text, the_name text, the_epoch bigint, the_state smallint, the_kept interval, is_healthy boolean)
returns void
language plpgsql volatile as $$
#variable_conflict use_column
declare
    head tunnel2_names;
    changed tunnel2_members;
    speaker tunnel2_members;
begin
    select s.* into head from tunnel2_names s where s.name = the_name for update;
    update tunnel2_members m set state = the_state, healthy = is_healthy, kept_until = clock_timestamp() + the_kept
    where m.name = the_name and m.node = the_node and m.epoch = the_epoch
    returning m.* into changed;
    if head.name is null or changed.name is null or head.share is distinct from changed.share or head.shared is distinct from head.epoch
    then
        return;
    end if;

    select m.* into speaker from tunnel2_members m
    where m.name = the_name and m.state < 2 and tunnel2_lives(m.node, m.incarnation)
    order by m.state, m.epoch desc limit 1;
    if speaker.name is null then
        update tunnel2_names s set state = 2,
            kept_until = (select max(m.kept_until) from tunnel2_members m where m.name = the_name and m.state = 2)
        where s.name = the_name and exists (select from tunnel2_members m where m.name = the_name and m.state = 2);
    else
        update tunnel2_names s set node = speaker.node, incarnation = speaker.incarnation, epoch = speaker.epoch,
            shared = speaker.epoch, identity = speaker.identity, owner = speaker.owner, instance = speaker.instance,
            weight = speaker.weight, state = speaker.state, kept_until = speaker.kept_until
        where s.name = the_name;
    end if;

    perform pg_notify(the_channel, concat_ws(
        E'\n', the_state, the_name, the_node, the_epoch, '', encode(changed.instance, 'hex'), encode(changed.share, 'hex'),
        encode(changed.member, 'hex'), is_healthy::integer, changed.weight));
end $$;
