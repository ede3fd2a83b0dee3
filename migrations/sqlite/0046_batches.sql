-- Requests that a user sends many of at once. Times are Unix seconds where a name does not say otherwise.
create table batches (
  id integer primary key autoincrement,
  batch_id text not null,
  user_id integer not null,
  api_key_id integer not null,
  -- The path of its requests; empty: they differ.
  endpoint text not null,
  -- Empty: its requests came in the body.
  input_file_id text not null default '',
  all_or_none integer not null,
  -- JSON, as the client sent it.
  metadata text not null,
  callback_url text,
  request_id text not null,
  status text not null,
  -- Why none of its requests was sent, as JSON.
  error text,
  total integer not null,
  created_at integer not null,
  expires_at integer not null,
  started_at integer not null default 0,
  cancelling_at integer not null default 0,
  -- 0: it runs.
  ended_at integer not null default 0,
  -- Unix milliseconds: when it is looked at next.
  due_at integer not null
);
create unique index batches_batch_id on batches (batch_id);
create index batches_user on batches (user_id, id);
create index batches_open on batches (due_at) where ended_at = 0;
create table batch_items (
  batch_id text not null,
  position integer not null,
  custom_id text not null,
  path text not null,
  -- JSON; null once it was sent, or never will be.
  body text,
  status text not null default 'pending',
  -- When it was first being sent; 0: it was not.
  begun_at integer not null default 0,
  task_id text,
  -- Why it became no task, as JSON.
  error text,
  primary key (batch_id, position)
);
-- JSON lines that clients upload for batches.
create table batch_files (
  id integer primary key autoincrement,
  file_id text not null,
  user_id integer not null,
  filename text not null,
  bytes integer not null,
  content text not null,
  created_at integer not null,
  expires_at integer not null
);
create unique index batch_files_file_id on batch_files (file_id);
create index batch_files_user on batch_files (user_id, id);
create index batch_files_expires on batch_files (expires_at);
