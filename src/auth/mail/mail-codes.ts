import { type Clock, hmacSha256Hex, type JsonObject, randomBelow, randomToken, sha256Hex } from '../../kernel/index.ts';
import type { Counters, FlowRecord, Repositories, Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { createRequestLimit, type RequestLimit } from '../limits/limit-requests.ts';
import type { PurposeKeys } from '../tokens/session-keys.ts';

/**
 * `email_verify` (a new account) and `email_bind` are codes that a person types; `password_reset`
 * is the token of a link.
 */
export type MailCodePurpose = 'email_verify' | 'email_bind' | 'password_reset';

/** The person whom a code is for. `userId` 0: there is no user yet. */
export type CodeHolder = { purpose: MailCodePurpose; address: string; userId: number };

/** A code that is right and still unused. */
export type VerifiedCode = {
  readonly flow: FlowRecord;
  /**
   * Uses it up in the caller's transaction; only one of many callers succeeds. Throws like `check`.
   */
  consume(tx: Repositories): Promise<void>;
};

/**
 * Codes and links that prove an email address. Each holder has at most one valid code; a new one
 * replaces it. The database stores only digests, which reveal neither address nor code.
 */
export interface MailCodes {
  /** Makes a code and invalidates the one before. */
  issue(tx: Repositories, holder: CodeHolder, payload?: JsonObject): Promise<string>;
  /**
   * Each call counts and commits a try of a code before the code is checked.
   *
   * @throws `auth.code_invalid`, for a link `auth.flow_invalid`: wrong, expired, used, or tried too
   * often.
   */
  check(holder: CodeHolder, code: string): Promise<VerifiedCode>;
}

/** Minutes that codes and links are valid (as in new-api). */
export const MAIL_CODE_MINUTES = 10;
/** Digits of a code: five tries succeed with a chance of one in twenty million. */
const DIGITS = 8;
const MAX_TRIES = 5;
/**
 * 256 bits need no limit of tries: counting them would only let strangers use up a person's link.
 */
const LINK_BYTES = 32;

export function createMailCodes(deps: { store: Store; clock: Clock; keys: PurposeKeys }): MailCodes {
  const { store, clock, keys } = deps;

  return {
    async issue(tx, holder, payload = {}) {
      const code = isLink(holder) ? randomToken(LINK_BYTES) : String(randomBelow(10 ** DIGITS)).padStart(DIGITS, '0');
      const now = clock.unix();
      await tx.flows.putCode({
        tokenHash: holderDigest(keys[0], holder),
        secretHash: codeDigest(keys[0], holder, code),
        purpose: holder.purpose,
        provider: '',
        intent: '',
        userId: holder.userId,
        sessionId: '',
        payload,
        createdAt: now,
        expiresAt: now + MAIL_CODE_MINUTES * 60,
      });
      return code;
    },

    async check(holder, typed) {
      const { purpose } = holder;
      const code = typed.trim();
      const wrong = isLink(holder) ? authErrors.flow_invalid : authErrors.code_invalid;
      for (const key of keys) {
        const token = holderDigest(key, holder);
        if (!isLink(holder)) {
          const tries = await store.flows.countTry({ tokenHash: token, purpose, limit: MAX_TRIES, now: clock.unix() });
          if (tries === undefined) continue;
        }
        const secretHashes = [codeDigest(key, holder, code)];
        const flow = await store.flows.findCode({ tokenHash: token, purpose, secretHashes, now: clock.unix() });
        if (!flow) continue;
        return {
          flow,
          async consume(tx) {
            const code = { tokenHash: token, purpose, secretHashes, now: clock.unix() };
            if (!(await tx.flows.takeCode(code))) throw wrong();
          },
        };
      }
      throw wrong();
    },
  };
}

const isLink = ({ purpose }: CodeHolder): boolean => purpose === 'password_reset';

/** JSON, so that two different lists of parts never give the same text. */
const holderDigest = (key: Uint8Array, { purpose, address, userId }: CodeHolder): string =>
  hmacSha256Hex(key, JSON.stringify(['mail', purpose, address, userId]));

const codeDigest = (key: Uint8Array, { purpose, address, userId }: CodeHolder, code: string): string =>
  hmacSha256Hex(key, JSON.stringify(['mail-code', purpose, address, userId, code]));

/** Requests for a code: 2 per 30 seconds and client address (as in new-api). */
export const createCodeRequestLimit = (counters: Counters): RequestLimit =>
  createRequestLimit(counters, { name: 'mail-code', limit: 2, windowSeconds: 30 });

/**
 * Whether one more email of this kind may go to an address. The count is per mailbox, whatever the
 * client, so that nobody can flood it. Above the limit callers get the same answer, and the last
 * code stays valid: it is not older than the window.
 */
export type MailLimit = (kind: string, address: string) => Promise<boolean>;

const PER_MAILBOX = { limit: 5, windowSeconds: MAIL_CODE_MINUTES * 60 };

export function createMailLimit(counters: Counters): MailLimit {
  return async (kind, address) => {
    const key = `mailbox:${kind}:${sha256Hex(address)}`;
    const { count } = await counters.add(key, 1, PER_MAILBOX.windowSeconds);
    return count <= PER_MAILBOX.limit;
  };
}
