-- Why an administrator changed a balance, who did it, and which task it is about. `request` tells a
-- repeated change from another one under the same key.
alter table ledger_entries add column reason text not null default '';
alter table ledger_entries add column actor_id integer default null;
alter table ledger_entries add column about_task_id text default null;
alter table ledger_entries add column request text not null default '';
