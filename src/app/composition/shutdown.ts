import type { Clock, Logger } from '../../kernel/index.ts';

/** Stops what has been started, in the opposite order; after a failed start too. */
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
