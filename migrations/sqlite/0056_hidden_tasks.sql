-- To count the tasks that a user sees, count all and subtract the few that they hid.
create index task_list_hidden on task_list (user_id, id, hidden_at) where hidden_at > 0;
-- SQLite rewrites an index when a statement names one of its columns, even if no value changes. So the
-- columns that change with the state of a task, which no index has, get a trigger of their own.
drop trigger task_list_update;
create trigger task_list_update after update of channel_id, api_key_id, status, fail_reason, quota, finish_time on tasks
when new.status <> old.status or new.quota <> old.quota or new.channel_id <> old.channel_id
  or new.finish_time <> old.finish_time or new.fail_reason <> old.fail_reason or new.api_key_id is not old.api_key_id
begin
  update task_list set api_key_id = new.api_key_id, channel_id = new.channel_id, status = new.status,
    fail_reason = substr(new.fail_reason, 1, 200), quota = new.quota,
    seconds = case when new.finish_time = 0 then 0
      else max(0, new.finish_time - case new.submit_time when 0 then new.created_at else new.submit_time end) end
  where id = new.id;
end;
create trigger task_list_origin after update of user_id, platform, created_at, hidden_at on tasks
when new.user_id <> old.user_id or new.platform <> old.platform or new.created_at <> old.created_at
  or new.hidden_at <> old.hidden_at
begin
  update task_list set user_id = new.user_id, platform = new.platform, created_at = new.created_at,
    seconds = case when new.finish_time = 0 then 0
      else max(0, new.finish_time - case new.submit_time when 0 then new.created_at else new.submit_time end) end,
    hidden_at = new.hidden_at
  where id = new.id;
end;
