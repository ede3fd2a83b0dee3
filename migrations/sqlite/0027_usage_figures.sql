-- Usage by quarter of an hour and by day for each user, key, channel and model, so that any period in any time
-- zone is a sum of short rows; durations of a channel by hour; samples of the gateway's own state.

-- Kept for some weeks. All zones differ from UTC by quarters of an hour.
create table usage_quarters (
  -- Unix seconds.
  start integer not null,
  user_id integer not null,
  -- 0: the panel; -1: not known.
  api_key_id integer not null,
  -- -1: not known.
  channel_id integer not null,
  plugin_key text not null,
  model text not null,
  succeeded integer not null,
  failed integer not null,
  spend integer not null,
  primary key (start, user_id, api_key_id, channel_id, plugin_key, model)
) without rowid;
create index usage_quarters_user on usage_quarters (user_id, start);

-- The same by day in UTC, kept for ever.
create table usage_dates (
  start integer not null,
  user_id integer not null,
  api_key_id integer not null,
  channel_id integer not null,
  plugin_key text not null,
  model text not null,
  succeeded integer not null,
  failed integer not null,
  spend integer not null,
  primary key (start, user_id, api_key_id, channel_id, plugin_key, model)
) without rowid;
create index usage_dates_user on usage_dates (user_id, start);

create table channel_hours (
  channel_id integer not null,
  -- Unix seconds.
  start integer not null,
  kind text not null,
  -- Number of the class of durations; -1: not known.
  duration integer not null,
  tasks integer not null,
  primary key (channel_id, start, kind, duration)
) without rowid;
create index channel_hours_start on channel_hours (start);

-- Usage rows may have been removed before this: for these days the figures by model are taken over.
insert into usage_dates (start, user_id, api_key_id, channel_id, plugin_key, model, succeeded, failed, spend)
select day * 86400, user_id, -1, -1, plugin_key, model,
  sum(case when kind = 'settle' then tasks else 0 end),
  sum(case when kind = 'settle' then 0 else tasks end),
  sum(case when kind = 'settle' then quota else 0 end)
from usage_days
where user_id <> 0
  and (select min(day) from usage_days) < coalesce((select min(created_at) / 86400 from usage_logs), 9000000000)
  and day <= coalesce((select min(created_at) / 86400 from usage_logs), 9000000000)
group by day, user_id, plugin_key, model;
-- One row, in Unix seconds.
create table usage_sums_progress (
  id integer primary key,
  -- Usage up to here, exclusive, is in these tables.
  until integer not null,
  -- Quarters are complete from here on.
  quarters_from integer not null
);
insert into usage_sums_progress (id, until, quarters_from)
select 1, known.until, known.until from (select case
  when (select min(day) from usage_days) < coalesce((select min(created_at) / 86400 from usage_logs), 9000000000)
  then min(
    (select until from usage_progress where id = 1),
    coalesce((select min(created_at) / 86400 + 1 from usage_logs), 9000000000) * 86400)
  else 0 end as until) as known;

-- The latest test of a channel.
create table channel_tests (
  channel_id integer primary key not null,
  tested_at integer not null,
  -- The step that failed; empty: none.
  failed_step text not null,
  message text not null
);

-- What a node did in the five minutes that begin at `start`.
create table node_samples (
  node_id text not null,
  start integer not null,
  polls integer not null,
  -- The longest that the event loop was held, in milliseconds.
  lag_ms integer not null,
  primary key (start, node_id)
) without rowid;
-- What all nodes share, at `start`; written by the first node that comes.
create table gateway_samples (
  start integer primary key not null,
  unfinished integer not null,
  due integer not null,
  lateness_ms integer not null,
  database_bytes integer not null
);
