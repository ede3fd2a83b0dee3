-- The last answers stored for a plugin, for trying another version of it on them.
create index tasks_answers on tasks (platform, id) where data is not null;
