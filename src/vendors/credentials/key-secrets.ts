import type { Channels } from '../../channels/index.ts';
import { createWholeRedactor, secretsOfKey } from '../../kernel/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import type { FindKeySecrets, KeySecrets } from '../types.ts';

export function createKeySecrets(channels: Pick<Channels, 'network'>): FindKeySecrets {
  // By channel as the replica holds it: a changed channel is another object.
  const known = new WeakMap<ChannelRecord, { key: string; secrets: KeySecrets }>();
  return (channel, key) => {
    let entry = known.get(channel);
    if (entry?.key !== key) {
      const texts = [key, ...channels.network(channel).secrets];
      const certain = texts.flatMap((text) => secretsOfKey(text, { certain: true }));
      const all = texts.flatMap((text) => secretsOfKey(text));
      entry = { key, secrets: { all, certain, redactCertain: createWholeRedactor(certain) } };
      known.set(channel, entry);
    }
    return entry.secrets;
  };
}
