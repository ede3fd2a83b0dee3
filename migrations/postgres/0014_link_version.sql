-- Artifact links name the version that their task's owner had. Moving it ends all of them.
alter table users add column link_version bigint not null default 0;
