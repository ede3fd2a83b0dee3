import { Elysia } from 'elysia';
import type { Clock, Logger } from '../../kernel/index.ts';
import type { Kit } from '../pipeline/route-kit.ts';

/**
 * Each rejects while its part cannot do its work. A database that is not migrated keeps the
 * listener closed.
 */
export type ReadinessChecks = Record<string, () => Promise<void>>;

/** Thrown by a check: its message is for everybody who asks `/readyz`, so it names no path. */
export class NotReady extends Error {}

/** A part that does not answer in this time is not ready. */
const CHECK_TIMEOUT_MS = 2_000;

type Checked = { name: string; verdict: 'ok' | 'failed'; reason?: string };

/**
 * `/livez`: the process answers. `/readyz`: its parts do; 503, the part's name and where it is
 * known the reason while one does not.
 */
export function createHealth(deps: { kit: Kit; checks: ReadinessChecks; clock: Clock; logger: Logger }) {
  const { clock, logger } = deps;

  async function run([name, check]: [string, () => Promise<void>]): Promise<Checked> {
    const giveUp = new AbortController();
    try {
      const late = clock.sleep(CHECK_TIMEOUT_MS, giveUp.signal).then(() => {
        throw new Error(`no answer within ${CHECK_TIMEOUT_MS} ms`);
      });
      await Promise.race([check(), late]);
      return { name, verdict: 'ok' };
    } catch (error) {
      logger.warn({ err: error, check: name }, 'not ready');
      return { name, verdict: 'failed', ...(error instanceof NotReady ? { reason: error.message } : {}) };
    } finally {
      giveUp.abort();
    }
  }

  async function checkAll() {
    const results = await Promise.all(Object.entries(deps.checks).map(run));
    const reasons = results.flatMap(({ name, reason }) => (reason === undefined ? [] : [[name, reason] as const]));
    return {
      ready: results.every(({ verdict }) => verdict === 'ok'),
      checks: Object.fromEntries(results.map(({ name, verdict }) => [name, verdict])),
      ...(reasons.length === 0 ? {} : { reasons: Object.fromEntries(reasons) }),
    };
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
        const { ready, ...found } = await shareCheck();
        if (!ready) set.status = 503;
        return { status: ready ? ('ready' as const) : ('not_ready' as const), ...found };
      },
      {
        public: true,
        detail: { summary: 'Whether the migrated database, the sandbox and the disk are ready', tags: ['Operation'] },
      },
    );
}
