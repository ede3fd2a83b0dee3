-- Requests that a type-1 channel passes on, and what their vendors made for them. Nothing has written into the earlier table of objects.
drop table relay_objects;

-- One row a request: OPEN while its reservation stands without an answer, then BILLED or REFUNDED for good.
create table relay_requests (
  id integer primary key autoincrement,
  -- relay_…: the task_id of its ledger lines and usage rows.
  relay_id varchar(64) not null,
  -- response, video
  kind text not null,
  user_id integer not null,
  api_key_id integer,
  "group" text not null,
  channel_id integer not null,
  model text not null,
  status text not null,
  -- Reserved while it is open, final afterwards.
  quota integer not null,
  billing text not null,
  request_id text not null,
  -- Of the vendor's answer; 0: none came.
  http_status integer not null default 0,
  lease_owner text not null,
  -- Milliseconds.
  lease_until integer not null,
  created_at integer not null,
  finished_at integer not null default 0
);
create unique index relay_requests_relay_id on relay_requests (relay_id);
-- Small: what is under way at the moment.
create index relay_requests_open on relay_requests (lease_until) where status = 'OPEN';

create table relay_objects (
  id integer primary key autoincrement,
  -- As the vendor named it.
  object_id text not null,
  kind text not null,
  -- The vendor's host: channels of one host share its names of objects.
  vendor text not null,
  user_id integer not null,
  channel_id integer not null,
  relay_id varchar(64) not null,
  created_at integer not null
);
-- A name that a vendor has given once is never another user's.
create unique index relay_objects_name on relay_objects (object_id, kind, vendor);
create index relay_objects_relay on relay_objects (relay_id);
