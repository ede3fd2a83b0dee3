/**
 * A vendor reports the usage of a chat stream only where `stream_options.include_usage` asks for
 * it. Where the client does not (`hidesUsage` in `../bodies/read-relay-request.ts`), the gateway
 * asks, and removes the event that answers.
 */
import type { Quote } from '../../billing/index.ts';
import { createByteBuffer, isObject, parseJson } from '../../kernel/index.ts';
import type { ChannelRecord } from '../../store/ports/index.ts';
import type { EventConsumer } from '../answers/read-events.ts';
import { ENDPOINTS } from '../endpoints.ts';
import type { RelayDeps } from '../types.ts';
import { readsReport } from './estimate-reservation.ts';

/** The member that asks. */
export const USAGE_QUESTION = { stream_options: { include_usage: true } };

/** An event that only reports usage is far smaller; a longer one passes as it comes. */
const MAX_HELD_BYTES = 64 * 1024;
const EMPTY = new Uint8Array(0);
const LINE_FEED = Buffer.from('\n');
const LF = 0x0a;
const CR = 0x0d;

/** Whether the price reads the usage of a stream, and the channel's vendor takes the question. */
export const asksForUsage = ({ billing }: RelayDeps, { snapshot }: Quote, { settings }: ChannelRecord): boolean =>
  settings.stream_usage !== false &&
  snapshot.expression !== null &&
  readsReport(ENDPOINTS.chat, billing.prices.listFactKeys(snapshot.expression));

/**
 * Passes the bytes of a stream on without the event that the client did not ask for. `events` reads
 * the same bytes first.
 */
export type EventFilter = {
  events: EventConsumer;
  /** `ends`: the indexes in the chunk at which events end. */
  push(chunk: Uint8Array, ends: readonly number[]): Uint8Array;
  /** The bytes that are left once the stream and its last event have ended. */
  end(): Uint8Array;
};

/**
 * Removes the event that a chat completion adds for `stream_options.include_usage`: it has usage
 * and no choices. Whole events pass at once, unchanged; the beginning of one waits for its end.
 */
export function removeUsageEvent(): EventFilter {
  /** The beginning of the current event, from earlier chunks, and its data. */
  const held = createByteBuffer();
  const data = createByteBuffer();
  /** The current event is too long to be held: it passes. */
  let isPassing = false;
  /** For each event that has ended, whether it only reports usage. */
  let verdicts: boolean[] = [];
  /**
   * The latest event ended with a carriage return. Its line feed passes if the event has passed.
   */
  let afterReturn: 'pass' | 'remove' | undefined;

  const append = (bytes: Uint8Array): void => {
    // One byte beyond the limit says that the data is too long.
    const room = Math.max(0, MAX_HELD_BYTES + 1 - data.size());
    data.append(bytes, 0, Math.min(bytes.length, room));
  };
  const takeHeld = (last: Uint8Array): Uint8Array => {
    if (held.size() === 0) return last;
    held.append(last, 0, last.length);
    return held.take().slice();
  };

  return {
    events: {
      data: append,
      nextLine: () => append(LINE_FEED),
      endEvent() {
        verdicts.push(data.size() <= MAX_HELD_BYTES && isUsageOnly(data.take()));
        data.clear();
      },
    },
    push(chunk, ends) {
      if (chunk.length === 0) return chunk;
      const passed: Uint8Array[] = [];
      let at = chunk[0] === LF && afterReturn ? 1 : 0;
      /** The part of the chunk that passes begins here and ends at `at`. */
      let from = at === 1 && afterReturn === 'remove' ? 1 : 0;
      afterReturn = undefined;
      const passHeld = () => {
        if (held.size() > 0) passed.push(held.take().slice());
      };
      for (const [nth, end] of ends.entries()) {
        const isRemoved = !isPassing && verdicts[nth] === true;
        if (isRemoved) {
          held.clear();
          passed.push(chunk.subarray(from, at));
          from = end;
        } else passHeld();
        if (end === chunk.length && chunk[end - 1] === CR) afterReturn = isRemoved ? 'remove' : 'pass';
        isPassing = false;
        at = end;
      }
      verdicts = [];
      isPassing ||= held.size() + chunk.length - at > MAX_HELD_BYTES;
      if (isPassing) {
        passHeld();
        at = chunk.length;
      } else held.append(chunk, at, chunk.length);
      passed.push(chunk.subarray(from, at));
      const parts = passed.filter(({ length }) => length > 0);
      return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
    },
    end() {
      const rest = takeHeld(EMPTY);
      return verdicts[0] ? EMPTY : rest;
    },
  };
}

function isUsageOnly(data: Uint8Array): boolean {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (!bytes.includes('usage')) return false;
  const value = parseJson(bytes.toString('utf8'));
  if (!isObject(value) || !isObject(value.usage) || value.error !== undefined) return false;
  const { choices = null } = value;
  return choices === null || (Array.isArray(choices) && choices.length === 0);
}
