-- Runs of back-ups. The id of a scheduled one is its day, so that one node of several runs it.
create table backup_runs (
  id text primary key not null,
  trigger_kind text not null,
  -- running, done, failed
  status text not null,
  backup text not null default '',
  place text not null,
  owner text not null,
  -- Milliseconds.
  lease_until bigint not null,
  started_at bigint not null,
  ended_at bigint not null default 0,
  bytes bigint not null default 0,
  message text not null default ''
);
create index backup_runs_started on backup_runs (started_at);
