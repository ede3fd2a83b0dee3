-- Rows of the audit log form two chains: each row names the hash of the one before it. Rows from before this layout are in none.
alter table audit_logs add column chain text not null default '';
alter table audit_logs add column prev_hash text not null default '';
alter table audit_logs add column hash text not null default '';
create index audit_logs_chain on audit_logs (chain, id);

-- Where each chain ends, and the last row that its retention removed: the first one left follows that.
create table audit_chains (
  name text primary key,
  head_id integer not null default 0,
  head_hash text not null default '',
  removed_id integer not null default 0,
  removed_hash text not null default ''
);
insert into audit_chains (name) values ('change'), ('sign_in');
