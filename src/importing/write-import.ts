import { SETUP_OPTION } from '../auth/index.ts';
import { type Clock, OperatorError, type SecretBox } from '../kernel/index.ts';
import { ruleFor } from '../settings/index.ts';
import { type PriceRecord, type Repositories, ROLE, type Store } from '../store/ports/index.ts';
import type { PlannedChannel } from './plan-channels.ts';
import type { PlannedUser } from './plan-context.ts';
import type { PlannedOption } from './plan-options.ts';
import type { PlannedPlugin, PlannedProvider } from './plan-plugins-and-providers.ts';
import { priceId } from './plan-prices.ts';

type WriteDeps = { store: Store; clock: Clock; secretBox: SecretBox; sourceKey: string };

/** Everything but users. */
export type PlannedSettings = {
  providers: PlannedProvider[];
  channels: PlannedChannel[];
  plugins: PlannedPlugin[];
  prices: PriceRecord[];
  options: PlannedOption[];
  keepsIds: boolean;
  /** The highest id of a user in the source. */
  lastUserId: number;
};

/**
 * The running gateway writes between two steps. It may be waiting for the lock, and looks for it in
 * intervals that grow: most of the time must be free of it.
 */
const REST = 4;
const MAX_PAUSE_MS = 100;

/** Writes all settings in one transaction, so that a run which ends early writes all or none. */
export async function writeSettings(
  { store, clock, secretBox, sourceKey }: WriteDeps,
  planned: PlannedSettings,
): Promise<void> {
  const now = clock.unix();
  await store.transaction(async (tx) => {
    const rows = {
      channels: [] as { sourceId: string; targetId: number; createdAt: number }[],
      providers: [] as { sourceId: string; targetId: number; createdAt: number }[],
    };
    for (const { sourceId, provider } of planned.providers) {
      const created = await tx.providers.insert(provider);
      if (!created) throw changedMeanwhile();
      rows.providers.push({ sourceId, targetId: created.id, createdAt: now });
    }
    for (const { sourceId, channel, credentials } of planned.channels) {
      const { id, createdAt } = await tx.channels.insert(channel);
      const owned = { channelId: id, createdAt, updatedAt: now };
      await tx.credentials.insert(credentials.map((credential) => ({ ...credential, ...owned })));
      rows.channels.push({ sourceId, targetId: id, createdAt: now });
    }
    for (const { plugin, active } of planned.plugins) {
      if (!(await tx.plugins.insert(plugin, { waits: true }))) throw changedMeanwhile();
      if (active) await tx.plugins.activate(plugin.key, plugin.version);
      if (active && !plugin.enabled) await tx.plugins.setEnabled(plugin.key, false);
    }
    for (const price of planned.prices) await tx.prices.put(price);
    for (const { key, value } of planned.options) {
      const isSecret = ruleFor(key).type === 'secret' && value !== '';
      if (!(await tx.options.putIfAbsent(key, isSecret ? secretBox.seal(value) : value))) throw changedMeanwhile();
    }
    await tx.imports.remember(sourceKey, 'provider', rows.providers);
    await tx.imports.remember(sourceKey, 'channel', rows.channels);
    const prices = planned.prices.map((price) => ({ sourceId: priceId(price), targetId: 0, createdAt: now }));
    await tx.imports.remember(sourceKey, 'price', prices);
    const known = await tx.imports.targets(sourceKey, 'run', [KEEPS_IDS]);
    if (known.size > 0) return;
    await tx.imports.remember(sourceKey, 'run', [
      { sourceId: KEEPS_IDS, targetId: planned.keepsIds ? 1 : 0, createdAt: now },
    ]);
    if (planned.keepsIds) await tx.imports.reserveUserIds(planned.lastUserId);
  });
  for (const topic of ['plugins', 'channels', 'prices', 'options'] as const) await store.publish(topic);
}

/** The row that says whether users of the source keep their ids, for a run that goes on. */
export const KEEPS_IDS = 'keeps_ids';

/**
 * Users with all that belongs to them, in one transaction: balance, ledger line and the mark that
 * they were taken come together, so that no money is created twice.
 */
export async function writeUsers({ store, clock, sourceKey }: WriteDeps, users: readonly PlannedUser[]): Promise<void> {
  if (users.length === 0) return;
  const began = clock.monotonicMs();
  await store.transaction((tx) => writePage(tx, { users, sourceKey, now: clock.unix() }));
  await clock.sleep(Math.min((clock.monotonicMs() - began) * REST, MAX_PAUSE_MS));
}

async function writePage(
  tx: Repositories,
  { users, sourceKey, now }: { users: readonly PlannedUser[]; sourceKey: string; now: number },
): Promise<void> {
  if (users.some(({ record }) => record.role === ROLE.root)) await claimSetup(tx, now);
  const inviters = users.flatMap(({ inviter }) => (inviter > 0 ? [String(inviter)] : []));
  const known = await tx.imports.targets(sourceKey, 'user', inviters);
  const ids = await tx.imports.addUsers(
    users.map(({ record, inviter }) => ({ ...record, inviterId: known.get(String(inviter)) ?? 0 })),
  );
  const owned = users.map((user) => {
    const created = ids.get(user.record.username);
    if (!created) throw changedMeanwhile();
    return { ...user, ...created };
  });
  await tx.imports.remember(
    sourceKey,
    'user',
    owned.map(({ sourceId, userId }) => ({ sourceId, targetId: userId, createdAt: now })),
  );
  await tx.imports.addLines(
    owned
      .filter(({ balance }) => balance.amount !== 0)
      .map(({ walletId, balance }) => ({ walletId, ...balance, note: 'balance in new-api', createdAt: now })),
  );
  await tx.imports.addIdentities(
    owned.flatMap(({ userId, identities }) => identities.map((identity) => ({ ...identity, userId, createdAt: now }))),
  );
  await tx.imports.addKeys(
    owned.flatMap(({ userId, walletId, keys }) => keys.map((key) => ({ ...key, userId, walletId }))),
  );
  await tx.imports.addFactors(
    owned.flatMap(({ userId, factor }) => (factor ? [{ userId, ...factor, createdAt: now }] : [])),
  );
  await tx.imports.addPasskeys(
    owned.flatMap(({ userId, passkeys }) => passkeys.map((passkey) => ({ ...passkey, userId }))),
  );
  const here = new Map(owned.map(({ sourceId, userId }) => [sourceId, userId]));
  await tx.imports.setInviters(
    owned.flatMap(({ userId, inviter }) => {
      const inviterId = here.get(String(inviter));
      return inviterId === undefined || inviterId === userId ? [] : [{ userId, inviterId }];
    }),
  );
}

/** Somebody may be at the set-up page at this moment: one of the two makes the root account. */
async function claimSetup(tx: Repositories, now: number): Promise<void> {
  await tx.options.putIfAbsent(SETUP_OPTION, String(now));
  if ((await tx.users.countByRole(ROLE.root)) > 0) throw changedMeanwhile();
}

const changedMeanwhile = () =>
  new OperatorError(
    'while the import ran, somebody made something of the same name here. This step is not written: run the import again',
  );
