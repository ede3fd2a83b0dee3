import type { VendorAccount } from '../../src/channels/index.ts';
import type { ChannelRecord, CredentialRecord, Store } from '../../src/store/ports/index.ts';

/** An account of a channel, by a credential that has the channel's id. */
export const toAccount = (channel: ChannelRecord, change: Partial<CredentialRecord> = {}): VendorAccount => ({
  channel,
  credential: {
    ...{ id: channel.id, channelId: channel.id, keySealed: '', keyHint: '', label: '', pool: '', status: 1 },
    ...{ expiresAt: 0, lastError: '', lastErrorSentence: null, lastErrorAt: 0, usedQuota: 0 },
    ...{ balanceMicros: null, balanceAt: 0, balanceFault: null, reportedLimits: null, reportedLimitsFault: null },
    ...{ createdAt: 1, updatedAt: 1, removedAt: 0 },
    ...change,
  },
});

/** The accounts of channels: a new list where that of the channels is new. */
export function toAccounts(channels: () => readonly ChannelRecord[]): () => readonly VendorAccount[] {
  let known: readonly ChannelRecord[] | undefined;
  let accounts: VendorAccount[] = [];
  return () => {
    const now = channels();
    if (now !== known) accounts = now.map((channel) => toAccount(channel));
    known = now;
    return accounts;
  };
}

/** Seals the keys of a channel with something else. */
export async function changeSealedKey(store: Store, channelId: number, keySealed: string): Promise<void> {
  for (const { id } of await store.credentials.ofChannel(channelId)) await store.credentials.update(id, { keySealed });
}
