import { type Clock, hmacSha256Hex, type JsonObject, randomToken } from '../../kernel/index.ts';
import type { FlowMatch, FlowPurpose, FlowRecord, Repositories } from '../../store/ports/index.ts';
import type { PurposeKeys } from '../derive-keys.ts';
import { authErrors } from '../errors.ts';

/** What a begin step hands to the client. */
export type FlowTicket = { flow_token: string /** Unix seconds */; expires_at: number };

/**
 * What a flow is bound to, besides its purpose. A flow that is bound to a session is of no use in
 * another.
 */
export type FlowBinding = { provider?: string; intent?: string; userId?: number; sessionId?: string };

/**
 * Temporary authentication flows. The client holds a random token, the database only its digest.
 * Every method works in the caller's transaction, so that using a flow up and what it was for
 * happen together or not at all.
 */
export interface Flows {
  begin(tx: Repositories, purpose: TicketPurpose, binding: FlowBinding, payload: JsonObject): Promise<FlowTicket>;
  /** The flow, still unused. Rejects with `auth.flow_invalid` like `consume`. */
  find(tx: Repositories, token: string, purpose: TicketPurpose, binding: FlowBinding): Promise<FlowRecord>;
  /**
   * Uses the flow up. Rejects with `auth.flow_invalid` when it is unknown, expired, used, or bound
   * to something else.
   */
  consume(tx: Repositories, token: string, purpose: TicketPurpose, binding: FlowBinding): Promise<FlowRecord>;
  /**
   * Registers a signed assertion that was presented, until it can no longer be valid. Rejects with
   * `auth.assertion_replayed` when it was presented before.
   */
  claimAssertion(tx: Repositories, assertion: { provider: string; text: string; expiresAt: number }): Promise<void>;
}

/** Purposes of which a client holds a token, with their lives in seconds (as in new-api). */
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
  /**
   * The first answer that `look` gives for the digests of `token`, under the current secret and
   * then older ones.
   */
  async function lookUp(token: string, look: (hash: string) => Promise<FlowRecord | undefined>): Promise<FlowRecord> {
    if (TOKEN.test(token)) {
      for (const key of keys) {
        const flow = await look(hmacSha256Hex(key, token));
        if (flow) return flow;
      }
    }
    throw authErrors.flow_invalid();
  }
  // A binding that is left out means a flow without it: an anonymous flow never passes for one of a
  // session, nor the reverse. Only whoever proved a first factor, or comes back from Telegram,
  // presents a flow whose user or session he does not name again.
  const matching = (purpose: TicketPurpose, { provider, intent, userId, sessionId }: FlowBinding): FlowMatch => ({
    purpose,
    provider: provider ?? '',
    intent: intent ?? '',
    ...(purpose === 'telegram_bind' ? {} : { sessionId: sessionId ?? '' }),
    ...(purpose === '2fa_login' || purpose === 'telegram_bind' ? {} : { userId: userId ?? 0 }),
  });

  return {
    async begin(tx, purpose, binding, payload) {
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
    find: (tx, token, purpose, binding) =>
      lookUp(token, (hash) => tx.flows.find(hash, matching(purpose, binding), clock.unix())),
    consume: (tx, token, purpose, binding) =>
      lookUp(token, (hash) => tx.flows.consume(hash, matching(purpose, binding), clock.unix())),
    async claimAssertion(tx, { provider, text, expiresAt }) {
      const now = clock.unix();
      // Under every secret: while SESSION_SECRET is rotated, another node may know the older one
      // alone.
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
