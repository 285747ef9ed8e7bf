-- Where agents reach the node, and what fails together with it. Nodes of the release before say nothing of both, and are announced to nobody.
alter table tunnel2_nodes add column if not exists uplink_address text not null default '',
    add column if not exists zone text not null default '';
