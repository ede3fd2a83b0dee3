import { isObject, parseJson } from '../../kernel/index.ts';

/** An event that only reports usage is far smaller; a longer one passes as it comes. */
const MAX_HELD_BYTES = 64 * 1024;
const EMPTY = new Uint8Array(0);
const USAGE = Buffer.from('"usage"');
const LF = 0x0a;
const CR = 0x0d;

/** Passes the bytes of a stream on without the event that the client did not ask for. */
export type EventFilter = { push(chunk: Uint8Array): Uint8Array; end(): Uint8Array };

/**
 * Removes the event that a chat completion adds for `stream_options.include_usage`: it has usage
 * and no choices. Whole events pass at once, unchanged; the beginning of one waits for its end.
 */
export function removeUsageEvent(): EventFilter {
  /** The beginning of the current event, from earlier chunks. */
  let held: Uint8Array[] = [];
  let heldBytes = 0;
  /** The current event is too long to be held: it passes. */
  let isPassing = false;
  const ends = findEventEnds();

  const takeHeld = (last: Uint8Array): Uint8Array => {
    const event = held.length === 0 ? last : Buffer.concat([...held, last]);
    held = [];
    heldBytes = 0;
    return event;
  };

  return {
    push(chunk) {
      const passed: Uint8Array[] = [];
      let at = 0;
      for (const end of ends(chunk)) {
        const event = takeHeld(chunk.subarray(at, end));
        if (isPassing || !isUsageOnly(event)) passed.push(event);
        isPassing = false;
        at = end;
      }
      const rest = chunk.subarray(at);
      if (isPassing || heldBytes + rest.length > MAX_HELD_BYTES) {
        isPassing = true;
        passed.push(takeHeld(rest));
      } else if (rest.length > 0) {
        // A copy: the vendor's chunk is freed once it was passed on.
        held.push(rest.slice());
        heldBytes += rest.length;
      }
      return passed.length === 1 ? (passed[0] as Uint8Array) : Buffer.concat(passed);
    },
    end() {
      const rest = takeHeld(EMPTY);
      return isUsageOnly(rest) ? EMPTY : rest;
    },
  };
}

/** For each chunk, the indexes after the empty lines in it. Linear, whatever the chunks are. */
function findEventEnds(): (chunk: Uint8Array) => number[] {
  let isLineEmpty = true;
  let isAfterReturn = false;
  /** The chunk ended with an empty line whose line feed may still come. */
  let isEndPending = false;
  return (chunk) => {
    if (chunk.length === 0) return [];
    const ends: number[] = isEndPending ? [chunk[0] === LF ? 1 : 0] : [];
    isEndPending = false;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte !== LF && byte !== CR) isLineEmpty = false;
      else if (byte === CR || !isAfterReturn) {
        if (isLineEmpty && byte === CR && at + 1 === chunk.length) isEndPending = true;
        else if (isLineEmpty) ends.push(byte === CR && chunk[at + 1] === LF ? at + 2 : at + 1);
        isLineEmpty = true;
      }
      isAfterReturn = byte === CR;
    }
    return ends;
  };
}

function isUsageOnly(event: Uint8Array): boolean {
  if (event.length > MAX_HELD_BYTES) return false;
  const bytes = Buffer.from(event.buffer, event.byteOffset, event.byteLength);
  if (!bytes.includes(USAGE)) return false;
  const lines = bytes.toString('utf8').split(/\r\n|\n|\r/);
  const data = lines.flatMap((line) => (line.startsWith('data:') ? [line.slice('data:'.length)] : [])).join('\n');
  const value = parseJson(data);
  return isObject(value) && isObject(value.usage) && Array.isArray(value.choices) && value.choices.length === 0;
}
