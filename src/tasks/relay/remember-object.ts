import { isObject, parseJson } from '../../kernel/index.ts';
import type { ChannelRecord, RelayRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';
import { vendorOf } from './build-relay-request.ts';

/** What can stand in an address as one segment. */
export const OBJECT_ID = /^[A-Za-z0-9_][A-Za-z0-9._:~-]{0,190}$/;

/** Where no event has named the object by then, none will. */
const MAX_BEGINNING = 16 * 1024 * 1024;
const LINE_END = /\r\n|\r|\n/;
const STORE_TRIES = 4;
const STORE_PAUSE_MS = 250;

/** The id of the object that an answer is. */
export function objectIdOf(text: string): string | undefined {
  const answer = parseJson(text);
  return isObject(answer) && typeof answer.id === 'string' ? answer.id : undefined;
}

/**
 * Reads server-sent events as their bytes come by, until one carries a `response` with its id. Gives that id, once; `undefined` before and
 * afterwards.
 */
export function createObjectFinder(): (chunk: Uint8Array) => string | undefined {
  const decoder = new TextDecoder();
  let begun: string[] = [];
  let seen = 0;
  let over = false;

  /** The lines that end in this chunk; a long one is put together once. */
  function takeLines(chunk: Uint8Array): string[] {
    const text = decoder.decode(chunk, { stream: true });
    begun.push(text);
    if (!LINE_END.test(text)) return [];
    const lines = begun.join('').split(LINE_END);
    begun = lines.splice(-1);
    return lines;
  }

  return (chunk) => {
    if (over) return undefined;
    seen += chunk.byteLength;
    over = seen > MAX_BEGINNING;
    for (const line of takeLines(chunk)) {
      const event = line.startsWith('data:') ? parseJson(line.slice('data:'.length)) : undefined;
      const response = isObject(event) ? event.response : undefined;
      if (!isObject(response) || typeof response.id !== 'string') continue;
      over = true;
      return response.id;
    }
    return undefined;
  };
}

/**
 * Stores whose object it is, so that he finds it again. What cannot be stored is logged: the answer is paid for and goes to its client all
 * the same. A name that the vendor has given before stays the first one's: it may lead to his object.
 */
export async function rememberObject(
  { store, clock, logger }: TaskDeps,
  { relayId, kind, userId }: RelayRecord,
  channel: ChannelRecord,
  objectId: string | undefined,
): Promise<void> {
  const log = { relay_id: relayId, channel_id: channel.id };
  if (objectId === undefined || !OBJECT_ID.test(objectId)) {
    logger.warn(log, 'the answer of a vendor names no object: it cannot be read again');
    return;
  }
  const createdAt = clock.unix();
  const object = { objectId, kind, vendor: vendorOf(channel), userId, channelId: channel.id, relayId, createdAt };
  for (let attempt = 1; attempt <= STORE_TRIES; attempt += 1) {
    try {
      const added = (await store.relays.addObject(object)) || (await store.relays.objectOf(relayId)) !== undefined;
      if (!added)
        logger.warn(log, 'a vendor gave the name of an earlier object again: the new one cannot be read again');
      return;
    } catch (error) {
      logger.error({ ...log, err: error, attempt }, 'an object of a vendor could not be stored');
      if (attempt < STORE_TRIES) await clock.sleep(STORE_PAUSE_MS * attempt);
    }
  }
}
