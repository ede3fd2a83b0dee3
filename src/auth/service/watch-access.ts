import { type Clock, detachFromRequest, type Logger } from '../../kernel/index.ts';
import type { Store, UsableToken } from '../../store/ports/index.ts';
import type { ApiPrincipal, PanelPrincipal } from '../principals.ts';

/** Follows whether an open stream may continue. */
export type AccessWatch = {
  /** Aborts when the client disconnects, and when the access ends. */
  signal: AbortSignal;
  /**
   * True when the access ended: the user, key or session was deleted, disabled, revoked or expired.
   */
  hasEnded(): boolean;
  /** Call it when the stream is over. */
  stop(): void;
};

export type AccessWatcher = {
  /** `disconnected` aborts when the client disconnects. */
  watch(principal: ApiPrincipal | PanelPrincipal, disconnected: AbortSignal): AccessWatch;
};

/** Between two checks. Even with a slow database a stream ends within five seconds. */
const CHECK_EVERY_MS = 2000;
/** Principals per query. */
const BATCH = 500;

type End = () => void;

const tokenEntry = ({ hash, role }: UsableToken): string => `${role} ${hash}`;

/**
 * Ends streams whose user, key or session has ended, whichever node ended it. While streams are
 * open, one query every two seconds checks all of their principals. A database that does not answer
 * ends nothing; the next check tries again.
 */
export function createAccessWatcher(deps: { store: Store; clock: Clock; logger: Logger }): AccessWatcher {
  const { store, clock, logger } = deps;
  const watched = {
    /**
     * Streams by the digest of the key that was presented, so that a replaced key ends its streams.
     */
    keys: new Map<string, Set<End>>(),
    sessions: new Map<string, Set<End>>(),
    /** Streams by the token's digest and the role that the user had. */
    tokens: new Map<string, Set<End>>(),
  };
  let looping = false;

  const isIdle = (): boolean => Object.values(watched).every(({ size }) => size === 0);

  async function loop(): Promise<void> {
    looping = true;
    while (!isIdle()) {
      await clock.sleep(CHECK_EVERY_MS);
      await checkAll().catch((error) =>
        logger.warn({ err: error }, 'could not check the access of open streams; the next check tries again'),
      );
    }
    looping = false;
  }

  async function checkAll(): Promise<void> {
    const now = clock.unix();
    await endMissing(watched.keys, (hashes) => store.apiKeys.usable(hashes, now));
    await endMissing(watched.sessions, (sids) => store.sessions.usable(sids, now));
    await endMissing(watched.tokens, async (entries) => {
      const usable = await store.users.usableTokens(entries.map((entry) => entry.slice(entry.indexOf(' ') + 1)));
      return usable.map(tokenEntry);
    });
  }

  async function endMissing<K>(entries: Map<K, Set<End>>, findUsable: (keys: K[]) => Promise<K[]>): Promise<void> {
    const keys = [...entries.keys()];
    for (let from = 0; from < keys.length; from += BATCH) {
      const batch = keys.slice(from, from + BATCH);
      const usable = new Set(await findUsable(batch));
      for (const key of batch) if (!usable.has(key)) for (const end of [...(entries.get(key) ?? [])]) end();
    }
  }

  /** Gives the function that removes the entry. */
  function add<K>(entries: Map<K, Set<End>>, key: K, end: End): () => void {
    const ends = entries.get(key) ?? new Set<End>();
    entries.set(key, ends.add(end));
    if (!looping) void detachFromRequest(loop);
    return () => {
      ends.delete(end);
      if (ends.size === 0 && entries.get(key) === ends) entries.delete(key);
    };
  }

  function addPrincipal(principal: ApiPrincipal | PanelPrincipal, end: End): () => void {
    if (principal.kind === 'api_key') return add(watched.keys, principal.keyHash, end);
    if (principal.kind === 'session') return add(watched.sessions, principal.sid, end);
    // A session ends with the role; a token stays, and may read less.
    return add(watched.tokens, tokenEntry({ hash: principal.tokenHash, role: principal.user.role }), end);
  }

  return {
    watch(principal, disconnected) {
      const controller = new AbortController();
      let ended = false;
      const stop = (): void => {
        remove();
        disconnected.removeEventListener('abort', abort);
      };
      const abort = (): void => {
        stop();
        controller.abort();
      };
      const remove = addPrincipal(principal, () => {
        ended = true;
        abort();
      });
      if (disconnected.aborted) abort();
      else disconnected.addEventListener('abort', abort, { once: true });
      return { signal: controller.signal, hasEnded: () => ended, stop };
    },
  };
}
