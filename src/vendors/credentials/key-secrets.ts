import { createWholeRedactor, type Redactor, secretsOfKey } from '../../kernel/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';

/**
 * What a channel's key is known by in texts; `certain`: without what could be an id, and what
 * replaces that.
 */
export type KeySecrets = Record<'all' | 'certain', readonly string[]> & { redactCertain: Redactor };

/** Finds the secrets of a channel's key. Every poll needs them, so they are computed once. */
export type FindKeySecrets = (channel: ChannelRecord, key: string) => KeySecrets;

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
