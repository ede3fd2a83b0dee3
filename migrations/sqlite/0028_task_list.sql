-- What a list of tasks is filtered and sorted by, in narrow rows: a row of tasks holds its request and
-- its vendor's answer, and reading a hundred thousand of them takes seconds. Triggers keep it: a writer
-- of tasks need not know it.
create table task_list (
  -- That of the task.
  id integer primary key,
  user_id integer not null,
  api_key_id integer,
  channel_id integer not null,
  platform text not null,
  model text not null,
  status text not null,
  -- Its first 200 characters.
  fail_reason text not null,
  quota integer not null,
  created_at integer not null,
  -- From the submission to the end; 0 before.
  seconds integer not null,
  hidden_at integer not null
);
insert into task_list
  select id, user_id, api_key_id, channel_id, platform, coalesce(json_extract(properties, '$.originModelName'), ''), status,
    substr(fail_reason, 1, 200), quota, created_at,
    case when finish_time = 0 then 0 else max(0, finish_time - case submit_time when 0 then created_at else submit_time end) end,
    hidden_at
  from tasks order by id;
create index task_list_user on task_list (user_id, id);
create trigger task_list_insert after insert on tasks begin
  insert into task_list values (new.id, new.user_id, new.api_key_id, new.channel_id, new.platform,
    coalesce(json_extract(new.properties, '$.originModelName'), ''), new.status, substr(new.fail_reason, 1, 200), new.quota,
    new.created_at,
    case when new.finish_time = 0 then 0
      else max(0, new.finish_time - case new.submit_time when 0 then new.created_at else new.submit_time end) end,
    new.hidden_at);
end;
create trigger task_list_update after update of user_id, api_key_id, channel_id, platform, status, fail_reason, quota, created_at,
  finish_time, hidden_at on tasks
when new.status <> old.status or new.quota <> old.quota or new.channel_id <> old.channel_id or new.hidden_at <> old.hidden_at
  or new.finish_time <> old.finish_time or new.fail_reason <> old.fail_reason or new.user_id <> old.user_id
  or new.api_key_id is not old.api_key_id or new.platform <> old.platform or new.created_at <> old.created_at
begin
  update task_list set user_id = new.user_id, api_key_id = new.api_key_id, channel_id = new.channel_id, platform = new.platform,
    status = new.status, fail_reason = substr(new.fail_reason, 1, 200), quota = new.quota, created_at = new.created_at,
    seconds = case when new.finish_time = 0 then 0
      else max(0, new.finish_time - case new.submit_time when 0 then new.created_at else new.submit_time end) end,
    hidden_at = new.hidden_at
  where id = new.id;
end;
create trigger task_list_delete after delete on tasks begin
  delete from task_list where id = old.id;
end;
