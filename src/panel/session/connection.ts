import { ApiError } from '../api/api-error.ts';
import type { SendRequest } from '../api/send-request.ts';

/** Whether the gateway answers. */
export type Connection = {
  isAway(): boolean;
  subscribe(listener: () => void): () => void;
  /** Asks at once: the browser's network has come or gone. */
  look(): void;
};

export type ConnectionDependencies = {
  /** Without the connection's own watch. */
  send: SendRequest;
  wait(ms: number): Promise<void>;
};

/** How long to wait before each further question, in ms; the last one is repeated. */
const pausesMs = [1000, 2000, 4000, 8000, 15_000];

/**
 * Watches whether requests are answered. While they are not, it asks the gateway again and again. A
 * browser that believes itself offline may still reach a gateway on its own machine, so only
 * requests count.
 */
export function watchConnection({ send, wait }: ConnectionDependencies): { connection: Connection; send: SendRequest } {
  let away = false;
  let round = 0;
  const listeners = new Set<() => void>();

  const set = (next: boolean): void => {
    if (next === away) return;
    away = next;
    for (const listener of listeners) listener();
    if (away) void askOn();
  };

  const ask = async (): Promise<void> => {
    await watched({ method: 'GET', path: '/api/status' }).catch(() => {});
  };

  const askOn = async (): Promise<void> => {
    round += 1;
    const own = round;
    for (let tries = 0; away && own === round; tries += 1) {
      await wait(pausesMs[Math.min(tries, pausesMs.length - 1)] ?? 0);
      if (away && own === round) await ask();
    }
  };

  const watched: SendRequest = async (request) => {
    try {
      const answer = await send<never>(request);
      set(false);
      return answer;
    } catch (error) {
      if (error instanceof ApiError) set(isUnanswered(error));
      throw error;
    }
  };

  return {
    connection: {
      isAway: () => away,
      subscribe: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      look: () => void ask(),
    },
    send: watched,
  };
}

/** Nobody answered, or a proxy did in the gateway's place. */
const isUnanswered = ({ status, code }: ApiError): boolean =>
  status === 0 || (status >= 502 && status <= 504 && code === 'UNREADABLE');
