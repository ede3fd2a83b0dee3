import { createWholeRedactor, secretsOfKey } from '../../kernel/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import type { FindKeySecrets, KeySecrets } from '../types.ts';

export function createKeySecrets(): FindKeySecrets {
  // By channel as the replica holds it: a changed channel is another object.
  const known = new WeakMap<ChannelRecord, { key: string; secrets: KeySecrets }>();
  return (channel, key) => {
    let entry = known.get(channel);
    if (entry?.key !== key) {
      const certain = secretsOfKey(key, { certain: true });
      entry = { key, secrets: { all: secretsOfKey(key), certain, redactCertain: createWholeRedactor(certain) } };
      known.set(channel, entry);
    }
    return entry.secrets;
  };
}
