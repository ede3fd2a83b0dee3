import { AppError, type Clock, deriveKey, hmacSha256Hex, type JsonObject, type Logger } from '../../kernel/index.ts';
import type { Counters, Store, UserRecord } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import { addressKey } from '../limits/limit-requests.ts';
import type { RequestOrigin } from '../principals.ts';

type Action =
  | 'auth.login'
  | 'auth.login_failed'
  | 'auth.locked'
  | 'auth.factor_failed'
  | 'auth.refresh_reuse'
  | 'auth.logout';

/**
 * An attempt to sign in, or to confirm something inside a session. The code that runs it fills in
 * what it learns.
 */
export type SignInAttempt = {
  /** `password`, `2fa`, `passkey`, `oauth:<provider>`, `telegram`, `wechat`. */
  method: string;
  origin: RequestOrigin;
  /** The account, if known. */
  userId?: number;
  /** The name or email address as typed. */
  loginName?: string;
  /** Another identification: an identity at a provider, a passkey. */
  identity?: string;
  /** Set for a code or password that confirms something, instead of a sign-in. */
  confirms?: true;
};

/** A sign-in as metrics count it. Both come from closed sets; OAuth providers are `oauth`. */
export type SignInSample = { method: string; outcome: string };

/**
 * Writes sign-ins to the audit log and counts them for the metrics. A failed write is logged and
 * changes no answer.
 */
export interface SignIns {
  /** Runs an attempt and records its failure; settles as the attempt does. */
  watch<T>(attempt: SignInAttempt, work: (attempt: SignInAttempt) => Promise<T>): Promise<T>;
  /** Records that a session was opened. */
  succeeded(signIn: { method: string; origin: RequestOrigin; user: UserRecord; sid: string }): Promise<void>;
  /** Counts a first step that was right, with a second factor due; writes no row. */
  secondFactorDue(method: string): void;
  /** Records the end of a session: by its user, or because a refresh token was reused. */
  ended(
    action: 'auth.logout' | 'auth.refresh_reuse',
    session: { userId: number; sid: string; loginMethod: string; origin: RequestOrigin },
  ): Promise<void>;
}

const WINDOW_SECONDS = 60 * 60;
/**
 * Up to this many failures per hour, of one account and of all, get one row each. Beyond that only
 * each doubling of the count gets a row, which states the count. Failures at names without an
 * account are counted separately, so that made-up names cannot displace the rows of accounts.
 */
const FULL_ROWS_PER_ACCOUNT = 20;
const FULL_ROWS_OVERALL = 500;
/** A lock gets one row per account and address in this time; without an account, per address. */
const LOCK_ROW_SECONDS = 15 * 60;

const LOCKS = ['auth.too_many_attempts', 'auth.code_locked'];
const WRONG_CONFIRMATIONS = ['auth.code_invalid', 'auth.password_invalid', 'auth.passkey_invalid'];
/**
 * Errors that do not speak against the person: an invalid or expired form, a disabled method, a
 * fault of ours or of a provider.
 */
const NO_FAILURES = [
  'auth.validation_failed',
  'auth.method_disabled',
  'auth.flow_invalid',
  'auth.unavailable',
  'auth.rate_limited',
  'auth.provider_failed',
  'auth.changed_meanwhile',
  'auth.provider_not_found',
];

export function createSignIns(deps: {
  store: Store;
  counters: Counters;
  clock: Clock;
  logger: Logger;
  config: Pick<AuthConfig, 'cryptoSecrets'>;
  onSignIn?: (sample: SignInSample) => void;
}): SignIns {
  const { store, counters, clock, logger, config } = deps;
  // Derived from CRYPTO_SECRET, which lasts: a new SESSION_SECRET must not change the digest of a
  // name.
  const nameKey = deriveKey(config.cryptoSecrets[0], 'sign-in-name.v1');
  /** Errors already recorded: one failure passes several nested calls of `watch`. */
  const recorded = new WeakSet<object>();

  const count = (method: string, outcome: string) =>
    deps.onSignIn?.({ method: method.startsWith('oauth:') ? 'oauth' : method, outcome });

  async function writeRow(
    action: Action,
    who: { userId: number | null; username: string; target: string },
    { method, origin, detail }: { method: string; origin: RequestOrigin; detail: JsonObject },
  ): Promise<void> {
    const { ip, decidingIp } = origin;
    const row = {
      ...who,
      authMethod: method,
      ip,
      action,
      detail: { ...detail, ...(decidingIp === ip ? {} : { limited_as: decidingIp }) },
      createdAt: clock.unix(),
    };
    try {
      await store.logs.addAudit(row);
    } catch (error) {
      logger.error({ err: error, audit: row }, 'could not store an audit row; the request continues');
    }
  }

  const digest = (name: string) => hmacSha256Hex(nameKey, name).slice(0, 32);
  const readName = ({ userId, loginName, identity }: SignInAttempt): string =>
    userId === undefined ? digest(`${loginName?.toLowerCase() ?? identity ?? ''}`) : `user:${userId}`;

  async function find({ userId, loginName }: SignInAttempt): Promise<UserRecord | undefined> {
    if (userId !== undefined) return store.users.byId(userId);
    return loginName === undefined ? undefined : store.users.byNameOrAddress(loginName);
  }

  /** The counts to state in a failure's row; `undefined`: the failure gets no row. */
  async function countFailure(
    action: Action,
    attempt: SignInAttempt,
    isAccount: boolean,
  ): Promise<JsonObject | undefined> {
    const name = readName(attempt);
    const own = action === 'auth.locked' ? undefined : await counters.add(`audit-failed:${name}`, 1, WINDOW_SECONDS);
    if (own) {
      if (!shouldRecord(own.count, FULL_ROWS_PER_ACCOUNT)) return undefined;
    } else {
      const key = `audit-locked:${isAccount ? name : 'no account'}:${addressKey(attempt.origin.decidingIp)}`;
      if ((await counters.add(key, 1, LOCK_ROW_SECONDS)).count > 1) return undefined;
    }
    const all = await counters.add(isAccount ? 'audit-failed' : 'audit-failed-no-account', 1, WINDOW_SECONDS);
    if (!shouldRecord(all.count, FULL_ROWS_OVERALL)) return undefined;
    return {
      ...(own && own.count > FULL_ROWS_PER_ACCOUNT ? { failures_this_hour: own.count } : {}),
      ...(all.count > FULL_ROWS_OVERALL ? { all_failures_this_hour: all.count } : {}),
    };
  }

  async function failed(attempt: SignInAttempt, error: AppError): Promise<void> {
    const action = chooseAction(attempt, error.code);
    if (action === undefined) return;
    recorded.add(error);
    const reason = error.code.replace(/^auth\./, '');
    count(attempt.method, reason);
    if (action === 'none') return;
    try {
      const user = await find(attempt);
      const numbers = await countFailure(action, attempt, user !== undefined || attempt.userId !== undefined);
      if (!numbers) return;
      const who = user
        ? { userId: user.id, username: user.username, target: `user:${user.id}` }
        : { userId: null, username: '', target: `name:${readName(attempt)}` };
      const detail = { reason, user_agent: clip(attempt.origin.userAgent), ...numbers };
      // Not awaited: whether a row is written depends on whether the account exists, so the timing
      // would reveal it.
      void writeRow(action, who, { ...attempt, detail });
    } catch (trouble) {
      logger.error(
        { err: trouble, action, method: attempt.method },
        'could not store an audit row; the request continues',
      );
    }
  }

  return {
    async watch(attempt, work) {
      try {
        return await work(attempt);
      } catch (error) {
        if (error instanceof AppError && !recorded.has(error)) await failed(attempt, error);
        throw error;
      }
    },

    async succeeded({ method, origin, user, sid }) {
      count(method, 'success');
      const who = { userId: user.id, username: user.username, target: `user:${user.id}` };
      await writeRow('auth.login', who, {
        method,
        origin,
        detail: { session: sid, user_agent: clip(origin.userAgent) },
      });
    },

    secondFactorDue: (method) => count(method, 'second_factor_due'),

    async ended(action, { userId, sid, loginMethod, origin }) {
      count(loginMethod, action === 'auth.logout' ? 'logout' : 'refresh_reuse');
      const user = await store.users.byId(userId).catch(() => undefined);
      const who = { userId, username: user?.username ?? '', target: `user:${userId}` };
      await writeRow(action, who, { method: loginMethod, origin, detail: { session: sid } });
    },
  };
}

/** `none`: counted, without a row. `undefined`: an outer `watch` records it. */
function chooseAction({ confirms }: SignInAttempt, code: string): Action | 'none' | undefined {
  if (LOCKS.includes(code)) return 'auth.locked';
  if (confirms) return WRONG_CONFIRMATIONS.includes(code) ? 'auth.factor_failed' : undefined;
  return NO_FAILURES.includes(code) || !code.startsWith('auth.') ? 'none' : 'auth.login_failed';
}

/** The first `fullRows`, then each 2, 4, 8, … times as many. */
function shouldRecord(count: number, fullRows: number): boolean {
  if (count <= fullRows) return true;
  const times = count / fullRows;
  return Number.isInteger(Math.log2(times));
}

/** The length that people read. */
const clip = (text: string): string => text.slice(0, 200);
