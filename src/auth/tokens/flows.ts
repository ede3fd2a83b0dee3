import { type Clock, hmacSha256Hex, type JsonObject, randomToken } from '../../kernel/index.ts';
import type { FlowMatch, FlowPurpose, FlowRecord, Repositories } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import type { PurposeKeys } from './session-keys.ts';

/** What the first step of a flow hands to the client. */
export type FlowTicket = { flow_token: string /** Unix seconds */; expires_at: number };

/**
 * What a flow is bound to, besides its purpose. A flow that is bound to one session is invalid in
 * any other.
 */
export type FlowBinding = { provider?: string; intent?: string; userId?: number; sessionId?: string };

export type NewFlow = { purpose: TicketPurpose; binding: FlowBinding; payload: JsonObject };

/** Identifies a flow: the client's token, and what it must be bound to. */
export type FlowKey = { token: string; purpose: TicketPurpose; binding: FlowBinding };

/**
 * Temporary authentication flows. The client holds a random token, the database only its digest.
 * Every method works in the caller's transaction, so that a flow is used up together with its
 * purpose or not at all.
 */
export interface Flows {
  begin(tx: Repositories, flow: NewFlow): Promise<FlowTicket>;
  /** The flow, still unused. Throws like `consume`. */
  find(tx: Repositories, key: FlowKey): Promise<FlowRecord>;
  /**
   * Uses the flow up.
   *
   * @throws `auth.flow_invalid` when it is unknown, expired, used, or bound to something else.
   */
  consume(tx: Repositories, key: FlowKey): Promise<FlowRecord>;
  /**
   * Registers a signed assertion until it expires.
   *
   * @throws `auth.assertion_replayed` when it was registered before.
   */
  claimAssertion(tx: Repositories, assertion: { provider: string; text: string; expiresAt: number }): Promise<void>;
}

/** Purposes with a token that a client holds, and their lifetimes (as in new-api). */
const LIFETIME_SECONDS = {
  oauth: 600,
  '2fa_login': 300,
  passkey_login: 300,
  passkey_register: 300,
  passkey_step_up: 300,
  telegram_bind: 300,
  wechat_login: 600,
} as const satisfies Partial<Record<FlowPurpose, number>>;
export type TicketPurpose = keyof typeof LIFETIME_SECONDS;

/** 256 bits. */
const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

export function createFlows(keys: PurposeKeys, clock: Clock): Flows {
  /** The first flow that `look` finds for the digests of `token`: current secret first. */
  async function lookUp(token: string, look: (hash: string) => Promise<FlowRecord | undefined>): Promise<FlowRecord> {
    if (TOKEN.test(token)) {
      for (const key of keys) {
        const flow = await look(hmacSha256Hex(key, token));
        if (flow) return flow;
      }
    }
    throw authErrors.flow_invalid();
  }
  // A part of the binding that is left out matches only flows without it: an anonymous flow never
  // passes for a session's flow, nor the reverse. Two purposes do not name the user again: the
  // second step after a first factor, and the return from Telegram, which names no session either.
  const matching = ({ purpose, binding: { provider, intent, userId, sessionId } }: FlowKey): FlowMatch => ({
    purpose,
    provider: provider ?? '',
    intent: intent ?? '',
    ...(purpose === 'telegram_bind' ? {} : { sessionId: sessionId ?? '' }),
    ...(purpose === '2fa_login' || purpose === 'telegram_bind' ? {} : { userId: userId ?? 0 }),
  });

  return {
    async begin(tx, { purpose, binding, payload }) {
      const token = randomToken(TOKEN_BYTES);
      const now = clock.unix();
      const expiresAt = now + LIFETIME_SECONDS[purpose];
      await tx.flows.insert({
        tokenHash: hmacSha256Hex(keys[0], token),
        purpose,
        provider: binding.provider ?? '',
        intent: binding.intent ?? '',
        userId: binding.userId ?? 0,
        sessionId: binding.sessionId ?? '',
        payload,
        createdAt: now,
        expiresAt,
        consumedAt: null,
      });
      return { flow_token: token, expires_at: expiresAt };
    },
    find: (tx, key) => lookUp(key.token, (hash) => tx.flows.find(hash, matching(key), clock.unix())),
    consume: (tx, key) => lookUp(key.token, (hash) => tx.flows.consume(hash, matching(key), clock.unix())),
    async claimAssertion(tx, { provider, text, expiresAt }) {
      const now = clock.unix();
      // Under every secret: while SESSION_SECRET is being rotated, another node may still know only
      // the former one.
      for (const key of keys) {
        const claimed = await tx.flows.insert({
          tokenHash: hmacSha256Hex(key, `assertion:${provider}:${text}`),
          purpose: 'telegram_assertion',
          provider,
          intent: '',
          userId: 0,
          sessionId: '',
          payload: {},
          createdAt: now,
          expiresAt,
          consumedAt: now,
        });
        if (!claimed) throw authErrors.assertion_replayed();
      }
    },
  };
}
