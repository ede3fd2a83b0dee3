-- What changed in a version, as its marketplace said: a JSON object by locale. Null: nothing is known.
alter table task_plugins add column changelog text default null;
