import { type SecretBox, sentence } from '../kernel/index.ts';
import type { CredentialRecord, NewCredential, Repositories } from '../store/ports/index.ts';
import { checkPool } from './capacity/declared-limits.ts';
import { type ChannelInput, type CredentialInput, checkEnteredKey, checkLabel } from './check-channel.ts';
import { channelErrors } from './errors.ts';

/** All of them are looked for in every answer of the vendor. */
export const MAX_CREDENTIALS = 1000;

type SealedCredential = Omit<NewCredential, 'channelId' | 'createdAt' | 'updatedAt'>;

/** The last four characters, if the key is long enough to reveal them safely. */
export const shortenKey = (key: string): string => (key.length >= 12 ? key.slice(-4) : '');

/**
 * The credentials that a new channel is given.
 * @throws `channels.invalid`
 */
export function checkCredentials({ key, credentials = [] }: Pick<ChannelInput, 'key' | 'credentials'>) {
  const all = [...(key === undefined ? [] : [{ key }]), ...credentials];
  if (all.length === 0) throw channelErrors.invalid({ param: 'key', message: sentence('channels.key_missing') });
  checkCount(all.length);
  return all;
}

/** @throws `channels.invalid` */
export function checkCount(count: number): void {
  if (count > MAX_CREDENTIALS) {
    const message = sentence('channels.list_max', { field: 'credentials', max: MAX_CREDENTIALS });
    throw channelErrors.invalid({ param: 'credentials', message });
  }
}

/**
 * Checks a credential and seals its key. `format`: how keys of the vendor look, for the refusal.
 * @throws `channels.invalid`
 */
export function sealCredential(secretBox: SecretBox, input: CredentialInput, format?: string): SealedCredential {
  const key = checkEnteredKey(input.key, format);
  return {
    keySealed: secretBox.seal(key),
    keyHint: shortenKey(key),
    label: checkLabel(input.label ?? ''),
    pool: checkPool(input.pool ?? ''),
    status: input.status ?? 1,
    expiresAt: input.expiresAt ?? 0,
  };
}

/**
 * Replaces the key of a channel that has one; its label, its limit and its tasks stay.
 * @throws `channels.several_credentials`
 */
export async function replaceOnlyKey(
  tx: Pick<Repositories, 'credentials'>,
  channelId: number,
  { keySealed, keyHint, updatedAt }: Pick<CredentialRecord, 'keySealed' | 'keyHint' | 'updatedAt'>,
): Promise<void> {
  const [only, ...others] = (await tx.credentials.ofChannel(channelId)).filter(({ removedAt }) => removedAt === 0);
  if (others.length > 0) throw channelErrors.several_credentials({ param: 'key' });
  if (only) await tx.credentials.update(only.id, { keySealed, keyHint, updatedAt });
}
