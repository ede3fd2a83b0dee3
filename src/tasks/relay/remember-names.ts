import { isObject, type Json, type JsonObject, parseJson } from '../../kernel/index.ts';
import type { ChannelRecord, RelayKind, RelayObject, RelayPartKind, RelayRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';
import { vendorOf } from './build-relay-request.ts';

/** What can stand in an address as one segment. */
export const OBJECT_ID = /^[A-Za-z0-9_][A-Za-z0-9._:~-]{0,190}$/;

/** A longer line of a stream is no event that names something. */
const MAX_LINE = 16 * 1024 * 1024;
const LINE_END = /\r\n|\r|\n/;
/** Events that name nothing come by the thousand, and are not read. */
const NAMES_SOMETHING = /"(?:id|container_id)"\s*:/;
/** Names that one stream may give: what answers of a vendor have by far. */
const MAX_NAMES = 10_000;
const STORE_TRIES = 4;
const STORE_PAUSE_MS = 250;

/** What an answer names: the object that it is, and parts of it that later requests may build on. */
export type Named = Pick<RelayObject<RelayKind | RelayPartKind>, 'kind' | 'objectId'>;

/** Of an answer that was read whole. */
export function namesOf(kind: RelayKind, text: string): Named[] {
  const answer = parseJson(text);
  return isObject(answer) ? namesIn(kind, answer) : [];
}

function namesIn(kind: RelayKind, { id, output }: JsonObject): Named[] {
  const own: Named[] = typeof id === 'string' ? [{ kind, objectId: id }] : [];
  return Array.isArray(output) ? [...own, ...output.flatMap(partsOf)] : own;
}

function partsOf(item: Json | undefined): Named[] {
  if (!isObject(item)) return [];
  const { id, container_id: container } = item;
  return [
    ...(typeof id === 'string' ? [{ kind: 'item' as const, objectId: id }] : []),
    ...(typeof container === 'string' ? [{ kind: 'container' as const, objectId: container }] : []),
  ];
}

/** Reads server-sent events as their bytes come by, and gives what those that end with a chunk name for the first time. */
export function createNameFinder(kind: RelayKind): (chunk: Uint8Array) => Named[] {
  const decoder = new TextDecoder();
  const known = new Set<string>();
  let begun: string[] = [];
  let size = 0;

  /** The lines that end in this chunk; a long one is put together once, and one that is too long not at all. */
  function takeLines(chunk: Uint8Array): string[] {
    const text = decoder.decode(chunk, { stream: true });
    size += text.length;
    if (size <= MAX_LINE) begun.push(text);
    else begun = [];
    if (!LINE_END.test(text)) return [];
    const lines = (size <= MAX_LINE ? begun.join('') : text).split(LINE_END);
    // Of one that is too long the end alone is left, which is no event.
    if (size > MAX_LINE) lines.shift();
    begun = lines.splice(-1);
    size = begun.reduce((sum, { length }) => sum + length, 0);
    return lines;
  }

  return (chunk) => {
    const found: Named[] = [];
    for (const line of takeLines(chunk)) {
      if (!line.startsWith('data:') || !NAMES_SOMETHING.test(line)) continue;
      const event = parseJson(line.slice('data:'.length));
      if (!isObject(event)) continue;
      const { response, item } = event;
      for (const named of [...(isObject(response) ? namesIn(kind, response) : []), ...partsOf(item)]) {
        const name = `${named.kind} ${named.objectId}`;
        if (known.has(name) || known.size >= MAX_NAMES) continue;
        known.add(name);
        found.push(named);
      }
    }
    return found;
  };
}

/**
 * Stores whose objects they are, so that he finds them again. What cannot be stored is logged: the answer is paid for and goes to its client all
 * the same. A name that the vendor has given before stays the first one's: it may lead to his object.
 */
export async function rememberNames(
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
