import { createReplica, type Logger, type SecretBox } from '../kernel/index.ts';
import type { Store } from '../store/ports/index.ts';
import { type OptionSnapshot, type OptionValues, readOptions } from './read-options.ts';

/** This node's replica of the options; the defaults until it is started. */
export type LiveOptions = OptionValues & {
  start(): Promise<void>;
  /**
   * Reads the options again now. Never rejects: while the store is unavailable, the last values
   * stay.
   */
  reload(): Promise<void>;
  stop(): void;
};

/** Reads the options at the start, whenever a node changes them, and every `syncFrequencyMs`. */
export function createLiveOptions(deps: {
  store: Store;
  logger: Logger;
  secretBox: SecretBox;
  syncFrequencyMs: number;
  /** Called after every read, the first one included. */
  onRead?: () => void;
}): LiveOptions {
  const { store, logger, secretBox, syncFrequencyMs, onRead } = deps;
  let now = readOptions([], secretBox);

  const replica = createReplica({
    topic: 'options',
    read: () => store.options.all(),
    apply(stored) {
      const next = readOptions(stored, secretBox);
      warnOfUnreadable(logger, now, next);
      now = next;
      onRead?.();
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

/** Warns once for each secret, not at every read. */
function warnOfUnreadable(logger: Logger, before: OptionSnapshot, next: OptionSnapshot): void {
  const newlyUnreadable = [...next.unreadable].filter((key) => !before.unreadable.has(key));
  if (newlyUnreadable.length === 0) return;
  logger.warn(
    { options: newlyUnreadable },
    'no CRYPTO_SECRET decrypts these options: enter them again; until then they count as not set',
  );
}
