-- When its user deleted the task: it is hidden from them and its content is gone. 0: it is not.
alter table tasks add column hidden_at bigint not null default 0;
