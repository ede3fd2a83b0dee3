import type { Clock, SecretBox } from '../kernel/index.ts';
import type { ChannelRecord, CredentialRecord, Store } from '../store/ports/index.ts';
import { checkPool } from './capacity/declared-limits.ts';
import { boundPlugin, type CredentialInput, checkLabel, type PluginFacts } from './check-channel.ts';
import { checkCount, sealCredential } from './credentials.ts';
import { channelErrors } from './errors.ts';

export type CredentialChange = Partial<CredentialInput>;

/** The keys of a channel as people keep them. */
export type CredentialService = {
  /** Those in use, in order of id. @throws `channels.not_found` */
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
  plugins: PluginFacts;
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
