import type { Logger } from './logger.ts';

/** A node-local copy of data in the store, kept up to date by notices and by an interval. */
export type Replica = {
  /** Reads and applies once. Rejects as `read` does. */
  load(): Promise<void>;
  /** As `load`, but logs a failure instead of rejecting: what was applied last stays in use. */
  reload(): Promise<void>;
  /** Loads for the first time, then follows changes until `stop`. Rejects as `read` does. */
  start(): Promise<void>;
  stop(): void;
};

/**
 * Reads again whenever `topic` is published and every `intervalMs`. Concurrent reads may finish in
 * any order: a result is dropped if a read that began later has already been applied.
 */
export function createReplica<T, Topic extends string>(options: {
  /** The topic that is published when the data changes. Log lines name it too. */
  topic: Topic;
  read: () => Promise<T>;
  apply: (value: T) => void;
  /** Returns a function that ends the subscription. */
  subscribe: (listener: (topic: Topic) => void) => () => void;
  intervalMs: number;
  logger: Logger;
}): Replica {
  const { topic, read, apply, subscribe, intervalMs, logger } = options;
  let begun = 0;
  let applied = 0;
  let unsubscribe = () => {};
  let timer: ReturnType<typeof setInterval> | undefined;
  let isStopped = false;

  async function load(): Promise<void> {
    begun += 1;
    const sequence = begun;
    const value = await read();
    if (sequence < applied) return;
    applied = sequence;
    apply(value);
  }

  async function reload(): Promise<void> {
    try {
      await load();
    } catch (error) {
      logger.warn({ err: error }, `${topic} could not be read again; the last known state stays in use`);
    }
  }

  function stop(): void {
    isStopped = true;
    unsubscribe();
    clearInterval(timer);
  }

  return {
    load,
    reload,
    async start() {
      // Subscribes before the first read, so that no change in between is missed.
      unsubscribe = subscribe((published) => {
        if (published === topic) void reload();
      });
      try {
        await load();
      } catch (error) {
        stop();
        throw error;
      }
      if (isStopped) return;
      timer = setInterval(() => void reload(), intervalMs);
      timer.unref?.();
    },
    stop,
  };
}
