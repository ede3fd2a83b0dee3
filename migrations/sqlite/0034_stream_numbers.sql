-- A version number names one source: that of a deleted version is not given to another.
create table deleted_plugin_versions (
  key text not null,
  version text not null,
  source_hash varchar(64) not null,
  deleted_at integer not null,
  primary key (key, version)
);
-- The number of the event before the first output of a task's response streams, so that a stream
-- that is resumed goes on with the same numbers. A row for each task that was streamed.
create table response_streams (
  task_id text primary key references tasks (task_id) on delete cascade,
  outputs_after integer not null
);
