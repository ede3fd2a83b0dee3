import { RELAY_TYPE } from '../../channels/index.ts';
import { type RelayKind, STATUS } from '../../store/ports/index.ts';
import { findOwner } from '../submission/find-owner.ts';
import type { Caller, TaskDeps } from '../types.ts';
import { createRelayed, type RelayedRequest } from './create-relayed.ts';
import { forwardCall, type RelayCall } from './forward-call.ts';
import type { RelayAnswer } from './relay-answers.ts';
import { refundInterrupted } from './relay-money.ts';

/** Requests for models of no plugin, which go to OpenAI-compatible vendors as they are. */
export type Relay = {
  /**
   * Whether a creation is the relay's: no plugin serves the model on this surface, and a channel of
   * the relay lists it.
   */
  takes(kind: RelayKind, model: string): boolean;
  create(caller: Caller, request: RelayedRequest): Promise<RelayAnswer>;
  /** On an object that the user's own request has made. Throws `tasks.not_found` for any other. */
  forward(userId: number, kind: RelayKind, id: string, call: RelayCall): Promise<RelayAnswer>;
  /** Refunds what earlier processes left open, from now on. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /**
   * Deletes about `limit` ended requests, and as many objects, that have been kept long enough;
   * gives how many.
   */
  deleteOld(limit: number): Promise<number>;
};

const DAY = 24 * 3600;
/**
 * A request's bill stands in the log and the ledger; its row serves repeats, for a day, and
 * questions.
 */
const REQUESTS_KEPT_SECONDS = 30 * DAY;
/**
 * Whose an object is matters while its vendor has it: OpenAI keeps responses for 30 days and videos
 * for less.
 */
const OBJECTS_KEPT_SECONDS = 90 * DAY;

const PROTOCOLS = { response: 'proto_responses', video: 'proto_video' } as const;
const INTERRUPTED_EVERY_MS = 5_000;

export function createRelay(deps: TaskDeps): Relay {
  const { store, clock, logger, channels } = deps;
  const stopping = new AbortController();
  let loop = Promise.resolve();

  async function refundForEver(): Promise<void> {
    while (!stopping.signal.aborted) {
      await refundInterrupted(deps).catch((error) =>
        logger.error({ err: error }, 'interrupted relayed requests could not be looked for'),
      );
      await clock.sleep(INTERRUPTED_EVERY_MS, stopping.signal);
    }
  }

  return {
    takes(kind, model) {
      const pin = deps.pin();
      try {
        if (findOwner(deps, pin.generation, PROTOCOLS[kind], model)) return false;
      } finally {
        pin.release();
      }
      return channels
        .known()
        .some(({ status, type, models }) => status === STATUS.enabled && type === RELAY_TYPE && models.includes(model));
    },
    create: (caller, request) => createRelayed(deps, caller, request),
    forward: (userId, kind, id, call) => forwardCall(deps, userId, kind, id, call),
    async start() {
      if (store.dialect === 'sqlite') await store.relays.expireLeases();
      loop = refundForEver();
    },
    async stop() {
      stopping.abort();
      await loop;
    },
    async deleteOld(limit) {
      const at = clock.unix();
      const requests = await store.relays.deleteEnded(at - REQUESTS_KEPT_SECONDS, limit);
      return requests + (await store.relays.deleteObjects(at - OBJECTS_KEPT_SECONDS, limit));
    },
  };
}
