-- What API keys and users may send in a minute and have running at once; null: no such limit.
alter table api_keys add column requests_per_minute integer default null;
alter table api_keys add column max_running integer default null;
alter table users add column requests_per_minute integer default null;
alter table users add column max_running integer default null;
-- At whose own limit a task waits ('key', 'user', 'group'): it is in no line until it is released. Empty:
-- it is in its line.
alter table waiting add column parked text not null default '';
drop index waiting_next;
create index waiting_next on waiting (class, node, priority desc, turn, task_id) where not_before = 0 and parked = '';
create index waiting_parked on waiting (user_id, api_key_id, class) where parked <> '';
-- How many of those that wait are in no line.
alter table waiting_classes add column parked integer not null default 0;
-- What runs of an owner is counted, not stored.
create index tasks_running_by_user on tasks (user_id, api_key_id, "group")
  where status in ('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS') and phase = 'sending';
