-- With whether the user deleted a task, so that a list and its count walk the index alone.
drop index task_list_user;
create index task_list_user on task_list (user_id, id, hidden_at);
