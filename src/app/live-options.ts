import { applyNewest, type Logger } from '../kernel/index.ts';
import type { Store } from '../store/ports/index.ts';

/** This node's copy of the options that an administrator edits. */
export type LiveOptions = {
  /** The stored text; `undefined` when nobody has set it. */
  get(key: string): string | undefined;
  start(): Promise<void>;
  stop(): void;
};

/** Reads the options at the start, whenever a node says that they changed, and every `syncFrequencyMs`. */
export function createLiveOptions(deps: { store: Store; logger: Logger; syncFrequencyMs: number }): LiveOptions {
  const { store, logger, syncFrequencyMs } = deps;
  let known: ReadonlyMap<string, string> = new Map();
  let unsubscribe = () => {};
  let timer: ReturnType<typeof setInterval> | undefined;

  const load = applyNewest(
    () => store.options.all(),
    (options) => {
      known = new Map(options.map(({ key, value }) => [key, value]));
    },
  );
  const reload = () =>
    load().catch((error) => logger.warn({ err: error }, 'the options could not be read again; the known ones stay'));

  return {
    get: (key) => known.get(key),
    async start() {
      await load();
      unsubscribe = store.subscribe((topic) => {
        if (topic === 'options') void reload();
      });
      timer = setInterval(() => void reload(), syncFrequencyMs);
      timer.unref();
    },
    stop() {
      unsubscribe();
      clearInterval(timer);
    },
  };
}
