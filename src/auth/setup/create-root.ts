import type { Clock, Logger } from '../../kernel/index.ts';
import { ROLE, type Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { PasswordHashes } from '../passwords/password-hashes.ts';
import { USER_ENABLED } from '../sessions/check-session.ts';
import { validateNewPassword, validateUsername } from '../users/validate-account.ts';

export type NewRoot = { username: string; password: string };
export type CreatedRoot = { userId: number; username: string };

/**
 * Written once, by whoever makes the first root: the row that concurrent set-ups on any node race
 * for.
 */
const SETUP_OPTION = 'setup.completed_at';
/** As in new-api; 500,000 = 1 USD. */
const ROOT_QUOTA = 100_000_000;

/** True when a root account exists, on this node or made by another. */
export const hasRoot = async (store: Store): Promise<boolean> => (await store.users.countByRole(ROLE.root)) > 0;

/**
 * Makes the first root account with its quota as a ledger grant. Exactly one of any number of
 * concurrent calls, on any node, succeeds. Rejects with `auth.setup_done`, `auth.name_taken` or
 * `auth.validation_failed`.
 */
export function createCreateRoot(deps: {
  store: Store;
  clock: Clock;
  logger: Logger;
  passwords: PasswordHashes;
}): (root: NewRoot) => Promise<CreatedRoot> {
  const { store, clock, logger, passwords } = deps;
  return async (root) => {
    const username = validateUsername(root.username);
    await validateNewPassword(root.password, username);
    if (await hasRoot(store)) throw authErrors.setup_done();
    const passwordHash = await passwords.hash(root.password);

    const now = clock.unix();
    const user = await store.transaction(async (tx) => {
      // The losers wait for the winner's row here; then it is there, or the winner failed and the
      // next one takes its place.
      if (!(await tx.options.putIfAbsent(SETUP_OPTION, String(now)))) throw authErrors.setup_done();
      if ((await tx.users.countByRole(ROLE.root)) > 0) throw authErrors.setup_done();
      const created = await tx.users.insert({
        username,
        displayName: username,
        passwordHash,
        role: ROLE.root,
        status: USER_ENABLED,
        email: null,
        group: 'default',
        language: 'en',
        createdAt: now,
      });
      if (!created) throw authErrors.name_taken({ param: 'username' });
      await tx.ledger.grant({
        userId: created.id,
        kind: 'grant',
        key: `setup:${created.id}`,
        amount: ROOT_QUOTA,
        note: 'first root account',
        at: now,
      });
      return created;
    });
    logger.info({ userId: user.id }, 'root account created');
    return { userId: user.id, username: user.username };
  };
}
