/** Warnings of a low balance. `store.ts` states the rules for every implementation. */

export type BalanceAlertRecord = {
  userId: number;
  /** Quota; null: the operator's default, 0: no warning. */
  threshold: number | null;
  /** Whether the user is mailed. */
  mail: boolean;
  webhookUrl: string | null;
  webhookSecretSealed: string | null;
  /** When the user was warned, in Unix seconds; 0: the next crossing is reported. */
  toldAt: number;
  /** What the balance was below then. */
  toldThreshold: number;
};

/** However often a user changes the threshold, one warning at most is sent in this time. */
export const WARN_AGAIN_SECONDS = 3600;

/** What a user chooses. */
export type BalanceAlertChoice = Pick<BalanceAlertRecord, 'threshold' | 'mail' | 'webhookUrl'>;

/** A user whose balance is below the threshold, and who was not warned yet. */
export type LowBalance = { userId: number; balance: number; threshold: number };

export interface BalanceAlertStore {
  /** Undefined for a user who never chose anything and was never warned. */
  byUser(userId: number): Promise<BalanceAlertRecord | undefined>;
  /**
   * Writes a choice. With another threshold, the next crossing is reported again, unless the user
   * was warned less than `WARN_AGAIN_SECONDS` before `now`: then after that time.
   */
  choose(userId: number, choice: BalanceAlertChoice, now: number): Promise<void>;
  setSecret(userId: number, webhookSecretSealed: string): Promise<void>;
  /** False: there is one, which somebody else has been shown. */
  setFirstSecret(userId: number, webhookSecretSealed: string): Promise<boolean>;
  /**
   * Users to warn among `limit` users after `after`, in the order of their ids. `last` is the last
   * user that was looked at; undefined: there are no more. `fallback` applies to users who chose
   * nothing: with 0, only users with a choice are looked at.
   */
  findLow(search: {
    fallback: number;
    after: number;
    limit: number;
    now: number;
  }): Promise<{ low: LowBalance[]; last: number | undefined }>;
  /**
   * Marks the user as warned if the balance is still below the threshold and nobody has marked it:
   * then the balance, else undefined. Call it in the transaction that queues the warning. The
   * user's row stays locked, so that a top-up at the same moment comes before or after it.
   */
  claim(userId: number, fallback: number, at: number): Promise<LowBalance | undefined>;
  /** Forgets a deleted user's choice. */
  forget(userId: number): Promise<void>;
}
