-- Artifact links name the version that their task had. Moving it ends the links of the task, or of
-- one artifact: JSON of the versions by artifact key, '' for all artifacts; empty: all are 0.
alter table tasks add column link_versions text not null default '';
