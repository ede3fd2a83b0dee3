import { newUuid, QUOTA_PER_USD } from '../../kernel/index.ts';
import { surfaceErrors } from '../errors.ts';

/** The longest unused is forgotten first; its agent begins a new session. */
const MAX_SESSIONS = 2000;
/** So that no user's agents push out those of others. */
const MAX_SESSIONS_OF_USER = 100;

/** The quota that one session may still spend. */
export type SpendCap = {
  /**
   * Takes what a request reserves; the function that it returns gives it back.
   * @throws tasks.session_cap_reached, and nothing is taken
   */
  take(quota: number): () => void;
};

export type SpendCaps = {
  /** Begins a session of this user that may spend this many US dollars; returns its id. */
  open(userId: number, usd: number): string;
  /** Undefined: this node knows no such session of the user. */
  find(userId: number, id: string): SpendCap | undefined;
  close(userId: number, id: string): void;
};

/** The sessions of agents with a cap. They are of this node alone, and end with it. */
export function createSpendCaps(): SpendCaps {
  const sessions = new Map<string, { userId: number; left: number }>();
  return {
    open(userId, usd) {
      const own = [...sessions].filter(([, session]) => session.userId === userId);
      const [oldest] = own;
      if (oldest && own.length >= MAX_SESSIONS_OF_USER) sessions.delete(oldest[0]);
      const id = newUuid();
      sessions.set(id, { userId, left: Math.floor(usd * QUOTA_PER_USD) });
      if (sessions.size > MAX_SESSIONS) sessions.delete(sessions.keys().next().value as string);
      return id;
    },
    find(userId, id) {
      const session = sessions.get(id);
      if (session?.userId !== userId) return undefined;
      sessions.delete(id);
      sessions.set(id, session);
      return {
        take(quota) {
          if (quota > session.left) {
            const left = (session.left / QUOTA_PER_USD).toFixed(4);
            throw surfaceErrors.session_cap_reached({
              message: `This would cost ${(quota / QUOTA_PER_USD).toFixed(4)} USD, but the session may spend ${left} USD more.`,
            });
          }
          session.left -= quota;
          return () => {
            session.left += quota;
          };
        },
      };
    },
    close(userId, id) {
      if (sessions.get(id)?.userId === userId) sessions.delete(id);
    },
  };
}
