import { createJsonValueFinder } from '../../kernel/index.ts';
import { type EventConsumer, findInEvents } from './read-events.ts';

/** How vendors call a job that they have failed. */
const FAILED = /^(?:failed|failure|error)$/i;

const ANSWER_STATUS = { status: 'string' } as const;
const EVENT_STATUS = { 'response.status': 'string' } as const;

/** Reads from an object of a vendor, or from the events of its stream, whether it has failed. */
export type FailureWatch = { push(bytes: Uint8Array): void; events: EventConsumer; hasFailed(): boolean };

export function watchForFailure({ isEvents }: { isEvents: boolean }): FailureWatch {
  const finder = createJsonValueFinder(isEvents ? EVENT_STATUS : ANSWER_STATUS);
  let status = '';

  function endText(): void {
    for (const found of finder.end()) if (typeof found.value === 'string') status = found.value;
    finder.reset();
  }

  return {
    push: finder.push,
    events: findInEvents(finder, endText),
    hasFailed() {
      if (!isEvents) endText();
      return FAILED.test(status);
    },
  };
}
