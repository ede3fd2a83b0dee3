-- How far each kind of old data has been gone through, so that a run goes on where the last one stopped.
create table retention_progress (
  name text primary key,
  -- The last row gone through, by id; of ledger_folded the time up to which lines may be folded.
  position integer not null default 0,
  -- The first row that was left out because it was in use, to be looked at again; 0: none.
  skipped integer not null default 0,
  -- Unix seconds of the last look at those, or of the last complete run.
  at integer not null default 0
);

-- When the content of a deleted account was erased; 0: not yet.
alter table users add column erased_at integer not null default 0;
create index users_to_erase on users (id) where deleted_at <> 0 and erased_at = 0;

-- The row of the audit log that says what this row became when its person was erased; 0: it is as it was written.
alter table audit_logs add column redacted_by integer not null default 0;

-- A gateway that is in use keeps what it has until an administrator decides.
insert into options (key, value) select 'retention.enabled', 'false' where exists (select 1 from users);
