import type { Clock } from '../../kernel/index.ts';
import type { Repositories, Store, TwoFactorRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { GuessLimit } from '../limits/limit-guesses.ts';
import type { SignIns } from '../sign-ins/record-sign-ins.ts';
import type { RequestOrigin } from '../types.ts';
import type { Authenticator } from './authenticator.ts';
import type { BackupCodes } from './backup-codes.ts';
import { readCode, type TypedCode } from './read-code.ts';

export type CodeAttempt = {
  userId: number;
  /** As typed. */
  code: string;
  origin: RequestOrigin;
  accept: readonly TypedCode['kind'][];
};

/** Uses the code up in the transaction of what it is for; what it throws must undo that. */
export type UseCode = (tx: Repositories) => Promise<void>;

/**
 * The one check of second-factor codes. `work` runs its transaction and calls `use` in it: the code
 * is used up with what it was for or not at all, and works once however many try it at the same
 * time.
 *
 * Rejects with `auth.code_invalid` (wrong, used, of a kind or form that is not taken),
 * `auth.code_locked` after too many wrong ones, `auth.too_many_attempts`, `auth.two_factor_off`,
 * `auth.two_factor_unreadable`, and as `work` does.
 */
export type ConsumeCode = <T>(attempt: CodeAttempt, work: (use: UseCode) => Promise<T>) => Promise<T>;

/** As in new-api: the fifth failure locks, and so does every later one until a right code. */
const LOCK = { limit: 5, lockSeconds: 300 };

export function createConsumeCode(deps: {
  store: Store;
  clock: Clock;
  limitGuesses: GuessLimit;
  authenticator: Authenticator;
  backupCodes: BackupCodes;
  signIns: SignIns;
}): ConsumeCode {
  const { store, clock, limitGuesses, authenticator, backupCodes, signIns } = deps;

  async function requireUnlocked(userId: number): Promise<TwoFactorRecord> {
    const factor = await store.twoFactor.byUser(userId);
    if (!factor?.enabled) throw authErrors.two_factor_off();
    const wait = factor.lockedUntil - clock.unix();
    if (wait > 0) throw authErrors.code_locked({ retryAfterSeconds: wait });
    return factor;
  }

  async function countAttempt(userId: number): Promise<void> {
    if ((await store.twoFactor.countAttempt(userId, { now: clock.unix(), ...LOCK })) !== undefined) return;
    // Others have locked it since.
    await requireUnlocked(userId);
    throw authErrors.code_locked({ retryAfterSeconds: 1 });
  }

  /**
   * What uses the code up, telling whether it was there to be used; `undefined` for a wrong code of
   * an app.
   */
  function findUse({ kind, text }: TypedCode, userId: number, secret: string) {
    if (kind === 'backup') {
      return async (tx: Repositories) => {
        const candidates = backupCodes.candidates(userId, text);
        const used = await tx.twoFactor.useBackupCode(userId, candidates, clock.unix());
        if (used) await tx.twoFactor.clearAttempts(userId);
        return used;
      };
    }
    const step = authenticator.stepOf(secret, text);
    return step === undefined ? undefined : (tx: Repositories) => tx.twoFactor.useStep(userId, step);
  }

  return async (asked, work) => {
    const typed = readCode(asked.code);
    // No guess: nothing of this form can be right.
    if (!typed || !asked.accept.includes(typed.kind)) throw authErrors.code_invalid({ param: 'code' });
    const { userId, origin } = asked;
    const attempt = { method: '2fa', origin, userId, confirms: true } as const;
    return signIns.watch({ ...attempt }, () => spend(asked, typed, work));
  };

  async function spend<T>(
    { userId, origin }: CodeAttempt,
    typed: TypedCode,
    work: (use: UseCode) => Promise<T>,
  ): Promise<T> {
    const factor = await requireUnlocked(userId);
    // Before the attempt is counted: what cannot be checked is no wrong code.
    const secret = typed.kind === 'app' ? authenticator.open(factor) : '';

    const spent = await limitGuesses(`code:${userId}`, origin.decidingIp, async () => {
      await countAttempt(userId);
      const use = findUse(typed, userId, secret);
      if (!use) return undefined;
      const taken: { right?: boolean } = {};
      try {
        const value = await work(async (tx) => {
          taken.right = await use(tx);
          if (!taken.right) throw authErrors.code_invalid();
        });
        return { value };
      } catch (error) {
        if (taken.right === false) return undefined;
        // What the code is for was refused: the code stays unused, and this was no wrong one.
        await store.twoFactor.giveBackAttempt(userId);
        throw error;
      }
    });
    if (!spent) throw authErrors.code_invalid({ param: 'code' });
    return spent.value;
  }
}
