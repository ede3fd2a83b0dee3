-- Results of tasks that the gateway keeps, one row an artifact. An empty key: the artifacts are not listed yet.
create table kept_results (
  id integer primary key autoincrement,
  task_id text not null,
  artifact_key text not null,
  user_id integer not null,
  -- wanted, kept, lost
  state text not null,
  -- As the plugin says: video, image, audio, file.
  kind text not null default '',
  sha256 varchar(64),
  bytes integer not null default 0,
  mime_type text not null default '',
  kept_at integer not null default 0,
  -- 0: for ever.
  kept_until integer not null default 0,
  -- Why it was not kept at the last attempt, or why it is lost.
  reason text not null default '',
  attempts integer not null default 0,
  -- Milliseconds, as are give_up_at and lease_until.
  next_attempt_at integer not null,
  give_up_at integer not null,
  lease_owner text,
  lease_until integer not null default 0,
  lease_seq integer not null default 0,
  created_at integer not null
);
create unique index kept_results_artifact on kept_results (task_id, artifact_key);
create index kept_results_due on kept_results (next_attempt_at, lease_until) where state = 'wanted';
create index kept_results_held on kept_results (lease_owner) where lease_owner is not null;
create index kept_results_until on kept_results (kept_until) where state = 'kept' and kept_until > 0;
create index kept_results_user on kept_results (user_id, state);
create index kept_results_lost on kept_results (created_at) where state = 'lost';

-- The files of kept results by digest: equal results share one.
create table kept_files (
  sha256 varchar(64) primary key,
  bytes integer not null,
  -- How many results need it. -1: it is being deleted, and takes no new ones.
  refs integer not null,
  -- When it was last needed or released, in seconds.
  changed_at integer not null
);
create index kept_files_unused on kept_files (changed_at) where refs <= 0;

-- Whether results of tasks with this key are kept where the operator leaves that to requests.
alter table api_keys add column keep_results integer not null default 0;
