import type { VendorAccount } from '../../channels/index.ts';
import {
  createJsonValueFinder,
  type FoundValue,
  MAX_ID_CHARS,
  sliceChunks,
  type WantedValue,
} from '../../kernel/index.ts';
import type {
  RelayObject,
  RelayObjectKind,
  RelayPartKind,
  RelayRecord,
  RequestedVideo,
} from '../../store/ports/index.ts';
import type { TaskDeps } from '../../tasks/index.ts';
import { type EventConsumer, findInEvents } from '../answers/read-events.ts';
import { vendorHost } from '../bodies/build-relay-request.ts';
import { keepsObject } from '../endpoints.ts';

/** Control characters, and surrogates without a partner, which no URL can hold. */
const UNUSABLE = /[\p{Cc}\p{Cs}]/u;

/**
 * Whether a vendor's id can be stored and be one segment of a URL's path, percent-encoded. A
 * segment of dots would lead to another path, encoded or not.
 */
export const isObjectId = (id: string): boolean =>
  id.length <= 2 * MAX_ID_CHARS &&
  [...id].length <= MAX_ID_CHARS &&
  id.trim() !== '' &&
  id !== '.' &&
  id !== '..' &&
  !UNUSABLE.test(id);

const STORE_ATTEMPTS = 4;
const STORE_PAUSE_MS = 250;

/** An id in an answer: of the object itself, or of a part that later requests may build on. */
export type VendorId = Pick<RelayObject<RelayObjectKind | RelayPartKind>, 'kind' | 'objectId'>;

const PARTS = ['output[].id', 'output[].container_id'];
const ANSWER_PATHS = ['id', ...PARTS];
const EVENT_PATHS = [...ANSWER_PATHS.map((path) => `response.${path}`), 'item.id', 'item.container_id'];
const idsAt = (paths: readonly string[]): Record<string, WantedValue> =>
  Object.fromEntries(paths.map((path) => [path, 'id']));
const ANSWER_IDS = idsAt(ANSWER_PATHS);
const EVENT_IDS = idsAt(EVENT_PATHS);
/** Ids stored for one stream. Later requests cannot build on those after them. */
const MAX_IDS = 10_000;

/**
 * Finds the ids in a whole answer. The answer is not parsed: it may be as large as a conversation
 * with all its images.
 */
export async function findVendorIds(kind: RelayObjectKind, answer: Uint8Array): Promise<VendorId[]> {
  const finder = createJsonValueFinder(ANSWER_IDS);
  for await (const slice of sliceChunks([answer])) finder.push(slice);
  return toVendorIds(kind, finder.end());
}

/** The object itself comes first. If its id occurs twice the last counts, as in a JSON parser. */
function toVendorIds(kind: RelayObjectKind, values: readonly FoundValue[]): VendorId[] {
  const found = values.flatMap(({ path, value }) =>
    typeof value === 'string' && value !== '' ? [{ path, value }] : [],
  );
  const own = found.findLast(({ path }) => path === 'id' || path === 'response.id');
  const parts = found.flatMap(({ path, value }): VendorId[] => {
    if (path.endsWith('container_id')) return [{ kind: 'container', objectId: value }];
    return path === 'item.id' || path.endsWith('output[].id') ? [{ kind: 'item', objectId: value }] : [];
  });
  return own ? [{ kind, objectId: own.value }, ...parts] : parts;
}

/** Finds the ids in server-sent events. */
export type VendorIdFinder = {
  events: EventConsumer;
  /** The new ids in the events that have ended since the last call. */
  take(): VendorId[];
};

export function createVendorIdFinder(kind: RelayObjectKind): VendorIdFinder {
  const finder = createJsonValueFinder(EVENT_IDS);
  const known = new Set<string>();
  let found: VendorId[] = [];

  function endText(): void {
    for (const id of toVendorIds(kind, finder.end())) {
      const key = `${id.kind} ${id.objectId}`;
      if (known.has(key) || known.size >= MAX_IDS) continue;
      known.add(key);
      found.push(id);
    }
    finder.reset();
  }

  return {
    events: findInEvents(finder, endText),
    take() {
      const taken = found;
      found = [];
      return taken;
    },
  };
}

/** `video`: what the request for a video said. */
type FoundIds = { relay: RelayRecord; account: VendorAccount; ids: readonly VendorId[]; video?: RequestedVideo };

/**
 * Stores the ids with their owner, so that only this user can use the objects. A failure is only
 * logged: the answer is paid for and goes to its client in any case. An id that the vendor has used
 * before stays with its first owner, since it may still name that owner's object.
 */
export async function storeVendorIds(
  { store, clock, logger }: TaskDeps,
  { relay: { relayId, kind, userId }, account, ids, video }: FoundIds,
): Promise<void> {
  if (!keepsObject(kind)) return;
  const { channel, credential } = account;
  const logFields = { relay_id: relayId, channel_id: channel.id };
  const storable = ids.filter(({ objectId }) => isObjectId(objectId));
  if (storable.length < ids.length) {
    const kinds = ids.flatMap((id) => (isObjectId(id.objectId) ? [] : [id.kind]));
    logger.warn(
      { ...logFields, kinds: [...new Set(kinds)] },
      `vendor's id has more than ${MAX_ID_CHARS} characters, or characters that no address can hold; its object cannot be retrieved`,
    );
  }
  if (storable.length === 0) return;
  const origin = {
    ...{ vendor: vendorHost(channel), userId, channelId: channel.id, credentialId: credential.id },
    ...{ relayId, createdAt: clock.unix() },
  };
  const [object] = storable.filter((id) => id.kind === kind);
  const parts = storable.flatMap(({ kind: part, objectId }) =>
    part === 'item' || part === 'container' ? [{ ...origin, kind: part, objectId }] : [],
  );
  for (let attempt = 1; attempt <= STORE_ATTEMPTS; attempt += 1) {
    try {
      const isOwn =
        !object ||
        (await store.relays.addObject({ ...origin, kind, objectId: object.objectId, ...(video && { video }) })) ||
        (await store.relays.findObject(relayId)) !== undefined;
      if (!isOwn)
        logger.warn(logFields, 'vendor reused the id of an earlier object; the new object cannot be retrieved');
      await store.relays.addParts(parts);
      return;
    } catch (error) {
      logger.error({ ...logFields, err: error, attempt }, "vendor's object could not be stored");
      if (attempt < STORE_ATTEMPTS) await clock.sleep(STORE_PAUSE_MS * attempt);
    }
  }
}
