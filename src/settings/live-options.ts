import { createReplica, type Logger, type SecretBox } from '../kernel/index.ts';
import type { Store } from '../store/ports/index.ts';
import { type OptionSnapshot, type OptionValues, readOptions } from './read-options.ts';

/**
 * This node's copy of the options that an administrator edits; the defaults until it is started.
 */
export type LiveOptions = OptionValues & {
  start(): Promise<void>;
  /**
   * Reads them again at once; never rejects: when the store does not answer, the known ones stay.
   */
  reload(): Promise<void>;
  stop(): void;
};

/**
 * Reads the options at the start, whenever a node says that they changed, and every
 * `syncFrequencyMs`.
 */
export function createLiveOptions(deps: {
  store: Store;
  logger: Logger;
  secretBox: SecretBox;
  syncFrequencyMs: number;
  /** Called after every reading, the first one too. */
  onReading?: () => void;
}): LiveOptions {
  const { store, logger, secretBox, syncFrequencyMs, onReading } = deps;
  let now = readOptions([], secretBox);

  const replica = createReplica({
    topic: 'options',
    read: () => store.options.all(),
    apply(stored) {
      const next = readOptions(stored, secretBox);
      warnOfUnreadable(logger, now, next);
      now = next;
      onReading?.();
    },
    subscribe: store.subscribe,
    intervalMs: syncFrequencyMs,
    logger,
  });

  return {
    text: (key) => now.text(key),
    choice: (key) => now.choice(key),
    flag: (key) => now.flag(key),
    number: (key) => now.number(key),
    list: (key) => now.list(key),
    json: (key) => now.json(key),
    secret: (key) => now.secret(key),
    isSet: (key) => now.isSet(key),
    start: replica.start,
    reload: replica.reload,
    stop: replica.stop,
  };
}

/** Once for each, not at every reading. */
function warnOfUnreadable(logger: Logger, before: OptionSnapshot, next: OptionSnapshot): void {
  const lost = [...next.unreadable].filter((key) => !before.unreadable.has(key));
  if (lost.length === 0) return;
  logger.warn(
    { options: lost },
    'no CRYPTO_SECRET opens these options: enter them again; until then they count as not set',
  );
}
