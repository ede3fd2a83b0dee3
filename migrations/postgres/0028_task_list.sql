-- What a list of tasks is filtered and sorted by, in narrow rows: a row of tasks holds its request and
-- its vendor's answer, and reading a hundred thousand of them takes seconds. Triggers keep it: a writer
-- of tasks need not know it.
create table task_list (
  -- That of the task.
  id bigint primary key,
  user_id bigint not null,
  api_key_id bigint,
  channel_id bigint not null,
  platform text not null,
  model text not null,
  status text not null,
  -- Its first 200 characters.
  fail_reason text not null,
  quota bigint not null,
  created_at bigint not null,
  -- From the submission to the end; 0 before.
  seconds bigint not null,
  hidden_at bigint not null
) with (fillfactor = 80);
-- Not read as JSON: a prompt may hold \u0000, which the database refuses to read. A quote within a
-- text has a backslash before it, so no prompt can look like the member.
create function task_list_model(properties text) returns text language sql immutable as $$
  select coalesce(substring(properties from '"originModelName":"((?:[^"\\]|\\.)*)"'), '')
$$;
insert into task_list
  select id, user_id, api_key_id, channel_id, platform, task_list_model(properties), status, substr(fail_reason, 1, 200), quota,
    created_at,
    case when finish_time = 0 then 0 else greatest(0, finish_time - case submit_time when 0 then created_at else submit_time end) end,
    hidden_at
  from tasks order by id;
create index task_list_user on task_list (user_id, id);
create function keep_task_list() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    delete from task_list where id = old.id;
    return null;
  end if;
  insert into task_list values (new.id, new.user_id, new.api_key_id, new.channel_id, new.platform, task_list_model(new.properties),
    new.status, substr(new.fail_reason, 1, 200), new.quota, new.created_at,
    case when new.finish_time = 0 then 0
      else greatest(0, new.finish_time - case new.submit_time when 0 then new.created_at else new.submit_time end) end,
    new.hidden_at)
  on conflict (id) do update set user_id = excluded.user_id, api_key_id = excluded.api_key_id, channel_id = excluded.channel_id,
    platform = excluded.platform, status = excluded.status, fail_reason = excluded.fail_reason, quota = excluded.quota,
    created_at = excluded.created_at, seconds = excluded.seconds, hidden_at = excluded.hidden_at;
  return null;
end
$$;
create trigger task_list_insert after insert on tasks for each row execute function keep_task_list();
create trigger task_list_update after update of user_id, api_key_id, channel_id, platform, status, fail_reason, quota, created_at,
  finish_time, hidden_at on tasks for each row
when (new.status <> old.status or new.quota <> old.quota or new.channel_id <> old.channel_id or new.hidden_at <> old.hidden_at
  or new.finish_time <> old.finish_time or new.fail_reason <> old.fail_reason or new.user_id <> old.user_id
  or new.api_key_id is distinct from old.api_key_id or new.platform <> old.platform or new.created_at <> old.created_at)
execute function keep_task_list();
create trigger task_list_delete after delete on tasks for each row execute function keep_task_list();
