import { type Clock, type Logger, sha256Hex } from '../../kernel/index.ts';
import { type ApiKeyRecord, ROLE, type Store, type UserRecord } from '../../store/ports/index.ts';
import { authErrors } from '../errors.ts';
import { parseAuthorization } from '../parse-authorization.ts';
import { USER_ENABLED } from '../sessions/check-session.ts';
import type { ApiPrincipal, DecidingIp } from '../types.ts';
import { assertKeyAllows } from './assert-key-allows.ts';
import { apiKeyState } from './describe-api-key.ts';

export type ApiKeyUse = {
  /**
   * Where the request comes from, checked against the key's list of addresses; left out where that
   * is not known.
   */
  ip?: DecidingIp;
  /**
   * `submit` (the default) for what costs money. `read` lets a key through whose budget is used up:
   * the last task that it paid for must still be readable.
   */
  purpose?: 'submit' | 'read';
};

export type AuthenticateApiKey = (authorization: string | undefined, use?: ApiKeyUse) => Promise<ApiPrincipal>;

const KEY = /^sk-[A-Za-z0-9]{48}$/;
/** `last_used_at` is told to the minute: one write a key and minute, not one a request. */
const TOUCH_EVERY_SECONDS = 60;

/**
 * Who speaks on an API-key route. The store is read every time, so that a key or user that is
 * disabled is refused at once. Rejects with `auth.api_key_missing`, `_invalid`, `_disabled`,
 * `_expired`, `_exhausted`, `_user_disabled` or `_ip_not_allowed`. Panel credentials have no place
 * here: they are no API keys and are refused as such.
 */
export function createAuthenticateApiKey(deps: { store: Store; clock: Clock; logger: Logger }): AuthenticateApiKey {
  const { store, clock, logger } = deps;
  const touching = new Set<number>();

  /** Beside the request: its time is worth neither a wait nor a failure. */
  function touch(key: ApiKeyRecord, now: number): void {
    if (now - key.lastUsedAt < TOUCH_EVERY_SECONDS || touching.has(key.id)) return;
    touching.add(key.id);
    void store.apiKeys
      .touch(key.id, now)
      .catch((error: unknown) => logger.warn({ err: error, apiKeyId: key.id }, 'last use of an API key was not stored'))
      .finally(() => touching.delete(key.id));
  }

  return async (authorization, { ip, purpose = 'submit' } = {}) => {
    const credential = parseAuthorization(authorization);
    if (credential === undefined) throw authErrors.api_key_missing();
    const found = KEY.test(credential) ? await store.apiKeys.byHash(sha256Hex(credential)) : undefined;
    if (!found) throw authErrors.api_key_invalid();
    const { key, user } = found;
    if (user.status !== USER_ENABLED) throw authErrors.api_key_user_disabled();
    const now = clock.unix();
    const state = apiKeyState(key, now);
    if (state === 2) throw authErrors.api_key_disabled();
    if (state === 3) throw authErrors.api_key_expired();
    if (state === 4 && purpose === 'submit') throw authErrors.api_key_exhausted();
    if (ip !== undefined) assertKeyAllows({ key, ip });
    touch(key, now);
    return { kind: 'api_key', user, key, group: groupOf(key, user) };
  };
}

/** A group decides what a task costs: a key's own counts while its owner may still name it. */
const groupOf = ({ group }: ApiKeyRecord, user: UserRecord): string =>
  group !== null && user.role >= ROLE.admin ? group : user.group;
