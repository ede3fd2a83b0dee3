-- To count the tasks that a user sees, count all and subtract the few that they hid.
create index task_list_hidden on task_list (user_id, id, hidden_at) where hidden_at > 0;
