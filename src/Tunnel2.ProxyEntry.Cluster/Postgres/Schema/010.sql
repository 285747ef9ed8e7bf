-- The domain below which a node has its names: nodes with different ones warn of it. A node of the release before writes none.
alter table tunnel2_nodes add column if not exists domain text not null default '';
