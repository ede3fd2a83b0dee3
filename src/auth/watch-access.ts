import type { Clock, Logger } from '../kernel/index.ts';
import type { Store } from '../store/ports/index.ts';
import type { ApiPrincipal, PanelPrincipal } from './types.ts';

/** What allows a stream to go on. */
export type AccessWatch = {
  /** Aborted when the client has left, and when the access has ended. */
  signal: AbortSignal;
  /**
   * Whether it was the access that ended: the user, key or session is gone, disabled, revoked or
   * expired.
   */
  hasEnded(): boolean;
  /** The stream is over. */
  stop(): void;
};

export type AccessWatcher = {
  watch(principal: ApiPrincipal | PanelPrincipal, left: AbortSignal): AccessWatch;
};

/** Between two looks. With a slow database as well a stream ends within five seconds. */
const LOOK_EVERY_MS = 2000;
/** Principals of one query. */
const AT_ONCE = 500;

type End = () => void;

/**
 * Ends streams whose user, key or session has ended, whichever node ended it: while there are
 * streams, one query every two seconds asks for all of their principals. A database that does not
 * answer ends nothing; the next look tries again.
 */
export function createAccessWatcher(deps: { store: Store; clock: Clock; logger: Logger }): AccessWatcher {
  const { store, clock, logger } = deps;
  const watched = {
    keys: new Map<number, Set<End>>(),
    sessions: new Map<string, Set<End>>(),
    tokens: new Map<number, Set<End>>(),
  };
  let looping = false;

  const isIdle = (): boolean => Object.values(watched).every(({ size }) => size === 0);

  async function loop(): Promise<void> {
    looping = true;
    while (!isIdle()) {
      await clock.sleep(LOOK_EVERY_MS);
      await look().catch((error) => logger.warn({ err: error }, 'the access of open streams could not be checked'));
    }
    looping = false;
  }

  async function look(): Promise<void> {
    const now = clock.unix();
    await endMissing(watched.keys, (ids) => store.apiKeys.usable(ids, now));
    await endMissing(watched.sessions, (sids) => store.sessions.usable(sids, now));
    await endMissing(watched.tokens, (ids) => store.users.withAccessToken(ids));
  }

  async function endMissing<K>(entries: Map<K, Set<End>>, find: (keys: K[]) => Promise<K[]>): Promise<void> {
    const asked = [...entries.keys()];
    for (let from = 0; from < asked.length; from += AT_ONCE) {
      const some = asked.slice(from, from + AT_ONCE);
      const usable = new Set(await find(some));
      for (const key of some) if (!usable.has(key)) for (const end of [...(entries.get(key) ?? [])]) end();
    }
  }

  function enter<K>(entries: Map<K, Set<End>>, key: K, end: End): () => void {
    const ends = entries.get(key) ?? new Set<End>();
    entries.set(key, ends.add(end));
    if (!looping) void loop();
    return () => {
      ends.delete(end);
      if (ends.size === 0 && entries.get(key) === ends) entries.delete(key);
    };
  }

  function enterFor(principal: ApiPrincipal | PanelPrincipal, end: End): () => void {
    if (principal.kind === 'api_key') return enter(watched.keys, principal.key.id, end);
    if (principal.kind === 'session') return enter(watched.sessions, principal.sid, end);
    return enter(watched.tokens, principal.user.id, end);
  }

  return {
    watch(principal, left) {
      const controller = new AbortController();
      let ended = false;
      const stop = (): void => {
        leave();
        left.removeEventListener('abort', abandon);
      };
      const abandon = (): void => {
        stop();
        controller.abort();
      };
      const leave = enterFor(principal, () => {
        ended = true;
        abandon();
      });
      if (left.aborted) abandon();
      else left.addEventListener('abort', abandon, { once: true });
      return { signal: controller.signal, hasEnded: () => ended, stop };
    },
  };
}
