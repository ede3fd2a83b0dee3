-- Another model may serve it, where its group allows that.
alter table waiting add column falls_back integer not null default 0;
create index waiting_falls_back on waiting (class, since) where falls_back = 1;
-- The list names the model that serves.
create trigger task_list_model after update of properties on tasks
when new.status = 'NOT_START' and new.properties <> old.properties
begin
  update task_list set model = coalesce(json_extract(new.properties, '$.originModelName'), '') where id = new.id;
end;
