-- Notices of tasks to their owners' receivers. Nothing has written into the two tables so far: they are made anew, with what delivery
-- needs, and without a foreign key to the user, whose row every transition of his tasks would lock in shared mode.
drop table webhook_deliveries;
drop table webhook_outbox;

create table webhook_outbox (
  id integer primary key autoincrement,
  -- msg_…: the same for every attempt, so that a receiver knows a repeat.
  event_id varchar(64) not null,
  task_id text not null,
  user_id integer not null,
  -- Whose secret signs.
  api_key_id integer not null,
  event text not null,
  url text not null,
  host text not null,
  payload text not null,
  -- pending, delivered, failed, superseded
  status text not null,
  -- All that were made, and those since the schedule began.
  attempts integer not null default 0,
  retries integer not null default 0,
  -- Milliseconds, as are give_up_at, last_attempt_at and lease_until.
  next_attempt_at integer not null,
  give_up_at integer not null,
  last_attempt_at integer not null default 0,
  lease_owner text,
  lease_until integer not null default 0,
  lease_seq integer not null default 0,
  created_at integer not null
);
create unique index webhook_outbox_event on webhook_outbox (event_id);
create index webhook_outbox_task on webhook_outbox (task_id, id);
create index webhook_outbox_due on webhook_outbox (next_attempt_at, lease_until, host) where status = 'pending';
-- Small: what is under way at the moment.
create index webhook_outbox_held on webhook_outbox (lease_owner) where lease_owner is not null;
create index webhook_outbox_created on webhook_outbox (created_at);

create table webhook_deliveries (
  id integer primary key autoincrement,
  outbox_id integer not null references webhook_outbox (id) on delete cascade,
  at integer not null,
  http_status integer not null default 0,
  duration_ms integer not null default 0,
  error text not null default ''
);
create index webhook_deliveries_outbox on webhook_deliveries (outbox_id, id);

-- Where a task's notices go; null: nowhere.
alter table tasks add column callback_url text;

-- The secret of a key's notices, and the one before it, which signs along until its time is over.
alter table api_keys add column webhook_secret_sealed text;
alter table api_keys add column webhook_former_sealed text;
alter table api_keys add column webhook_former_until integer not null default 0;
