import type { Logger } from '../kernel/index.ts';
import type { Store } from '../store/ports/index.ts';

export type PublicAddress = {
  /** `TaskPublicAddress`, else `ServerAddress`, else where this node listens; without a trailing slash. */
  current(): string;
  start(): Promise<void>;
  stop(): void;
};

/** Follows the two options that name the gateway's address to the outside. `listening` is known once the port is bound. */
export function createPublicAddress(deps: {
  store: Store;
  logger: Logger;
  syncFrequencyMs: number;
  listening: () => string;
}): PublicAddress {
  const { store, logger } = deps;
  let configured: string | undefined;
  let unsubscribe = () => {};
  let timer: ReturnType<typeof setInterval> | undefined;

  async function load(): Promise<void> {
    const address = (await store.options.get('TaskPublicAddress')) || (await store.options.get('ServerAddress'));
    configured = address?.trim().replace(/\/+$/, '') || undefined;
  }
  const reload = () =>
    load().catch((error) =>
      logger.warn({ err: error }, 'the public address could not be read again; the known one stays'),
    );

  return {
    current: () => configured ?? deps.listening(),
    async start() {
      await load();
      unsubscribe = store.subscribe((topic) => {
        if (topic === 'options') void reload();
      });
      timer = setInterval(() => void reload(), deps.syncFrequencyMs);
      timer.unref();
    },
    stop() {
      unsubscribe();
      clearInterval(timer);
    },
  };
}
