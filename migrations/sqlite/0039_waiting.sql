-- Tasks wait between their acceptance and the moment in which they are sent. A task that is not started
-- is 'waiting', and then provably not at a vendor, or 'sending'; once sent it stays 'sending'.
alter table tasks add column phase text not null default 'sending';
-- The model as the channel maps it, before a plugin's own rewrite: what limits are counted by.
alter table tasks add column upstream_model text not null default '';
-- What it takes of its account's limit.
alter table tasks add column slots integer not null default 1;
-- Unix seconds; 0: it never waited.
alter table tasks add column waiting_since integer not null default 0;
-- Unix milliseconds by the store's clock; 0: it was sent when it was created.
alter table tasks add column dispatched_at integer not null default 0;
-- Unix seconds: an ended task whose vendor may still run it takes its slots until then.
alter table tasks add column slot_until integer not null default 0;
-- A cancellation that came while it was being sent: it does not wait again.
alter table tasks add column cancel_requested integer not null default 0;
-- The credential of its channel; null: the only one.
alter table tasks add column credential_id integer default null;
create index tasks_running on tasks (channel_id, upstream_model, slots)
  where status in ('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS') and phase = 'sending';
create index tasks_abandoned on tasks (channel_id, upstream_model, slot_until) where slot_until > 0;
create index tasks_dispatched on tasks (channel_id, dispatched_at) where dispatched_at > 0;
-- What waits is not looked at in search of interrupted submissions.
drop index tasks_submitting;
create index tasks_submitting on tasks (lease_until) where status = 'NOT_START' and phase = 'sending';

create table waiting (
  task_id text primary key not null,
  class text not null,
  priority integer not null,
  -- Its place: of one class and priority the lowest goes first.
  turn integer not null,
  -- Unix milliseconds; 0: it may be sent now.
  not_before integer not null default 0,
  user_id integer not null,
  api_key_id integer,
  -- What a node needs to send it, such as its files; empty: nothing.
  node text not null default '',
  -- The node whose client waits for the answer; empty: nobody has to.
  attached text not null default '',
  -- Unix milliseconds.
  since integer not null,
  deadline integer not null,
  -- Unix milliseconds: the deadline, or before it the next moment at which it is moved up.
  due_at integer not null,
  -- How often it was moved up because it has waited long.
  raised integer not null default 0,
  -- How often the vendor had no room when it was sent.
  returns integer not null default 0,
  bytes integer not null default 0,
  -- What it is sent from, as JSON.
  request text not null
) without rowid;
-- Only what could be sent now, so that no claim walks over what could not.
create index waiting_next on waiting (class, node, priority desc, turn, task_id) where not_before = 0;
create index waiting_user on waiting (user_id);
create index waiting_key on waiting (api_key_id);
create index waiting_later on waiting (not_before) where not_before > 0;
create index waiting_due on waiting (due_at);
create index waiting_attached on waiting (attached) where attached <> '';

-- What waits, counted, and the highest turn that was sent.
create table waiting_classes (
  class text not null,
  priority integer not null,
  plugin text not null,
  model text not null,
  "group" text not null,
  -- The only channel that may serve; 0: any.
  channel_id integer not null default 0,
  waiting integer not null default 0,
  bytes integer not null default 0,
  turn integer not null default 0,
  primary key (class, priority)
) without rowid;

-- The last turn of each user that is ahead of what was sent.
create table waiting_turns (
  class text not null,
  priority integer not null,
  user_id integer not null,
  turn integer not null,
  primary key (class, priority, user_id)
) without rowid;

-- What was learned of an account's limit, by what shares it and the upstream model.
create table capacity (
  pool text not null,
  model text not null,
  -- Tasks at once; 0: not known.
  ceiling integer not null default 0,
  ceiling_reason text not null default '',
  -- Unix milliseconds.
  resting_until integer not null default 0,
  rest_reason text not null default '',
  rest_step integer not null default 0,
  rest_generation integer not null default 0,
  trial_task_id text,
  -- Unix seconds.
  changed_at integer not null,
  primary key (pool, model)
) without rowid;

-- {"max_running", "max_per_minute", "burst", "models"} as JSON; null: nothing is declared.
alter table channels add column limits text default null;
-- The name that channels of one limit share; empty: the channel has its own.
alter table channels add column pool text not null default '';
-- What a node can do that older ones cannot, as a JSON array of names.
alter table nodes add column features text not null default '[]';
-- Files of requests that wait to be sent.
create index kept_results_waiting on kept_results (task_id) where substr(artifact_key, 1, 8) = 'waiting:';
