-- What nodes share beside names, such as tokens of the API: documents in kinds. The document without a key has the generation of its
-- kind; who changes the kind locks that row first. Nodes of the release before do not look at it.
create table if not exists tunnel2_shared (
    kind text not null,
    key text not null,
    version bigint not null,
    value bytea not null check (octet_length(value) <= 65536),
    changed_at timestamptz not null,
    touched_at timestamptz,
    primary key (kind, key));

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
        execute format('grant select, insert, update, delete on tunnel2_shared to %I', node);
    end loop;
end $$;
