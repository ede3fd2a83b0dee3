-- By channel first: what is due of a channel that takes no more for now is not read to find what is due of others.
drop index tasks_due;
create index tasks_due on tasks (channel_id, next_poll_at, lease_until) where status in ('SUBMITTED', 'QUEUED', 'IN_PROGRESS');
