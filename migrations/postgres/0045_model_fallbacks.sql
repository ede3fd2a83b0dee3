-- Another model may serve it, where its group allows that.
alter table waiting add column falls_back boolean not null default false;
create index waiting_falls_back on waiting (class, since) where falls_back;
-- The list names the model that serves.
create function keep_task_list_model() returns trigger language plpgsql as $$
begin
  update task_list set model = task_list_model(new.properties) where id = new.id;
  return null;
end
$$;
create trigger task_list_model after update of properties on tasks for each row
when (new.status = 'NOT_START' and new.properties <> old.properties)
execute function keep_task_list_model();
