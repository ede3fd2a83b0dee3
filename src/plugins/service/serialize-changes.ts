import type { Clock } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import type { Registry } from '../registry/create-registry.ts';

/**
 * How long a change waits for one on another node, and how often it looks. A source takes at most
 * some seconds to judge.
 */
const WAIT_MS = 30_000;
const RETRY_MS = 25;

/**
 * Runs `work` when no other change of plugins is under way on any node. Throws
 * `plugins.unavailable` when that takes too long.
 */
export type RunExclusively = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * Changes of plugins go one after another, and each begins with what the database says then: what a
 * preflight allowed stays true until it is stored, and two nodes never admit two plugins that
 * exclude each other.
 */
export function createKeyedMutex(deps: { store: Store; clock: Clock; registry: Registry }): RunExclusively {
  const { store, clock, registry } = deps;
  let last: Promise<unknown> = Promise.resolve();

  async function alone<T>(work: () => Promise<T>): Promise<T> {
    const end = clock.monotonicMs() + WAIT_MS;
    for (;;) {
      const outcome = await store.exclusively('plugins', async () => {
        await registry.rebuild();
        return { value: await work() };
      });
      if (outcome) return outcome.value;
      if (clock.monotonicMs() >= end) {
        throw pluginErrors.unavailable({
          message: 'Another node is changing plugins. Try again in a moment.',
          retryAfterSeconds: 5,
        });
      }
      await clock.sleep(RETRY_MS);
    }
  }

  return (work) => {
    const turn = last.then(() => alone(work));
    last = turn.catch(() => undefined);
    return turn;
  };
}
