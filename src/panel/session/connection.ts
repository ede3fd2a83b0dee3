import { ApiError } from '../api/api-error.ts';
import type { SendRequest } from '../api/send-request.ts';

/** Whether the gateway answers. */
export type Connection = {
  isUnreachable(): boolean;
  subscribe(listener: () => void): () => void;
  /** Asks at once: the browser's network has come or gone. */
  checkNow(): void;
};

export type ConnectionDependencies = {
  /** Without the connection's own watch. */
  send: SendRequest;
  wait(ms: number): Promise<void>;
};

/** How long to wait before each further question, in ms; the last one is repeated. */
const retryDelaysMs = [1000, 2000, 4000, 8000, 15_000];

/**
 * Watches whether requests are answered. While they are not, it asks the gateway again and again. A
 * browser that believes itself offline may still reach a gateway on its own machine, so only
 * requests count.
 */
export function watchConnection({ send, wait }: ConnectionDependencies): { connection: Connection; send: SendRequest } {
  let unreachable = false;
  let pollGeneration = 0;
  const listeners = new Set<() => void>();

  const setUnreachable = (next: boolean): void => {
    if (next === unreachable) return;
    unreachable = next;
    for (const listener of listeners) listener();
    if (unreachable) void pollUntilReachable();
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
      setUnreachable(false);
      return answer;
    } catch (error) {
      if (error instanceof ApiError) setUnreachable(isUnanswered(error));
      throw error;
    }
  };

  return {
    connection: {
      isUnreachable: () => unreachable,
      subscribe: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      checkNow: () => void probe(),
    },
    send: watchedSend,
  };
}

/** Nobody answered, or a proxy did in the gateway's place. */
const isUnanswered = ({ status, code }: ApiError): boolean =>
  status === 0 || (status >= 502 && status <= 504 && code === 'UNREADABLE');
