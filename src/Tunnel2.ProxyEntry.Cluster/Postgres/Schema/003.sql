-- Whether an operator has taken the node out of service. Nodes of the release before do not look at it.
alter table tunnel2_nodes add column if not exists drained boolean not null default false;
