import { Elysia } from 'elysia';
import type { Clock, Logger } from '../kernel/index.ts';
import type { Kit } from './kit.ts';

/** Each rejects while its part cannot do its work. A database that is not migrated keeps the listener closed. */
export type ReadinessChecks = Record<string, () => Promise<void>>;

/** A part that does not answer in this time is not ready. */
const CHECK_TIMEOUT_MS = 2_000;

/** `/livez`: the process answers. `/readyz`: its parts do; 503 and the part's name while one does not. */
export function createHealth(deps: { kit: Kit; checks: ReadinessChecks; clock: Clock; logger: Logger }) {
  const { clock, logger } = deps;

  async function run([name, check]: [string, () => Promise<void>]): Promise<[string, 'ok' | 'failed']> {
    const giveUp = new AbortController();
    try {
      const late = clock.sleep(CHECK_TIMEOUT_MS, giveUp.signal).then(() => {
        throw new Error(`no answer within ${CHECK_TIMEOUT_MS} ms`);
      });
      await Promise.race([check(), late]);
      return [name, 'ok'];
    } catch (error) {
      logger.warn({ err: error, check: name }, 'not ready');
      return [name, 'failed'];
    } finally {
      giveUp.abort();
    }
  }

  async function checkAll() {
    const results = await Promise.all(Object.entries(deps.checks).map(run));
    return { ready: results.every(([, verdict]) => verdict === 'ok'), checks: Object.fromEntries(results) };
  }

  /** Callers at the same time share one round of checks. */
  let running: ReturnType<typeof checkAll> | undefined;
  function shareCheck() {
    running ??= checkAll().finally(() => {
      running = undefined;
    });
    return running;
  }

  return new Elysia({ name: 'health', normalize: false })
    .use(deps.kit)
    .get('/livez', () => ({ status: 'ok' as const }), {
      public: true,
      detail: { summary: 'Whether the process answers', tags: ['Operation'] },
    })
    .get(
      '/readyz',
      async ({ set }) => {
        const { ready, checks } = await shareCheck();
        if (!ready) set.status = 503;
        return { status: ready ? ('ready' as const) : ('not_ready' as const), checks };
      },
      {
        public: true,
        detail: { summary: 'Whether the migrated database and the sandbox are ready', tags: ['Operation'] },
      },
    );
}
