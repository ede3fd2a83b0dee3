-- The source of the plugin version that began a task: it ends by the same. Empty: begun before this was noted.
alter table tasks add column source_hash varchar(64) not null default '';
-- Sources that began tasks, kept for as long as these are polled and read.
create table plugin_sources (
  source_hash varchar(64) primary key not null,
  key text not null,
  version text not null,
  source text not null,
  created_at integer not null,
  used_at integer not null,
  adopted_by varchar(64),
  adopted_at integer not null default 0
);
create index plugin_sources_key on plugin_sources (key);
-- How often calls of a version have failed, by stage and minute, counted by all nodes.
create table plugin_outcomes (
  source_hash varchar(64) not null,
  stage text not null,
  minute integer not null,
  cases integer not null,
  failures integer not null,
  primary key (source_hash, stage, minute)
);
create index plugin_outcomes_minute on plugin_outcomes (minute);
-- Activations whose failures are compared with those of the version before.
create table plugin_activations (
  key text not null,
  source_hash varchar(64) not null,
  version text not null,
  activated_at integer not null,
  former_hash varchar(64) not null,
  former_version text not null,
  former_layer text not null,
  verdict text,
  rolled_back_at integer not null default 0,
  primary key (key, source_hash)
);
