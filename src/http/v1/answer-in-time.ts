import type { Clock } from '../../kernel/index.ts';
import { surfaceErrors } from '../../surfaces/index.ts';
import type { ClientRequest } from '../../tasks/index.ts';
import { readAnswerTimes } from '../bodies/read-client-request.ts';

type InTime = {
  /** The request, with the time by which its client must have an answer. */
  client: ClientRequest;
  /**
   * What `work` answers, if that comes before its client gives up: an SDK would order again. Work
   * that goes on later is given to `goesOn`, and its client counts as gone.
   * @throws tasks.task_timeout
   */
  answer<T>(work: Promise<T>, goesOn: (work: Promise<unknown>) => void): Promise<T>;
};

/** `read`: the request, whose head arrived at `arrivedMs`. */
export function answerInTime(
  clock: Pick<Clock, 'monotonicMs' | 'sleep'>,
  { headers }: Pick<Request, 'headers'>,
  { read, arrivedMs }: { read: ClientRequest; arrivedMs: number },
): InTime {
  const times = readAnswerTimes({ headers }, { arrivedMs, readMs: clock.monotonicMs() });
  if (!times) return { client: read, answer: (work) => work };
  /** Aborted when the client has left, or gives up. */
  const left = new AbortController();
  const leave = () => left.abort();
  if (read.signal?.aborted) leave();
  else read.signal?.addEventListener('abort', leave, { once: true });
  return {
    client: { ...read, signal: left.signal, answerByMs: times.answerByMs },
    async answer(work, goesOn) {
      const answered = new AbortController();
      const isLate = clock
        .sleep(Math.max(0, times.latestMs - clock.monotonicMs()), answered.signal)
        .then(() => undefined);
      const outcome = await Promise.race([work.then((value) => ({ value })), isLate]).finally(() => answered.abort());
      if (outcome) return outcome.value;
      goesOn(work);
      leave();
      throw surfaceErrors.task_timeout({ message: STILL_SENT, shouldRetry: false });
    },
  };
}

const STILL_SENT =
  'The vendor has not accepted or answered the request in time. It goes on: find its task in /v1/tasks, or send the request again with its Idempotency-Key.';
