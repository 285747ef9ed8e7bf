-- What a registration carries that is not HTTP: other nodes accept visitors of it too. The row of a registration that is over means nothing.
-- Nodes of the release before do not look at it, and make none.
create table if not exists tunnel2_tunnels (
    epoch bigint primary key,
    name text not null,
    kind smallint not null,
    port integer not null);

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
        execute format('grant select, insert, update, delete on tunnel2_tunnels to %I', node);
    end loop;
end $$;
