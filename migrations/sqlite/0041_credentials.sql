-- A channel's keys: several accounts at one vendor, or several keys of one account.
create table credentials (
  id integer primary key autoincrement,
  channel_id integer not null,
  key_sealed text not null,
  -- The key's last four characters.
  key_hint text not null,
  label text not null default '',
  -- The name that what shares its limit has; empty: it shares that of its channel.
  pool text not null default '',
  -- 1 enabled, 2 disabled.
  status integer not null default 1,
  -- Unix seconds, as those below; 0: it does not end.
  expires_at integer not null default 0,
  -- Why a vendor refused it last; empty: none has.
  last_error text not null default '',
  -- Its reason and parameters as JSON; null: vendors' own words.
  last_error_sentence text,
  last_error_at integer not null default 0,
  used_quota integer not null default 0,
  created_at integer not null,
  updated_at integer not null,
  -- 0: it is in use. A removed one serves only what was begun with it.
  removed_at integer not null default 0
);
create index credentials_channel on credentials (channel_id);
insert into credentials (channel_id, key_sealed, key_hint, used_quota, created_at, updated_at)
select id, key_sealed, key_hint, used_quota, created_at, updated_at from channels order by id;
alter table channels drop column key_sealed;
alter table channels drop column key_hint;

-- Whether channels of a lower priority serve while it has no room.
alter table channels add column spill integer not null default 1;

-- Null, here and in what has ended: the first credential of its channel.
update tasks set credential_id = (select min(id) from credentials where channel_id = tasks.channel_id)
where status in ('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS') and channel_id > 0;
alter table relay_requests add column credential_id integer default null;
alter table relay_objects add column credential_id integer default null;
-- The credential of a class whose channel is pinned; 0: any.
alter table waiting_classes add column credential_id integer not null default 0;

-- What runs is counted by credential, too.
drop index tasks_running;
create index tasks_running on tasks (channel_id, upstream_model, credential_id, slots)
  where status in ('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS') and phase = 'sending';
