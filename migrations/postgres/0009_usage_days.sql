-- Figures by day. Usage rows are added up once, so that a year of tasks is read as a few thousand short rows.

-- From the request to the end of the task; -1: not known.
alter table usage_logs add column seconds bigint not null default -1;

create table usage_days (
  -- 0: everybody together.
  user_id bigint not null,
  -- Days since 1970, UTC.
  day bigint not null,
  plugin_key text not null,
  model text not null,
  kind text not null,
  -- Number of the class of durations; -1: not known.
  duration integer not null,
  tasks bigint not null,
  quota bigint not null,
  primary key (user_id, day, plugin_key, model, kind, duration)
);

-- One row: usage up to here, in Unix seconds and exclusive, is in usage_days.
create table usage_progress (
  id integer primary key,
  until bigint not null
);
insert into usage_progress (id, until) values (1, 0);

-- What a user has under way, by status and age.
create index tasks_open on tasks (user_id, status, created_at) where status in ('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS');
