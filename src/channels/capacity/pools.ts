import type { ChannelRecord, CountedAccount } from '../../store/ports/index.ts';
import type { Account } from '../pick-channel.ts';
import { ownPool } from './declared-limits.ts';
import type { HeldSlots, Scope, Start } from './types.ts';

/** The pool that a channel's credentials share where they name none. */
export const findChannelPool = ({ id, pool }: Pick<ChannelRecord, 'id' | 'pool'>): string => pool || ownPool(id);
/** What shares an account's limit. */
export const findPool = ({ channel, credential }: Account): string => credential.pool || findChannelPool(channel);

/** The slots that a start has taken. */
export const heldSlots = ({ taskId, slots, scope }: Start & { scope: Scope }): HeldSlots => ({
  ...{ taskId, slots, channelId: scope.channelId, credentialId: scope.credentialId, upstreamModel: scope.model },
});

/** The channels of accounts, each once. */
export const uniqueChannels = (accounts: readonly Account[]): ChannelRecord[] => [
  ...new Map(accounts.map(({ channel }) => [channel.id, channel])).values(),
];

/** The accounts of each pool: the whole channel where all of its credentials belong to one. */
export function countedAccounts(accounts: readonly Account[]): Map<string, CountedAccount[]> {
  const counted = new Map<string, CountedAccount[]>();
  for (const own of Map.groupBy(accounts, ({ channel }) => channel.id).values()) {
    const isOne = new Set(own.map(findPool)).size === 1;
    for (const account of isOne ? own.slice(0, 1) : own) {
      const pool = findPool(account);
      const entry = { channelId: account.channel.id, credentialId: isOne ? 0 : account.credential.id };
      counted.set(pool, [...(counted.get(pool) ?? []), entry]);
    }
  }
  return counted;
}
