import { ApiError } from '../api/api-error.ts';
import type { SendRequest } from '../api/send-request.ts';

/** Whether the gateway can be reached. */
export type Connection = {
  isUnreachable(): boolean;
  /** When the gateway last answered, in Unix seconds; 0 before its first answer. */
  answeredAt(): number;
  subscribe(listener: () => void): () => void;
  /** Sends a probe at once: the browser went online or offline. */
  checkNow(): void;
};

type ConnectionDependencies = {
  /** The plain transport, without this watch. */
  send: SendRequest;
  wait(ms: number): Promise<void>;
  now(): number;
};

/** Delays between probes, in ms; the last one repeats. */
const retryDelaysMs = [1000, 2000, 4000, 8000, 15_000];

/**
 * Watches whether requests are answered, and probes the gateway while they are not.
 * `navigator.onLine` is not trusted: a browser that is offline may still reach a gateway on its own
 * machine.
 */
export function watchConnection({ send, wait, now }: ConnectionDependencies): {
  connection: Connection;
  send: SendRequest;
} {
  let unreachable = false;
  let answeredAt = 0;
  let pollGeneration = 0;
  const listeners = new Set<() => void>();

  const setUnreachable = (next: boolean): void => {
    if (next === unreachable) return;
    unreachable = next;
    for (const listener of listeners) listener();
    if (unreachable) void pollUntilReachable();
  };

  const noteAnswer = (): void => {
    answeredAt = Math.floor(now() / 1000);
    setUnreachable(false);
  };

  const probe = async (): Promise<void> => {
    await watchedSend({ method: 'GET', path: '/api/status' }).catch(() => {});
  };

  const pollUntilReachable = async (): Promise<void> => {
    pollGeneration += 1;
    const generation = pollGeneration;
    for (let tries = 0; unreachable && generation === pollGeneration; tries += 1) {
      await wait(retryDelaysMs[Math.min(tries, retryDelaysMs.length - 1)] ?? 0);
      if (unreachable && generation === pollGeneration) await probe();
    }
  };

  const watchedSend: SendRequest = async (request) => {
    try {
      const answer = await send<never>(request);
      noteAnswer();
      return answer;
    } catch (error) {
      if (error instanceof ApiError && isUnanswered(error)) setUnreachable(true);
      else if (error instanceof ApiError) noteAnswer();
      throw error;
    }
  };

  return {
    connection: {
      isUnreachable: () => unreachable,
      answeredAt: () => answeredAt,
      subscribe: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      checkNow: () => void probe(),
    },
    send: watchedSend,
  };
}

/** No answer, or an answer of a proxy instead of the gateway. */
const isUnanswered = ({ status, code }: ApiError): boolean =>
  status === 0 || (status >= 502 && status <= 504 && code === 'UNREADABLE');
