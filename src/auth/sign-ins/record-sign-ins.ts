import { AppError, type Clock, deriveKey, hmacSha256Hex, type JsonObject, type Logger } from '../../kernel/index.ts';
import type { Counters, Store, UserRecord } from '../../store/ports/index.ts';
import type { AuthConfig } from '../config.ts';
import { addressKey } from '../limits/address-key.ts';
import type { RequestOrigin } from '../types.ts';

type Action =
  | 'auth.login'
  | 'auth.login_failed'
  | 'auth.locked'
  | 'auth.factor_failed'
  | 'auth.refresh_reuse'
  | 'auth.logout';

/**
 * A try to sign in, or to confirm something inside a session. What is learned about it while it
 * runs is put into it.
 */
export type SignInAttempt = {
  /** `password`, `2fa`, `passkey`, `oauth:<provider>`, `telegram`, `wechat`. */
  method: string;
  origin: RequestOrigin;
  /** The account, where one is known. */
  userId?: number;
  /** The name or mail address that was typed. */
  login?: string;
  /** What else says who it is: an identity at a provider, a passkey. */
  identity?: string;
  /** A code or a password that confirms something, rather than a sign-in. */
  confirms?: true;
};

/**
 * For the metrics: both come from closed sets, but for the slugs of providers, which stand as
 * `oauth`.
 */
export type SignInSample = { method: string; outcome: string };

/**
 * Enters sign-ins into the audit log and counts them. Trouble with the log is logged and changes no
 * answer.
 */
export interface SignIns {
  /** Runs an attempt and records how it failed; gives and rejects what it does. */
  watch<T>(attempt: SignInAttempt, work: (attempt: SignInAttempt) => Promise<T>): Promise<T>;
  /** A session was opened. */
  succeeded(login: { method: string; origin: RequestOrigin; user: UserRecord; sid: string }): Promise<void>;
  /** The first step was right and a second factor is due: counted alone. */
  secondFactorDue(method: string): void;
  /** A session has ended: by its user, or because a refresh token was used again. */
  ended(
    action: 'auth.logout' | 'auth.refresh_reuse',
    session: { userId: number; sid: string; loginMethod: string; origin: RequestOrigin },
  ): Promise<void>;
}

const WINDOW_SECONDS = 60 * 60;
/**
 * Failures an hour that have a row each: of one account, and of all. Above, each doubling of their
 * number has one, which says it. Those at names without an account count apart: whoever makes names
 * up takes no row from an account.
 */
const EACH_OF_ACCOUNT = 20;
const EACH_OF_ALL = 500;
/**
 * Seconds in which a lock has one row for an account and address; without an account, for the
 * address.
 */
const LOCK_SECONDS = 15 * 60;

const LOCKS = ['auth.too_many_attempts', 'auth.code_locked'];
const WRONG_CONFIRMATIONS = ['auth.code_invalid', 'auth.password_invalid', 'auth.passkey_invalid'];
/**
 * What says nothing about whoever tries: a form that is wrong or old, a method that is off, trouble
 * of ours or of a provider.
 */
const NO_FAILURES = [
  ...['auth.validation_failed', 'auth.method_disabled', 'auth.flow_invalid', 'auth.unavailable', 'auth.rate_limited'],
  ...['auth.provider_failed', 'auth.changed_meanwhile', 'auth.provider_not_found'],
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
  // Of the lasting secret: a name has one digest, however often sessions are ended by a new
  // SESSION_SECRET.
  const nameKey = deriveKey(config.cryptoSecrets[0], 'sign-in-name.v1');
  /** One failure passes several watches, from the code's check to the sign-in's end. */
  const recorded = new WeakSet<object>();

  const count = (method: string, outcome: string) =>
    deps.onSignIn?.({ method: method.startsWith('oauth:') ? 'oauth' : method, outcome });

  async function add(
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
      logger.error({ err: error, audit: row }, 'an audit row could not be stored');
    }
  }

  const digest = (name: string) => hmacSha256Hex(nameKey, name).slice(0, 32);
  const nameOf = ({ userId, login, identity }: SignInAttempt): string =>
    userId === undefined ? digest(`${login?.toLowerCase() ?? identity ?? ''}`) : `user:${userId}`;

  async function find({ userId, login }: SignInAttempt): Promise<UserRecord | undefined> {
    if (userId !== undefined) return store.users.byId(userId);
    return login === undefined ? undefined : store.users.byLogin(login);
  }

  /** What a failure's row says about how many there were; `undefined`: it has none. */
  async function admit(action: Action, attempt: SignInAttempt, isAccount: boolean): Promise<JsonObject | undefined> {
    const name = nameOf(attempt);
    const own = action === 'auth.locked' ? undefined : await counters.add(`audit-failed:${name}`, 1, WINDOW_SECONDS);
    if (own) {
      if (!isTold(own.count, EACH_OF_ACCOUNT)) return undefined;
    } else {
      const key = `audit-locked:${isAccount ? name : 'no account'}:${addressKey(attempt.origin.decidingIp)}`;
      if ((await counters.add(key, 1, LOCK_SECONDS)).count > 1) return undefined;
    }
    const all = await counters.add(isAccount ? 'audit-failed' : 'audit-failed-no-account', 1, WINDOW_SECONDS);
    if (!isTold(all.count, EACH_OF_ALL)) return undefined;
    return {
      ...(own && own.count > EACH_OF_ACCOUNT ? { failures_this_hour: own.count } : {}),
      ...(all.count > EACH_OF_ALL ? { all_failures_this_hour: all.count } : {}),
    };
  }

  async function failed(attempt: SignInAttempt, error: AppError): Promise<void> {
    const action = judge(attempt, error.code);
    if (action === undefined) return;
    recorded.add(error);
    const reason = error.code.replace(/^auth\./, '');
    count(attempt.method, reason);
    if (action === 'none') return;
    try {
      const user = await find(attempt);
      const numbers = await admit(action, attempt, user !== undefined || attempt.userId !== undefined);
      if (!numbers) return;
      const who = user
        ? { userId: user.id, username: user.username, target: `user:${user.id}` }
        : { userId: null, username: '', target: `name:${nameOf(attempt)}` };
      const detail = { reason, user_agent: clip(attempt.origin.userAgent), ...numbers };
      // The answer does not wait: whether there is a row depends on whether there is an account.
      void add(action, who, { ...attempt, detail });
    } catch (trouble) {
      logger.error({ err: trouble, action, method: attempt.method }, 'an audit row could not be stored');
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
      await add('auth.login', who, { method, origin, detail: { session: sid, user_agent: clip(origin.userAgent) } });
    },

    secondFactorDue: (method) => count(method, 'second_factor_due'),

    async ended(action, { userId, sid, loginMethod, origin }) {
      count(loginMethod, action === 'auth.logout' ? 'logout' : 'refresh_reuse');
      const user = await store.users.byId(userId).catch(() => undefined);
      const who = { userId, username: user?.username ?? '', target: `user:${userId}` };
      await add(action, who, { method: loginMethod, origin, detail: { session: sid } });
    },
  };
}

/** `none`: counted alone. `undefined`: left to whoever watches further out. */
function judge({ confirms }: SignInAttempt, code: string): Action | 'none' | undefined {
  if (LOCKS.includes(code)) return 'auth.locked';
  if (confirms) return WRONG_CONFIRMATIONS.includes(code) ? 'auth.factor_failed' : undefined;
  return NO_FAILURES.includes(code) || !code.startsWith('auth.') ? 'none' : 'auth.login_failed';
}

/** The first `each`, then 2, 4, 8, … times as many. */
function isTold(count: number, each: number): boolean {
  if (count <= each) return true;
  const times = count / each;
  return Number.isInteger(Math.log2(times));
}

/** As much of a browser's own name as people read. */
const clip = (text: string): string => text.slice(0, 200);
