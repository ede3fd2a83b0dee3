-- When a user deleted a relayed request that they followed as a task; 0: they have not.
alter table relay_requests add column hidden_at bigint not null default 0;
-- What the request for a relayed video said, as JSON; null: it is no video, or an older one.
alter table relay_objects add column video text default null;
