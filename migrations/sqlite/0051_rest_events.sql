-- When accounts were given rests, tried in vain, and came back; the newest of each channel and reason.
create table rest_events (
  id integer primary key autoincrement,
  channel_id integer not null,
  -- 0: all keys of the channel.
  credential_id integer not null,
  -- The vendor's model that rests; empty: all of them.
  model text not null,
  reason text not null,
  -- 'rested', 'tried' (a trial was refused), 'back', 'resumed' (by hand).
  what text not null,
  -- Unix seconds; until: when the next trial may be, 0 where nothing rests any longer.
  until integer not null,
  at integer not null
);
create index rest_events_channel on rest_events (channel_id, reason, id);
