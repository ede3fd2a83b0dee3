-- How a channel has been doing lately, counted in the index alone.
create index usage_logs_channel on usage_logs (channel_id, kind, created_at);
