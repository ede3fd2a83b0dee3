import { type Clock, constantTimeEqual, type Logger, randomToken, sentence, sha256Hex } from '../../kernel/index.ts';
import { ROLE, STATUS, type Store } from '../../store/ports/index.ts';
import { validateNewPassword, validateUsername } from '../accounts/validate-account.ts';
import type { PasswordHashes } from '../credentials/password-hashes.ts';
import { authErrors } from '../errors.ts';
import { pickLanguage } from '../mail/mail-languages.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  logger: Logger;
  passwords: PasswordHashes;
};

export interface Setup {
  /** Whether there is no root account yet. */
  needed(): Promise<boolean>;
  /**
   * Makes the one-time token of this start and invalidates an earlier one. The caller prints
   * `/setup#token=…`. `undefined` when a root account exists. Only the token's digest stays, in
   * memory.
   */
  openLink(): Promise<string | undefined>;
  /**
   * Creates the root account; opens no session.
   *
   * @throws `auth.setup_token_invalid`, and what `createRoot` throws.
   */
  complete(request: { token: string } & NewRoot): Promise<CreatedRoot>;
}

export function createSetup(ctx: Deps): Setup {
  const { store } = ctx;
  let tokenDigest: string | undefined;

  return {
    needed: async () => !(await hasRoot(store)),
    async openLink() {
      if (await hasRoot(store)) return undefined;
      const token = randomToken(32);
      tokenDigest = sha256Hex(token);
      return token;
    },
    async complete({ token, ...root }) {
      // No digest means that a root account exists, or that no link was printed.
      if (tokenDigest === undefined || !constantTimeEqual(sha256Hex(token), tokenDigest)) {
        if (await hasRoot(store)) throw authErrors.setup_done();
        throw authErrors.setup_token_invalid();
      }
      const created = await createRoot(ctx, root);
      tokenDigest = undefined;
      return created;
    },
  };
}

export type NewRoot = {
  username: string;
  password: string;
  /** What the browser sent as `Accept-Language`; the account gets its language. */
  acceptLanguage?: string | undefined;
};
export type CreatedRoot = { userId: number; username: string };

/** The row that concurrent set-ups on any node race for. Written once, with the first root. */
export const SETUP_OPTION = 'setup.completed_at';
/** Root begins with this balance, as in new-api; 500,000 is 1 USD. */
const ROOT_QUOTA = 100_000_000;

/** True when a root account exists, whichever node created it. */
const hasRoot = async (store: Store): Promise<boolean> => (await store.users.countByRole(ROLE.root)) > 0;

/**
 * Creates the first root account, with its quota as a ledger grant. However many calls run at once,
 * on any node, exactly one succeeds.
 *
 * @throws `auth.setup_done`, `auth.name_taken` or `auth.validation_failed`.
 */
export async function createRoot(ctx: Deps, root: NewRoot): Promise<CreatedRoot> {
  const { store, clock, logger, passwords } = ctx;
  const username = validateUsername(root.username);
  await validateNewPassword(root.password, username);
  if (await hasRoot(store)) throw authErrors.setup_done();
  const passwordHash = await passwords.hash(root.password);

  const now = clock.unix();
  const user = await store.transaction(async (tx) => {
    // Losers of the race wait here for the winner's row. Then the row exists, or the winner failed
    // and the next one inserts it.
    if (!(await tx.options.putIfAbsent(SETUP_OPTION, String(now)))) throw authErrors.setup_done();
    if ((await tx.users.countByRole(ROLE.root)) > 0) throw authErrors.setup_done();
    const created = await tx.users.insert({
      username,
      displayName: username,
      passwordHash,
      role: ROLE.root,
      status: STATUS.enabled,
      email: null,
      group: 'default',
      language: pickLanguage(root.acceptLanguage),
      createdAt: now,
    });
    if (!created) throw authErrors.name_taken({ param: 'username' });
    await tx.ledger.grant({
      walletId: created.walletId,
      kind: 'grant',
      key: `setup:${created.id}`,
      amount: ROOT_QUOTA,
      note: sentence('ledger.first_root'),
      at: now,
    });
    return created;
  });
  logger.info({ userId: user.id }, 'root account created');
  return { userId: user.id, username: user.username };
}
