-- By what a poll never changes: with a condition on the answer itself, every new answer had its entry written anew, on a page of its own.
drop index tasks_answers;
create index tasks_answers on tasks (platform, id) where upstream_task_id <> '';
