-- Artifact links name the version that their task's owner had. Moving it ends all of them.
alter table users add column link_version integer not null default 0;
