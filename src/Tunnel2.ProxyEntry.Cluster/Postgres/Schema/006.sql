-- What nodes spend of limits that they share: one row for each node and name. Rows are of no use some seconds later, and need no backup.
create table if not exists tunnel2_shares (
    name text not null,
    node text not null,
    share bytea not null,
    demand double precision not null,
    part double precision not null,
    kept_until timestamptz not null,
    primary key (name, node)
);

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
        execute format('grant select, insert, update, delete on tunnel2_shares to %I', node);
    end loop;
end $$;
