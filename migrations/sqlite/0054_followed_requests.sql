-- The list of a user's requests that may be followed as tasks.
create index relay_requests_followed on relay_requests (user_id, id) where kind in ('image', 'image_edit');
