-- Names and addresses ignore the case of ASCII letters, as on SQLite, whatever the collation of the database does: in Turkish,
-- I and i are two letters. The indexes of before stay for the program of before.
create unique index users_username_folded on users (lower(username collate "C"));
create index users_email_folded on users (lower(email collate "C")) where email is not null;

-- Migration 0004 folded addresses by the collation of the database; in the spelling of such an identity nobody can write one.
-- Whoever has the right spelling keeps it, else the first user gets it.
update external_identity_claims as claim set subject = mended.subject
from (
  select distinct on (lower(users.email collate "C")) wrong.id, lower(users.email collate "C") as subject
  from external_identity_claims as wrong join users on users.id = wrong.user_id
  where wrong.provider = 'email' and wrong.subject <> lower(users.email collate "C")
    and octet_length(users.email) = char_length(users.email)
  order by lower(users.email collate "C"), users.id
) as mended
where claim.id = mended.id
  and not exists (select 1 from external_identity_claims as held where held.provider = 'email' and held.subject = mended.subject);
