-- Copies of results are shared among users: each user's first one is looked up by this.
create index kept_results_turn on kept_results (user_id, next_attempt_at) where state = 'wanted';
