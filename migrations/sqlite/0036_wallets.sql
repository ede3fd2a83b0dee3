-- Money belongs to wallets: balances, ledger lines, reservations, usage and its sums. Each user has a
-- wallet of their own. Those of before get the user's id, so that no row of tasks, relayed requests or
-- usage has to be written: where wallet_id is null there, it is the user's id.
create table wallets (
  id integer primary key autoincrement,
  -- The user whose own wallet it is; null: it is nobody's own.
  user_id integer references users (id),
  quota integer not null default 0,
  used_quota integer not null default 0,
  request_count integer not null default 0,
  created_at integer not null
);
create unique index wallets_user on wallets (user_id) where user_id is not null;
insert into wallets (id, user_id, quota, used_quota, request_count, created_at)
select id, id, quota, used_quota, request_count, created_at from users order by id;
alter table users drop column quota;
alter table users drop column used_quota;
alter table users drop column request_count;

alter table ledger_entries rename column user_id to wallet_id;
alter table api_keys add column wallet_id integer not null default 0;
update api_keys set wallet_id = user_id;
alter table tasks add column wallet_id integer default null;
alter table relay_requests add column wallet_id integer default null;
alter table usage_logs add column wallet_id integer default null;

-- The sums have the wallet in their keys.
create table wallet_days (
  -- 0: everybody together, as wallet_id.
  user_id integer not null,
  -- Days since 1970, UTC.
  day integer not null,
  plugin_key text not null,
  model text not null,
  kind text not null,
  -- Number of the class of durations; -1: not known.
  duration integer not null,
  wallet_id integer not null,
  tasks integer not null,
  quota integer not null,
  primary key (user_id, day, plugin_key, model, kind, duration, wallet_id)
);
insert into wallet_days (user_id, day, plugin_key, model, kind, duration, wallet_id, tasks, quota)
select user_id, day, plugin_key, model, kind, duration, user_id, tasks, quota from usage_days;
drop table usage_days;
alter table wallet_days rename to usage_days;

create table wallet_quarters (
  -- Unix seconds.
  start integer not null,
  user_id integer not null,
  wallet_id integer not null,
  -- 0: the panel; -1: not known.
  api_key_id integer not null,
  -- -1: not known.
  channel_id integer not null,
  plugin_key text not null,
  model text not null,
  succeeded integer not null,
  failed integer not null,
  spend integer not null,
  primary key (start, user_id, wallet_id, api_key_id, channel_id, plugin_key, model)
) without rowid;
insert into wallet_quarters
  (start, user_id, wallet_id, api_key_id, channel_id, plugin_key, model, succeeded, failed, spend)
select start, user_id, user_id, api_key_id, channel_id, plugin_key, model, succeeded, failed, spend from usage_quarters;
drop table usage_quarters;
alter table wallet_quarters rename to usage_quarters;
create index usage_quarters_user on usage_quarters (user_id, start);

-- The same by day in UTC, kept without an end.
create table wallet_dates (
  start integer not null,
  user_id integer not null,
  wallet_id integer not null,
  api_key_id integer not null,
  channel_id integer not null,
  plugin_key text not null,
  model text not null,
  succeeded integer not null,
  failed integer not null,
  spend integer not null,
  primary key (start, user_id, wallet_id, api_key_id, channel_id, plugin_key, model)
) without rowid;
insert into wallet_dates
  (start, user_id, wallet_id, api_key_id, channel_id, plugin_key, model, succeeded, failed, spend)
select start, user_id, user_id, api_key_id, channel_id, plugin_key, model, succeeded, failed, spend from usage_dates;
drop table usage_dates;
alter table wallet_dates rename to usage_dates;
create index usage_dates_user on usage_dates (user_id, start);
