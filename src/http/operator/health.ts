import { Elysia } from 'elysia';
import type { Clock, Logger } from '../../kernel/index.ts';
import type { Kit } from '../pipeline/route-kit.ts';

/**
 * Each check rejects while its part cannot work. There is none for migrations: the listener opens
 * only on a migrated database.
 */
export type ReadinessChecks = Record<string, () => Promise<void>>;

/** Thrown by a check. Its message is public on `/readyz`, so it must not name a path. */
export class NotReady extends Error {}

/** A part that takes longer is not ready. */
const CHECK_TIMEOUT_MS = 2_000;

type Verdicts = Record<string, 'ok' | 'failed'>;
type Reasons = Record<string, string>;
type CheckResult = { name: string; verdict: 'ok' | 'failed'; reason?: string };

/**
 * `/livez`: 200 while the process answers. `/readyz`: 200 while all parts work; otherwise 503 with
 * the failed parts and, if known, the reasons.
 */
export function createHealth(deps: {
  kit: Kit;
  checks: ReadinessChecks;
  /** Why proxies are to send their requests elsewhere although no part has failed. */
  outOfService: () => string | undefined;
  clock: Clock;
  logger: Logger;
}) {
  const { clock, logger } = deps;

  async function run([name, check]: [string, () => Promise<void>]): Promise<CheckResult> {
    const deadline = new AbortController();
    try {
      const timeout = clock.sleep(CHECK_TIMEOUT_MS, deadline.signal).then(() => {
        throw new Error(`no answer within ${CHECK_TIMEOUT_MS} ms`);
      });
      await Promise.race([check(), timeout]);
      return { name, verdict: 'ok' };
    } catch (error) {
      logger.warn({ err: error, check: name }, 'readiness check failed');
      return { name, verdict: 'failed', ...(error instanceof NotReady ? { reason: error.message } : {}) };
    } finally {
      deadline.abort();
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

  /** Concurrent callers share one round of checks. */
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
      detail: { summary: 'Liveness check', tags: ['System'] },
    })
    .get(
      '/readyz',
      async ({ status }) => {
        const reason = deps.outOfService();
        if (reason !== undefined) {
          return status(503, {
            status: 'not_ready',
            checks: {} as Verdicts,
            reasons: { gateway: reason } as Reasons,
          } as const);
        }
        const { ready, ...found } = await shareCheck();
        if (!ready) return status(503, { status: 'not_ready', ...found } as const);
        return { status: 'ready', ...found } as const;
      },
      {
        public: true,
        detail: { summary: 'Readiness check: database, sandbox and disk', tags: ['System'] },
      },
    );
}
