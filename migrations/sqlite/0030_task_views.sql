-- Filters of a person's list of tasks, under a name.
create table task_views (
  id integer primary key autoincrement,
  user_id integer not null references users (id),
  name text not null,
  query text not null,
  created_at integer not null
);
create unique index task_views_name on task_views (user_id, name);
