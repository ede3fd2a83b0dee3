import { createJsonStringFinder, type FoundString, sliceChunks } from '../../kernel/index.ts';
import type { ChannelRecord, RelayKind, RelayObject, RelayPartKind, RelayRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';
import { vendorOf } from './build-relay-request.ts';

/** Ids that can be one segment of a URL's path. */
export const OBJECT_ID = /^[A-Za-z0-9_][A-Za-z0-9._:~-]{0,190}$/;

const STORE_ATTEMPTS = 4;
const STORE_PAUSE_MS = 250;

/** An id in an answer: of the object itself, or of a part that later requests may build on. */
export type VendorId = Pick<RelayObject<RelayKind | RelayPartKind>, 'kind' | 'objectId'>;

const PARTS = ['output[].id', 'output[].container_id'];
const ANSWER_PATHS = ['id', ...PARTS];
const EVENT_PATHS = [...ANSWER_PATHS.map((path) => `response.${path}`), 'item.id', 'item.container_id'];
/** Ids stored for one stream. Later requests cannot build on those after them. */
const MAX_IDS = 10_000;
const EVENT_DATA = Buffer.from('data:');
const LF = 0x0a;
const CR = 0x0d;

/**
 * Finds the ids in a whole answer. The answer is not parsed: it may be as large as a conversation
 * with all its images.
 */
export async function findVendorIds(kind: RelayKind, answer: Uint8Array): Promise<VendorId[]> {
  const finder = createJsonStringFinder(ANSWER_PATHS);
  for await (const slice of sliceChunks([answer])) finder.push(slice);
  return toVendorIds(kind, finder.end());
}

/** The object itself comes first. If its id occurs twice the last counts, as in a JSON parser. */
function toVendorIds(kind: RelayKind, found: readonly FoundString[]): VendorId[] {
  const own = found.findLast(({ path }) => path === 'id' || path === 'response.id');
  const parts = found.flatMap(({ path, value }): VendorId[] => {
    if (path.endsWith('container_id')) return [{ kind: 'container', objectId: value }];
    return path === 'item.id' || path.endsWith('output[].id') ? [{ kind: 'item', objectId: value }] : [];
  });
  return own ? [{ kind, objectId: own.value }, ...parts] : parts;
}

/**
 * Reads server-sent events chunk by chunk. For each chunk it returns the new ids in the events that
 * end there. Only data lines are read.
 */
export function createVendorIdFinder(kind: RelayKind): (chunk: Uint8Array) => VendorId[] {
  const finder = createJsonStringFinder(EVENT_PATHS);
  const known = new Set<string>();
  /** How many bytes of `data:` the line has matched so far; -1: it is another line. */
  let matched = 0;

  function readLine(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length && matched >= 0 && matched < EVENT_DATA.length) {
      matched = bytes[at] === EVENT_DATA[matched] ? matched + 1 : -1;
      at += 1;
    }
    if (matched === EVENT_DATA.length) finder.push(bytes.subarray(at));
  }

  function endLine(): VendorId[] {
    const ids = matched === EVENT_DATA.length ? toVendorIds(kind, finder.end()) : [];
    matched = 0;
    finder.reset();
    return ids;
  }

  return (chunk) => {
    const found: VendorId[] = [];
    for (let at = 0; at < chunk.length; ) {
      const end = lineEnd(chunk, at);
      readLine(chunk.subarray(at, end));
      if (end === chunk.length) break;
      for (const id of endLine()) {
        const key = `${id.kind} ${id.objectId}`;
        if (known.has(key) || known.size >= MAX_IDS) continue;
        known.add(key);
        found.push(id);
      }
      at = end + 1;
    }
    return found;
  };
}

function lineEnd(chunk: Uint8Array, from: number): number {
  let end = from;
  while (end < chunk.length && chunk[end] !== LF && chunk[end] !== CR) end += 1;
  return end;
}

type FoundIds = { relay: RelayRecord; channel: ChannelRecord; ids: readonly VendorId[] };

/**
 * Stores the ids with their owner, so that only this user can use the objects. A failure is only
 * logged: the answer is paid for and goes to its client in any case. An id that the vendor has used
 * before stays with its first owner, since it may still name that owner's object.
 */
export async function storeVendorIds(
  { store, clock, logger }: TaskDeps,
  { relay: { relayId, kind, userId }, channel, ids }: FoundIds,
): Promise<void> {
  const storable = ids.filter(({ objectId }) => OBJECT_ID.test(objectId));
  if (storable.length === 0) return;
  const logFields = { relay_id: relayId, channel_id: channel.id };
  const origin = { vendor: vendorOf(channel), userId, channelId: channel.id, relayId, createdAt: clock.unix() };
  const [object] = storable.filter((id) => id.kind === kind);
  const parts = storable.flatMap(({ kind: part, objectId }) =>
    part === 'item' || part === 'container' ? [{ ...origin, kind: part, objectId }] : [],
  );
  for (let attempt = 1; attempt <= STORE_ATTEMPTS; attempt += 1) {
    try {
      const isOwn =
        !object ||
        (await store.relays.addObject({ ...origin, kind, objectId: object.objectId })) ||
        (await store.relays.objectOf(relayId)) !== undefined;
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
