import { type Clock, randomAlnum, type SecretBox, sentence, sha256Hex } from '../../kernel/index.ts';
import { LONGEST_FORMER_SECONDS, type Store } from '../../store/ports/index.ts';
import type { AuthSettings } from '../config.ts';
import { authErrors, invalidField } from '../errors.ts';
import type { PanelPrincipal } from '../principals.ts';
import { type ApiKeyView, describeApiKey, isFormerKeyValid } from './describe-api-key.ts';

/** `key` is the clear text of the new key, shown only in this answer. */
export type RotatedApiKey = ApiKeyView & { key: string };

type Deps = { store: Store; clock: Clock; secretBox: SecretBox; settings: () => AuthSettings };

/** A day, long enough to change the key in the programs that use it. */
const DEFAULT_SECONDS = 24 * 3600;

export type KeyRotation = {
  keepSeconds?: number | undefined;
  /**
   * The prefix of the key to replace, as the caller last saw it. If it differs now, somebody else
   * was first.
   */
  prefix?: string | undefined;
  /** `former`: the key that was replaced before works on, and the present one stops. */
  keep?: 'present' | 'former' | undefined;
};

/**
 * Replaces one of the caller's own keys. The old one works for `keepSeconds` more; one that was
 * replaced before it stops now. After an answer that never arrived, nobody has the present key:
 * with `keep: 'former'` it stops instead of the one that programs still use.
 *
 * @throws `auth.api_key_not_found` for any other key; `auth.api_key_rotated` when another rotation
 * was first, whose key would otherwise be replaced before its owner has copied it, and where there
 * is no former key to keep.
 */
export async function rotateApiKey(
  deps: Deps,
  { user }: PanelPrincipal,
  { id, keepSeconds = DEFAULT_SECONDS, prefix, keep }: KeyRotation & { id: number },
): Promise<RotatedApiKey> {
  const { store, clock } = deps;
  if (!Number.isSafeInteger(keepSeconds) || keepSeconds < 0 || keepSeconds > LONGEST_FORMER_SECONDS) {
    throw invalidField('keep_seconds', sentence('auth.integer_range', { max: LONGEST_FORMER_SECONDS }));
  }
  const present = await store.apiKeys.byId(id);
  if (present?.userId !== user.id) throw authErrors.api_key_not_found();
  const key = newApiKey();
  const now = clock.unix();
  const keepsFormer = keep === 'former';
  const hasFormer = isFormerKeyValid(present, now);
  if ((prefix !== undefined && prefix !== present.prefix) || (keepsFormer && !hasFormer)) {
    throw authErrors.api_key_rotated();
  }
  const rotated = await store.apiKeys.rotate(id, user.id, {
    presentHash: present.keyHash,
    keyHash: key.hash,
    prefix: key.prefix,
    formerUntil: now + keepSeconds,
    keepsFormer,
  });
  if (!rotated) throw authErrors.api_key_rotated();
  return { ...(await describeApiKey(deps, rotated)), key: key.text };
}

/**
 * Ends the replaced key of one of the caller's own keys; its next use is refused. `prefix`: of the
 * replaced key as the caller last saw it.
 *
 * @throws `auth.api_key_not_found` for any other key; `auth.api_key_rotated` when another key was
 * replaced since, which programs may still use.
 */
export async function endFormerApiKey(
  deps: Deps,
  { user }: PanelPrincipal,
  { id, prefix }: { id: number; prefix?: string | undefined },
): Promise<ApiKeyView> {
  const { store } = deps;
  const ended = (await store.apiKeys.endFormer(id, user.id, prefix)) ?? (await store.apiKeys.byId(id));
  if (ended?.userId !== user.id) throw authErrors.api_key_not_found();
  if (ended.formerHash !== '') throw authErrors.api_key_rotated();
  return describeApiKey(deps, ended);
}

/** `sk-` and 48 letters and digits, 285 random bits. */
const KEY_LENGTH = 48;
/** `sk-` and eight characters stay readable; 238 bits stay secret. */
const PREFIX_LENGTH = 11;

/** `text` is shown once; `hash` and `prefix` are stored. */
export function newApiKey(): { text: string; hash: string; prefix: string } {
  const text = `sk-${randomAlnum(KEY_LENGTH)}`;
  return { text, hash: sha256Hex(text), prefix: text.slice(0, PREFIX_LENGTH) };
}
