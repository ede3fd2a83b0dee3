/**
 * The keys of a channel as people manage them. A key that the vendor refuses rests: `REST_MS` in
 * `capacity/rests.ts` says how long. `tasks/submission/classify-refusal.ts` recognises the refusal.
 */
import { type Clock, type SecretBox, sentence } from '../kernel/index.ts';
import type { ChannelRecord, CredentialRecord, NewCredential, Repositories, Store } from '../store/ports/index.ts';
import {
  boundPlugin,
  type ChannelInput,
  type CredentialInput,
  checkEnteredKey,
  checkLabel,
  checkPool,
  type PluginLookup,
} from './check-channel.ts';
import { channelErrors } from './errors.ts';

/**
 * Most keys of a channel: all of them are looked for in every answer of the vendor. Which of them
 * serves a task is decided in `pick-account.ts`.
 */
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
function checkCount(count: number): void {
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

export type CredentialChange = Partial<CredentialInput>;

/** The keys of a channel as people keep them. */
export type CredentialService = {
  /** The credentials in use, in order of id. @throws `channels.not_found` */
  list(channelId: number): Promise<CredentialRecord[]>;
  /** @throws `channels.invalid` */
  add(channelId: number, inputs: readonly CredentialInput[]): Promise<CredentialRecord[]>;
  /** A new key takes the place of the former one, also for what was begun with it. */
  update(
    channelId: number,
    id: number,
    change: CredentialChange,
  ): Promise<{ before: CredentialRecord; after: CredentialRecord }>;
  /** It stays sealed for what was begun with it. @throws `channels.last_credential` */
  remove(channelId: number, id: number): Promise<CredentialRecord>;
};

export function createCredentialService(deps: {
  store: Store;
  clock: Clock;
  secretBox: SecretBox;
  plugins: PluginLookup;
  getChannel: (id: number) => Promise<ChannelRecord>;
  reloadAndPublish: () => Promise<void>;
}): CredentialService {
  const { store, clock, secretBox, plugins, getChannel, reloadAndPublish } = deps;

  async function list(channelId: number): Promise<CredentialRecord[]> {
    await getChannel(channelId);
    return (await store.credentials.ofChannel(channelId)).filter(({ removedAt }) => removedAt === 0);
  }

  async function find(channelId: number, id: number): Promise<CredentialRecord> {
    const found = (await list(channelId)).find((credential) => credential.id === id);
    if (!found) throw channelErrors.credential_not_found();
    return found;
  }

  return {
    list,

    async add(channelId, inputs) {
      const channel = await getChannel(channelId);
      const format = boundPlugin(plugins, channel)?.keyFormat;
      const now = clock.unix();
      const rows = inputs.map((input) => ({
        ...sealCredential(secretBox, input, format),
        ...{ channelId, createdAt: now, updatedAt: now },
      }));
      checkCount((await list(channelId)).length + rows.length);
      const added = await store.credentials.insert(rows);
      await reloadAndPublish();
      return added;
    },

    async update(channelId, id, { key, label, pool, status, expiresAt }) {
      const before = await find(channelId, id);
      const format = boundPlugin(plugins, await getChannel(channelId))?.keyFormat;
      const sealed = key === undefined ? undefined : sealCredential(secretBox, { key }, format);
      const after = await store.credentials.update(id, {
        ...(sealed ? { keySealed: sealed.keySealed, keyHint: sealed.keyHint } : {}),
        ...(label === undefined ? {} : { label: checkLabel(label) }),
        ...(pool === undefined ? {} : { pool: checkPool(pool) }),
        ...(status === undefined ? {} : { status }),
        ...(expiresAt === undefined ? {} : { expiresAt }),
        updatedAt: clock.unix(),
      });
      if (!after) throw channelErrors.credential_not_found();
      await reloadAndPublish();
      return { before, after };
    },

    async remove(channelId, id) {
      const before = await find(channelId, id);
      if (!(await store.credentials.remove(id, clock.unix()))) throw channelErrors.last_credential();
      await reloadAndPublish();
      return before;
    },
  };
}
