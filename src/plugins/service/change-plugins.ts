import { type Clock, createSemaphore, type Logger, type Semaphore, sentence } from '../../kernel/index.ts';
import type { Store } from '../../store/ports/index.ts';
import { pluginErrors } from '../errors.ts';
import type { Registry } from '../registry/create-registry.ts';

/**
 * How long a change waits for a change on another node, and how often it retries, in ms. Checking a
 * source takes some seconds at most.
 */
const WAIT_MS = 30_000;
const RETRY_MS = 25;

/**
 * A mutex for changes of plugins, on this node and across nodes. Each change begins with a rebuild
 * from the database, so what its checks allowed stays true until it is stored, and two nodes never
 * admit two plugins that exclude each other.
 *
 * The mutex rejects with `plugins.unavailable` when another node's change takes too long.
 */
export function createPluginChangeMutex(deps: { store: Store; clock: Clock; registry: Registry }): Semaphore['run'] {
  const { store, clock, registry } = deps;
  const onThisNode = createSemaphore();

  async function acrossNodes<T>(work: () => Promise<T>): Promise<T> {
    const deadline = clock.monotonicMs() + WAIT_MS;
    for (;;) {
      const outcome = await store.exclusively('plugins', async () => {
        await registry.rebuild();
        return { value: await work() };
      });
      if (outcome) return outcome.value;
      if (clock.monotonicMs() >= deadline) {
        throw pluginErrors.unavailable({
          message: sentence('plugins.changing'),
          retryAfterSeconds: 5,
        });
      }
      await clock.sleep(RETRY_MS);
    }
  }

  return (work) => onThisNode.run(() => acrossNodes(work));
}

export type ChangeContext = { store: Pick<Store, 'publish'>; logger: Logger; registry: Pick<Registry, 'rebuild'> };

/** Rebuilds on this node and notifies the other nodes. */
export async function applyChange(ctx: ChangeContext): Promise<void> {
  await ctx.registry.rebuild();
  await notifyNodes(ctx, 'plugins');
}

/**
 * Notifies the other nodes of a stored change. A failed notification is only logged, because nodes
 * also read the database periodically.
 */
export async function notifyNodes(
  { store, logger }: Pick<ChangeContext, 'store' | 'logger'>,
  topic: 'plugins' | 'channels' | 'prices',
): Promise<void> {
  try {
    await store.publish(topic);
  } catch (error) {
    logger.warn(
      { topic, err: error },
      'other nodes could not be notified of a change; they read it within SYNC_FREQUENCY',
    );
  }
}
