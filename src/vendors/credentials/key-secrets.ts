import type { Channels } from '../../channels/index.ts';
import { createWholeRedactor, secretsOfKey } from '../../kernel/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import type { FindKeySecrets, KeySecrets } from '../types.ts';

export function createKeySecrets(channels: Pick<Channels, 'key' | 'secrets'>): FindKeySecrets {
  // By channel as the replica holds it: after a change of it or its keys it is another object.
  const known = new WeakMap<ChannelRecord, { texts: ReadonlySet<string>; secrets: KeySecrets }>();
  return (account) => {
    let entry = known.get(account.channel);
    if (!entry?.texts.has(channels.key(account))) {
      const texts = new Set(channels.secrets(account));
      const certain = [...texts].flatMap((text) => secretsOfKey(text, { certain: true }));
      const all = [...texts].flatMap((text) => secretsOfKey(text));
      entry = { texts, secrets: { all, certain, redactCertain: createWholeRedactor(certain) } };
      known.set(account.channel, entry);
    }
    return entry.secrets;
  };
}
