-- A count of the tasks that a user sees takes those that they hid from all: they are few.
create index task_list_hidden on task_list (user_id, id, hidden_at) where hidden_at > 0;
