import type { Clock, Logger } from '../../kernel/index.ts';

/**
 * Stops what has been started, in the opposite order; after a failed start too. So a gateway stops:
 *
 * 1. Its loops and watches (`compose-gateway.ts`, `listen`), then streams of running tasks.
 * 2. The certificate's renewal and the listeners, which wait for the answers under way.
 * 3. Batches, then polling, dispatch and copies of results, then webhooks (`composeGateway`).
 * 4. Services: jobs, results, mail, options, prices, channels, plugins (`compose-services.ts`).
 * 5. The outbound network, Redis, traces, the node's row, the database and last the sandbox
 *    (`start-gateway.ts`).
 */
export type Shutdown = {
  add(name: string, stop: () => void | Promise<void>): void;
  /** Stops everything once, the last first. A step that fails is logged and the next one runs. */
  run(): Promise<void>;
};

export function createShutdown(logger: Logger, clock: Clock): Shutdown {
  const steps: { name: string; stop: () => void | Promise<void> }[] = [];
  return {
    add: (name, stop) => void steps.push({ name, stop }),
    async run() {
      for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
        const started = clock.monotonicMs();
        try {
          await step.stop();
          logger.debug({ step: step.name, ms: Math.round(clock.monotonicMs() - started) }, 'stopped');
        } catch (error) {
          logger.error({ err: error, step: step.name }, 'a shutdown step failed; the next step runs');
        }
      }
    },
  };
}
