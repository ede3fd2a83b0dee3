-- Old relayed requests and what they made are deleted, and found by their age. Small beside the tables: walked from the oldest.
create index relay_requests_ended on relay_requests (finished_at) where status <> 'OPEN';
create index relay_objects_created on relay_objects (created_at);
