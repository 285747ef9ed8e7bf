-- By which token of the API the agent was let in: a policy of that token would get the tunnel. Nodes of the release before say nothing.
alter table tunnel2_tunnels add column if not exists token text;
