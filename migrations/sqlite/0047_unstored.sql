-- Whether the requests of a key's tasks are stored.
alter table api_keys add column store_requests integer not null default 1;
-- Tasks whose prompt and request are not stored, and whose vendor's answer is erased an hour after their end.
create table unstored_tasks (
  task_id text primary key
);
