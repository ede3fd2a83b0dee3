-- Of open tasks two indexes instead of four. They name the time of the end and not the status: an index
-- whose condition names the status is written again whenever it changes.
update tasks set finish_time = 0
  where status in ('NOT_START', 'SUBMITTED', 'QUEUED', 'IN_PROGRESS') and finish_time <> 0;
drop index tasks_unfinished;
drop index tasks_running_by_user;
drop index tasks_running;
create index tasks_running on tasks (phase, channel_id, upstream_model, credential_id, slots) where finish_time = 0;
drop index tasks_open;
create index tasks_open on tasks (user_id, phase, api_key_id, "group", status, created_at) where finish_time = 0;
