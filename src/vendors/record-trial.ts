import type { ChannelTrial } from './try-channel.ts';
import type { VendorDeps } from './types.ts';

/** Notes the outcome of a channel's test: it counts as the channel's health at once. */
export async function recordTrial(
  { store, clock }: Pick<VendorDeps, 'store' | 'clock'>,
  channelId: number,
  { steps }: ChannelTrial,
): Promise<void> {
  const failed = steps.find(({ ok }) => ok === false);
  await store.usage.recordTest({
    channelId,
    testedAt: clock.unix(),
    failedStep: failed?.name ?? '',
    message: failed?.message ?? '',
  });
}
