import { type Clock, hmacSha256Hex, type JsonObject, randomBelow, randomToken } from '../../kernel/index.ts';
import type { FlowRecord, Repositories, Store } from '../../store/ports/index.ts';
import type { PurposeKeys } from '../derive-keys.ts';
import { authErrors } from '../errors.ts';

/**
 * `email_verify` (a new account) and `email_bind` are codes that a person types; `password_reset`
 * is the token of a link.
 */
export type MailCodePurpose = 'email_verify' | 'email_bind' | 'password_reset';

/**
 * Whom a code is for. `userId` 0: nobody yet. Codes for another user or address are other codes.
 */
export type CodeHolder = { purpose: MailCodePurpose; address: string; userId: number };

/** A code that was right and is still unused. */
export type RightCode = {
  readonly flow: FlowRecord;
  /**
   * Uses it up in the transaction of what it is for; of many callers one passes. Rejects as
   * `check`.
   */
  take(tx: Repositories): Promise<void>;
};

/**
 * Codes and links that prove a mail address. One is alive for each holder; a new one takes the
 * place of the former. The database keeps digests only, which tell neither address nor code.
 */
export interface MailCodes {
  /** Makes a code, in place of the one before, and gives it. */
  issue(tx: Repositories, holder: CodeHolder, payload?: JsonObject): Promise<string>;
  /**
   * Rejects with `auth.code_invalid`, for a link with `auth.flow_invalid`: wrong, expired, used, or
   * tried too often. Each call counts a try of a code, and commits it, before anything is looked
   * at.
   */
  check(holder: CodeHolder, code: string): Promise<RightCode>;
}

/** Minutes that codes and links are valid (as in new-api). */
export const MAIL_CODE_MINUTES = 10;
/** Digits of a code: with five tries one guess in twenty million is right. */
const DIGITS = 8;
const MAX_TRIES = 5;
/**
 * 256 bits, which need no count of tries: counting would only let strangers use up somebody's link.
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
        const secrets = [codeDigest(key, holder, code)];
        const flow = await store.flows.findCode({
          tokenHash: token,
          purpose,
          secretHashes: secrets,
          now: clock.unix(),
        });
        if (!flow) continue;
        return {
          flow,
          async take(tx) {
            if (!(await tx.flows.takeCode({ tokenHash: token, purpose, secretHashes: secrets, now: clock.unix() })))
              throw wrong();
          },
        };
      }
      throw wrong();
    },
  };
}

const isLink = ({ purpose }: CodeHolder): boolean => purpose === 'password_reset';

/** As JSON, so that no two different lists of parts make one text. */
const holderDigest = (key: Uint8Array, { purpose, address, userId }: CodeHolder): string =>
  hmacSha256Hex(key, JSON.stringify(['mail', purpose, address, userId]));

const codeDigest = (key: Uint8Array, { purpose, address, userId }: CodeHolder, code: string): string =>
  hmacSha256Hex(key, JSON.stringify(['mail-code', purpose, address, userId, code]));
