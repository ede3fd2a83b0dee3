import {
  type CapacityKey,
  type ChannelRecord,
  type CountedAccount,
  type CredentialRecord,
  type DeclaredLimits,
  RELAY_TYPE,
  STATUS,
} from '../../store/ports/index.ts';
import type { VendorAccount } from '../pick-account.ts';
import { findStrictest, ownPool } from './declared-limits.ts';
import type { HeldSlots, Level, Scope, Start } from './types.ts';

/** The pool that a channel's credentials share where they name none. */
export const findChannelPool = ({ id, pool }: Pick<ChannelRecord, 'id' | 'pool'>): string => pool || ownPool(id);
/** The pool whose accounts share this account's limit. */
export const findPool = ({ channel, credential }: VendorAccount): string => credential.pool || findChannelPool(channel);

/** Pool and model in one text. The name of a pool has no line end. */
export const keyText = ({ pool, model }: CapacityKey): string => `${pool}\n${model}`;

/** A channel's own pool, and those that its credentials name. */
export const listPools = (channel: ChannelRecord, accounts: readonly VendorAccount[]): string[] => [
  ...new Set([findChannelPool(channel), ...accounts.filter((one) => one.channel.id === channel.id).map(findPool)]),
];

/** The slots that a start has taken. */
export const heldSlots = ({ taskId, slots, scope }: Start & { scope: Scope }): HeldSlots => ({
  ...{ taskId, slots, channelId: scope.channelId, credentialId: scope.credentialId, upstreamModel: scope.model },
});

/** An account and the pool that it belongs to, or did when it was deleted. */
type Member = CountedAccount & { pool: string };

const toMember = (account: VendorAccount): Member => ({
  channelId: account.channel.id,
  credentialId: account.credential.id,
  pool: findPool(account),
});

/** The accounts of each pool: the whole channel where all of its credentials belong to one. */
function countedAccounts(accounts: Iterable<Member>): Map<string, CountedAccount[]> {
  const counted = new Map<string, CountedAccount[]>();
  for (const own of Map.groupBy(accounts, ({ channelId }) => channelId).values()) {
    const isOne = new Set(own.map(({ pool }) => pool)).size === 1;
    for (const { channelId, credentialId, pool } of isOne ? own.slice(0, 1) : own) {
      const entry = { channelId, credentialId: isOne ? 0 : credentialId };
      counted.set(pool, [...(counted.get(pool) ?? []), entry]);
    }
  }
  return counted;
}

type PoolMembers = {
  /**
   * What limits a pool, by model (empty: all together): its channels declare it, or the vendor
   * reports it. The strictest counts.
   */
  levels: ReadonlyMap<string, Level>;
  /** What the vendor reports. */
  reported: readonly DeclaredLimits[];
  accounts: readonly CountedAccount[];
};

/** Indexes which accounts share each limit; calls `onChange` after each change of the accounts. */
export function createPoolIndex(accounts: () => readonly VendorAccount[], onChange: () => void) {
  let known: readonly VendorAccount[] = [];
  let byId = new Map<number, VendorAccount>();
  let byPool = new Map<string, readonly VendorAccount[]>();
  let counted = new Map<string, CountedAccount[]>();
  /** Deleted accounts keep their last pool. */
  const seen = new Map<number, Member>();
  const poolOfChannel = new Map<number, string>();
  const found = new Map<string, PoolMembers>();

  function refresh(): void {
    const now = accounts();
    if (now === known) return;
    known = now;
    for (const account of now) {
      seen.set(account.credential.id, toMember(account));
      poolOfChannel.set(account.channel.id, findChannelPool(account.channel));
    }
    byId = new Map(now.map((account) => [account.credential.id, account]));
    byPool = Map.groupBy(now, findPool);
    apply();
  }

  function apply(): void {
    counted = countedAccounts(seen.values());
    found.clear();
    onChange();
  }

  function read(pool: string): PoolMembers {
    const own = byPool.get(pool) ?? [];
    const channels = [...new Map(own.map(({ channel }) => [channel.id, channel])).values()];
    const ofVendor = own.flatMap(({ credential: { status, removedAt, reportedLimits } }) =>
      status === STATUS.enabled && removedAt === 0 && reportedLimits ? [reportedLimits] : [],
    );
    const limits = [...channels.flatMap((channel) => channel.limits ?? []), ...ofVendor];
    const members = counted.get(pool) ?? [];
    const relays = channels.some(({ type }) => type === RELAY_TYPE);
    const levels = new Map<string, Level>();
    for (const model of new Set(['', ...limits.flatMap(({ models = {} }) => Object.keys(models))])) {
      const limit = findStrictest(limits, model);
      if (limit) levels.set(model, { pool, model, limit, accounts: members, relays });
    }
    return { levels, reported: ofVendor, accounts: members };
  }

  return {
    /** Follows a change of channels. */
    refresh,
    find(pool: string): PoolMembers {
      refresh();
      const members = found.get(pool) ?? read(pool);
      found.set(pool, members);
      return members;
    },
    /** Adds the accounts that were deleted before this node started. */
    addDeleted(credentials: readonly CredentialRecord[]): void {
      refresh();
      for (const { id, channelId, pool, removedAt } of credentials) {
        if (removedAt === 0 || pool === '' || poolOfChannel.has(channelId)) continue;
        seen.set(id, { channelId, credentialId: id, pool });
      }
      apply();
    },
    findAccount: (credentialId: number): VendorAccount | undefined => byId.get(credentialId),
    /** The pool of an account, its last one where it was deleted. */
    findLast({ channelId, credentialId }: { channelId: number; credentialId: number | null }): string {
      return seen.get(credentialId ?? 0)?.pool ?? poolOfChannel.get(channelId) ?? ownPool(channelId);
    },
  };
}
