import { type Clock, isIdempotencyKey, type Logger, sha256Hex } from '../../kernel/index.ts';
import { type KeyOwner, type PresentedKey, ROLE, STATUS, type Store } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { type ApiPrincipal, parseAuthorization, type RequestOrigin } from '../principals.ts';
import { clipIp } from '../sessions/issue-session.ts';
import { API_KEY_STATE, apiKeyState } from './describe-api-key.ts';
import { assertKeyAllows } from './key-restrictions.ts';

export type ApiKeyUse = {
  /** `decidingIp` is checked against the key's list of addresses, `ip` is shown as its last one. */
  origin?: Pick<RequestOrigin, 'ip' | 'decidingIp'>;
  /**
   * `submit` (the default) for requests that cost money. `read` accepts a key whose budget is used
   * up: the last task that it paid for must stay readable.
   */
  purpose?: 'submit' | 'read';
  /**
   * The request's Idempotency-Key. A repeat of an earlier request costs nothing, so a key whose
   * budget is used up may send one: its client may have lost the answer.
   */
  idempotencyKey?: string | null;
};

export type AuthenticateApiKey = (authorization: string | undefined, use?: ApiKeyUse) => Promise<ApiPrincipal>;

const KEY = /^sk-[A-Za-z0-9]{48}$/;
/** Its last use is accurate to the minute: one write per key and minute, not per request. */
const TOUCH_EVERY_SECONDS = 60;

/**
 * Authenticates requests to API-key routes. The store is read every time, so that a disabled key or
 * user is refused at once. Panel credentials are not API keys and are refused as `_invalid`.
 *
 * @throws `auth.api_key_missing`, `_invalid`, `_disabled`, `_expired`, `_exhausted`,
 * `_user_disabled` or `_ip_not_allowed`.
 */
export function createApiKeyAuthenticator(deps: { store: Store; clock: Clock; logger: Logger }): AuthenticateApiKey {
  const { store, clock, logger } = deps;
  const touching = new Set<number>();

  /** In the background: the request neither waits for it nor fails with it. */
  function touch(key: PresentedKey, now: number, ip: string): void {
    if (now - key.lastUsedAt < TOUCH_EVERY_SECONDS || touching.has(key.id)) return;
    touching.add(key.id);
    void store.apiKeys
      .touch(key.id, { at: now, ip: clipIp(ip) })
      .catch((error: unknown) => logger.warn({ err: error, apiKeyId: key.id }, 'last use of an API key was not stored'))
      .finally(() => touching.delete(key.id));
  }

  const isRepeat = async (userId: number, key: string | null, now: number): Promise<boolean> =>
    key !== null && isIdempotencyKey(key) && (await store.idempotency.find(userId, key, now)) !== undefined;

  return async (authorization, { origin, purpose = 'submit', idempotencyKey = null } = {}) => {
    const credential = parseAuthorization(authorization);
    if (credential === undefined) throw authErrors.api_key_missing();
    const now = clock.unix();
    const keyHash = KEY.test(credential) ? sha256Hex(credential) : undefined;
    const found = keyHash === undefined ? undefined : await store.apiKeys.byHash(keyHash, now);
    if (keyHash === undefined || !found) throw authErrors.api_key_invalid();
    const { key, user } = found;
    if (user.status !== STATUS.enabled) throw authErrors.api_key_user_disabled();
    const state = apiKeyState(key, now);
    if (state === API_KEY_STATE.disabled) throw authErrors.api_key_disabled();
    if (state === API_KEY_STATE.expired) throw authErrors.api_key_expired();
    const spends = state === API_KEY_STATE.exhausted && purpose === 'submit';
    if (spends && !(await isRepeat(user.id, idempotencyKey, now))) throw authErrors.api_key_exhausted();
    if (origin) assertKeyAllows({ key, ip: origin.decidingIp });
    touch(key, now, origin?.ip ?? '');
    return { kind: 'api_key', user, key, keyHash, group: chooseGroup(key, user) };
  };
}

/** A group decides what a task costs. The key's own counts while its owner may still choose one. */
const chooseGroup = ({ group }: PresentedKey, user: KeyOwner): string =>
  group !== null && user.role >= ROLE.admin ? group : user.group;
