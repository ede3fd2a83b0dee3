-- The gateway before panel sessions. Times are Unix seconds unless a comment says milliseconds; money is an integer quota
-- (500,000 = 1 USD); JSON is text.

create table users (
  id integer primary key autoincrement,
  username text not null,
  display_name text not null default '',
  password_hash text,
  role integer not null,
  status integer not null,
  email text,
  "group" text not null default 'default',
  quota integer not null default 0,
  used_quota integer not null default 0,
  request_count integer not null default 0,
  language text not null default '',
  access_token varchar(64),
  telegram_id text,
  github_id text,
  discord_id text,
  oidc_id text,
  linux_do_id text,
  wechat_id text,
  created_at integer not null,
  last_login_at integer not null default 0,
  deleted_at integer not null default 0
);
create unique index users_username on users (lower(username));
create index users_email on users (lower(email)) where email is not null;
create unique index users_access_token on users (access_token) where access_token is not null;

create table api_keys (
  id integer primary key autoincrement,
  user_id integer not null references users (id),
  name text not null,
  key_hash varchar(64) not null,
  prefix text not null,
  status integer not null,
  unlimited_quota integer not null,
  quota integer not null,
  used_quota integer not null default 0,
  models text not null,
  allow_ips text not null,
  expires_at integer not null default 0,
  "group" text,
  webhook_url text,
  created_at integer not null,
  last_used_at integer not null default 0
);
create unique index api_keys_hash on api_keys (key_hash);
create index api_keys_user on api_keys (user_id, id);

create table channels (
  id integer primary key autoincrement,
  name text not null,
  type integer not null,
  key_sealed text not null,
  key_hint text not null,
  base_url text not null,
  models text not null,
  groups text not null,
  priority integer not null,
  weight integer not null,
  model_mapping text not null,
  task_plugin_key text,
  settings text not null,
  status integer not null,
  used_quota integer not null default 0,
  created_at integer not null,
  updated_at integer not null
);

create table task_plugins (
  id integer primary key autoincrement,
  key text not null,
  version text not null,
  api_version integer not null,
  source text not null,
  source_hash varchar(64) not null,
  icon text,
  active integer not null,
  enabled integer not null,
  remark text not null default '',
  narrowed_models text,
  created_at integer not null
);
create unique index task_plugins_version on task_plugins (key, version);
create unique index task_plugins_active on task_plugins (key) where active = 1;

-- No foreign key here and in the ledger: its check locks the user's row in shared mode, which halves what one busy user can do on
-- PostgreSQL, and users are never deleted but anonymised.
create table tasks (
  id integer primary key autoincrement,
  task_id text not null,
  platform text not null,
  user_id integer not null,
  api_key_id integer,
  "group" text not null,
  channel_id integer not null,
  action text not null,
  status text not null,
  progress text not null,
  fail_reason text not null default '',
  submit_time integer not null default 0,
  start_time integer not null default 0,
  finish_time integer not null default 0,
  created_at integer not null,
  updated_at integer not null,
  quota integer not null,
  properties text not null,
  data text,
  state text,
  upstream_task_id text not null default '',
  poll_failures integer not null default 0,
  polls integer not null default 0,
  -- Milliseconds, as is lease_until.
  next_poll_at integer not null default 0,
  lease_owner text,
  lease_until integer not null default 0,
  lease_seq integer not null default 0,
  execution text not null,
  billing text not null
);
create unique index tasks_task_id on tasks (task_id);
create index tasks_user on tasks (user_id, id);
-- These hold unfinished tasks only, so that claiming does not slow down with the millions that have ended.
create index tasks_due on tasks (next_poll_at, lease_until, channel_id) where status in ('SUBMITTED', 'QUEUED', 'IN_PROGRESS');
create index tasks_overdue on tasks (submit_time) where status in ('SUBMITTED', 'QUEUED', 'IN_PROGRESS');
create index tasks_submitting on tasks (lease_until) where status = 'NOT_START';
create index tasks_unfinished on tasks (channel_id, platform) where status in ('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS');

create table task_events (
  id integer primary key autoincrement,
  task_id text not null,
  at integer not null,
  kind text not null,
  status text not null,
  class text not null default '',
  http_status integer not null default 0,
  detail text not null default ''
);
create index task_events_task on task_events (task_id, id);

create table ledger_entries (
  id integer primary key autoincrement,
  user_id integer not null,
  api_key_id integer,
  task_id text,
  kind text not null,
  attempt integer not null default 0,
  amount integer not null,
  note text not null default '',
  grant_key text,
  created_at integer not null
);
-- What keeps money from moving twice.
create unique index ledger_entries_task on ledger_entries (task_id, kind, attempt) where task_id is not null;
create unique index ledger_entries_grant on ledger_entries (grant_key) where grant_key is not null;
create index ledger_entries_user on ledger_entries (user_id, id);

create table prices (
  plugin_key text not null,
  model text not null,
  expression text not null,
  updated_at integer not null,
  primary key (plugin_key, model)
);

create table usage_logs (
  id integer primary key autoincrement,
  user_id integer not null,
  api_key_id integer,
  task_id text not null,
  channel_id integer not null,
  plugin_key text not null,
  model text not null,
  kind text not null,
  quota integer not null,
  detail text not null,
  created_at integer not null
);
create index usage_logs_user on usage_logs (user_id, id);
create index usage_logs_key on usage_logs (api_key_id, id);
create index usage_logs_created on usage_logs (created_at);

create table audit_logs (
  id integer primary key autoincrement,
  user_id integer,
  username text not null,
  auth_method text not null,
  ip text not null,
  action text not null,
  target text not null,
  detail text not null,
  created_at integer not null
);

create table idempotency_keys (
  user_id integer not null references users (id),
  key text not null,
  request_hash varchar(64) not null,
  task_id text,
  created_at integer not null,
  expires_at integer not null,
  primary key (user_id, key)
);
create index idempotency_keys_expiry on idempotency_keys (expires_at);

create table webhook_outbox (
  id integer primary key autoincrement,
  task_id text not null,
  user_id integer not null references users (id),
  event text not null,
  url text not null,
  payload text not null,
  status text not null,
  attempts integer not null default 0,
  -- Milliseconds, as is lease_until.
  next_attempt_at integer not null,
  lease_owner text,
  lease_until integer not null default 0,
  lease_seq integer not null default 0,
  created_at integer not null
);
create index webhook_outbox_task on webhook_outbox (task_id);
create index webhook_outbox_due on webhook_outbox (next_attempt_at) where status = 'pending';

create table webhook_deliveries (
  id integer primary key autoincrement,
  outbox_id integer not null references webhook_outbox (id) on delete cascade,
  at integer not null,
  http_status integer not null default 0,
  duration_ms integer not null default 0,
  error text not null default ''
);
create index webhook_deliveries_outbox on webhook_deliveries (outbox_id, id);

create table relay_objects (
  object_id text primary key not null,
  kind text not null,
  user_id integer not null references users (id),
  api_key_id integer,
  channel_id integer not null,
  model text not null,
  created_at integer not null
);
create index relay_objects_created on relay_objects (created_at);

create table options (
  key text primary key not null,
  value text not null
);

create table nodes (
  id text primary key not null,
  role text not null,
  version text not null,
  started_at integer not null,
  heartbeat_at integer not null,
  fingerprints text not null
);
