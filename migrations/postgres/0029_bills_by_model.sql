-- Bills of one model are counted in the index alone.
create index usage_logs_model on usage_logs (model, created_at);
