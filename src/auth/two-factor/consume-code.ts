import { type Clock, isOver } from '../../kernel/index.ts';
import type { Repositories, Store, TwoFactorRecord } from '../../store/ports/index.ts';
import type { Authenticator } from '../credentials/authenticator.ts';
import type { BackupCodes } from '../credentials/backup-codes.ts';
import { authErrors } from '../errors.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import type { RequestOrigin } from '../principals.ts';
import type { SignIns } from '../sessions/record-sign-ins.ts';

/** Dependencies of the operations in this file. */
type Deps = {
  store: Store;
  clock: Clock;
  authenticator: Authenticator;
  backupCodes: BackupCodes;
  signIns: SignIns;
  limitGuesses: GuessLimit;
};

export type CodeAttempt = {
  userId: number;
  /** As typed. */
  code: string;
  origin: RequestOrigin;
  accept: readonly TypedCode['kind'][];
};

/** Whether no code is checked, after too many wrong ones. */
export const isLocked = ({ lockedUntil }: TwoFactorRecord, now: number): boolean =>
  !isOver(lockedUntil, { now, longest: LOCK.lockSeconds });

/** Uses the code up in the caller's transaction, which must roll back when this throws. */
export type UseCode = (tx: Repositories) => Promise<void>;

/** As in new-api: the fifth failure locks, and so does every later one until a right code. */
const LOCK = { limit: 5, lockSeconds: 300 };

/**
 * The only check of second-factor codes. `work` runs its transaction and calls `use` in it: the
 * code is used up together with its purpose or not at all, and works once however many requests try
 * it at the same time.
 *
 * @throws `auth.code_invalid` (wrong, used, or of a kind or format that is not accepted),
 * `auth.code_locked` after too many wrong codes, `auth.too_many_attempts`, `auth.two_factor_off`,
 * `auth.two_factor_unreadable`, and what `work` throws.
 */
export async function consumeCode<T>(ctx: Deps, attempt: CodeAttempt, work: (use: UseCode) => Promise<T>): Promise<T> {
  const typed = readCode(attempt.code);
  // Not counted as a guess: no code of this format can be right.
  if (!typed || !attempt.accept.includes(typed.kind)) throw authErrors.code_invalid({ param: 'code' });
  const { userId, origin } = attempt;
  const signIn = { method: '2fa', origin, userId, confirms: true } as const;
  return ctx.signIns.watch({ ...signIn }, () => checkAndUse(ctx, { userId, origin, typed }, work));
}

async function checkAndUse<T>(
  ctx: Pick<Deps, 'store' | 'clock' | 'authenticator' | 'backupCodes' | 'limitGuesses'>,
  { userId, origin, typed }: { userId: number; origin: RequestOrigin; typed: TypedCode },
  work: (use: UseCode) => Promise<T>,
): Promise<T> {
  const { store, limitGuesses, authenticator } = ctx;
  const factor = await requireUnlocked(ctx, userId);
  // This is checked before the attempt is counted: a code that cannot be checked is not a wrong
  // one.
  const secret = typed.kind === 'app' ? authenticator.open(factor) : '';

  const consumed = await limitGuesses(`code:${userId}`, origin.decidingIp, async () => {
    await countAttempt(ctx, userId);
    const use = await findUse(ctx, typed, { userId, secret });
    if (!use) return undefined;
    const verdict: { right?: boolean } = {};
    try {
      const value = await work(async (tx) => {
        verdict.right = await use(tx);
        if (!verdict.right) throw authErrors.code_invalid();
      });
      return { value };
    } catch (error) {
      if (verdict.right === false) return undefined;
      // The code's purpose failed: the code stays unused, and the attempt does not count as wrong.
      await store.twoFactor.giveBackAttempt(userId);
      throw error;
    }
  });
  if (!consumed) throw authErrors.code_invalid({ param: 'code' });
  return consumed.value;
}

async function requireUnlocked(
  { store, clock }: { store: Store; clock: Clock },
  userId: number,
): Promise<TwoFactorRecord> {
  const factor = await store.twoFactor.byUser(userId);
  if (!factor?.enabled) throw authErrors.two_factor_off();
  const now = clock.unix();
  if (isLocked(factor, now)) throw authErrors.code_locked({ retryAfterSeconds: factor.lockedUntil - now });
  return factor;
}

async function countAttempt(ctx: { store: Store; clock: Clock }, userId: number): Promise<void> {
  const { store, clock } = ctx;
  if ((await store.twoFactor.countAttempt(userId, { now: clock.unix(), ...LOCK })) !== undefined) return;
  // Another attempt has locked it since.
  await requireUnlocked(ctx, userId);
  throw authErrors.code_locked({ retryAfterSeconds: 1 });
}

/**
 * The function that uses the code up and tells whether it was still unused; `undefined` for a wrong
 * code of an app.
 */
async function findUse(
  { clock, authenticator, backupCodes }: { clock: Clock; authenticator: Authenticator; backupCodes: BackupCodes },
  { kind, text }: TypedCode,
  { userId, secret }: { userId: number; secret: string },
) {
  if (kind === 'backup') {
    return async (tx: Repositories) => {
      const candidates = backupCodes.candidates(userId, text);
      const used = await tx.twoFactor.useBackupCode(userId, candidates, clock.unix());
      if (used) await tx.twoFactor.clearAttempts(userId);
      return used;
    };
  }
  const step = await authenticator.findStep(secret, text);
  return step === undefined ? undefined : (tx: Repositories) => tx.twoFactor.useStep(userId, step);
}

/** A typed code in the form that is compared: without spaces and hyphens, in capitals. */
export type TypedCode = { kind: 'app' | 'backup'; text: string };

/**
 * Six digits are a code of an authenticator app, eight letters or digits a backup code. Anything
 * else is neither.
 */
export function readCode(typed: string): TypedCode | undefined {
  const text = typed.replace(/[\s-]/g, '').toUpperCase();
  if (/^\d{6}$/.test(text)) return { kind: 'app', text };
  if (/^[A-Z0-9]{8}$/.test(text)) return { kind: 'backup', text };
  return undefined;
}
