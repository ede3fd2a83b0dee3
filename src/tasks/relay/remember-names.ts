import { createJsonStringFinder, type FoundString, sliceChunks } from '../../kernel/index.ts';
import type { ChannelRecord, RelayKind, RelayObject, RelayPartKind, RelayRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';
import { vendorOf } from './build-relay-request.ts';

/** What can stand in an address as one segment. */
export const OBJECT_ID = /^[A-Za-z0-9_][A-Za-z0-9._:~-]{0,190}$/;

const STORE_TRIES = 4;
const STORE_PAUSE_MS = 250;

/**
 * What an answer names: the object that it is, and parts of it that later requests may build on.
 */
export type Named = Pick<RelayObject<RelayKind | RelayPartKind>, 'kind' | 'objectId'>;

const PARTS = ['output[].id', 'output[].container_id'];
const ANSWER_PATHS = ['id', ...PARTS];
const EVENT_PATHS = [...ANSWER_PATHS.map((path) => `response.${path}`), 'item.id', 'item.container_id'];
/** Names of one stream; those that come after them cannot be built on. */
const MAX_NAMES = 10_000;
const EVENT_DATA = Buffer.from('data:');
const LF = 0x0a;
const CR = 0x0d;

/**
 * What a whole answer names. It is not parsed: it may be as large as a conversation with its
 * pictures.
 */
export async function namesOf(kind: RelayKind, answer: Uint8Array): Promise<Named[]> {
  const finder = createJsonStringFinder(ANSWER_PATHS);
  for await (const slice of sliceChunks([answer])) finder.push(slice);
  return toNamed(kind, finder.end());
}

/** The object itself comes first, its last name counting as for a parser. */
function toNamed(kind: RelayKind, found: readonly FoundString[]): Named[] {
  const own = found.findLast(({ path }) => path === 'id' || path === 'response.id');
  const parts = found.flatMap(({ path, value }): Named[] => {
    if (path.endsWith('container_id')) return [{ kind: 'container', objectId: value }];
    return path === 'item.id' || path.endsWith('output[].id') ? [{ kind: 'item', objectId: value }] : [];
  });
  return own ? [{ kind, objectId: own.value }, ...parts] : parts;
}

/**
 * Reads server-sent events while their bytes pass by, and gives what those that end with a chunk
 * name for the first time. An event is its data line.
 */
export function createVendorIdFinder(kind: RelayKind): (chunk: Uint8Array) => Named[] {
  const finder = createJsonStringFinder(EVENT_PATHS);
  const known = new Set<string>();
  /** Bytes at the beginning of the line that are those of `data:`; -1: another line. */
  let matched = 0;

  function readLine(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length && matched >= 0 && matched < EVENT_DATA.length) {
      matched = bytes[at] === EVENT_DATA[matched] ? matched + 1 : -1;
      at += 1;
    }
    if (matched === EVENT_DATA.length) finder.push(bytes.subarray(at));
  }

  function endLine(): Named[] {
    const named = matched === EVENT_DATA.length ? toNamed(kind, finder.end()) : [];
    matched = 0;
    finder.reset();
    return named;
  }

  return (chunk) => {
    const found: Named[] = [];
    for (let at = 0; at < chunk.length; ) {
      const end = lineEnd(chunk, at);
      readLine(chunk.subarray(at, end));
      if (end === chunk.length) break;
      for (const named of endLine()) {
        const name = `${named.kind} ${named.objectId}`;
        if (known.has(name) || known.size >= MAX_NAMES) continue;
        known.add(name);
        found.push(named);
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

/**
 * Stores whose objects they are, so that he finds them again. What cannot be stored is logged: the
 * answer is paid for and goes to its client all the same. A name that the vendor has given before
 * stays the first one's: it may lead to his object.
 */
export async function storeVendorIds(
  { store, clock, logger }: TaskDeps,
  { relayId, kind, userId }: RelayRecord,
  channel: ChannelRecord,
  names: readonly Named[],
): Promise<void> {
  const storable = names.filter(({ objectId }) => OBJECT_ID.test(objectId));
  if (storable.length === 0) return;
  const log = { relay_id: relayId, channel_id: channel.id };
  const made = { vendor: vendorOf(channel), userId, channelId: channel.id, relayId, createdAt: clock.unix() };
  const [object] = storable.filter((named) => named.kind === kind);
  const parts = storable.flatMap(({ kind: part, objectId }) =>
    part === 'item' || part === 'container' ? [{ ...made, kind: part, objectId }] : [],
  );
  for (let attempt = 1; attempt <= STORE_TRIES; attempt += 1) {
    try {
      const isOwn =
        !object ||
        (await store.relays.addObject({ ...made, kind, objectId: object.objectId })) ||
        (await store.relays.objectOf(relayId)) !== undefined;
      if (!isOwn)
        logger.warn(log, 'a vendor gave the name of an earlier object again: the new one cannot be read again');
      await store.relays.addParts(parts);
      return;
    } catch (error) {
      logger.error({ ...log, err: error, attempt }, 'an object of a vendor could not be stored');
      if (attempt < STORE_TRIES) await clock.sleep(STORE_PAUSE_MS * attempt);
    }
  }
}
