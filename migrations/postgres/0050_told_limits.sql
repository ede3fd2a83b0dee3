-- What a vendor says that an account may run, as JSON like the limits of channels, and why the last try to
-- read it failed; null: it does not say.
alter table credentials add column told_limits text default null;
alter table credentials add column told_limits_fault text default null;
