import type { JsonValueFinder } from '../../kernel/index.ts';

/**
 * Reads the data of server-sent events: parts of a line, a further line of the same event, the end
 * of the event. `endEvent` is called once for each index that `push` returns.
 */
export type EventConsumer = {
  data(bytes: Uint8Array): void;
  nextLine(): void;
  endEvent(): void;
  /** The chunk ends within an event: its bytes are valid no longer. */
  endChunk?(): void;
};

export type EventReader = {
  /**
   * Returns the indexes in the chunk at which events end, after their empty line. Events without
   * data that follow each other count as one.
   */
  push(chunk: Uint8Array): number[];
  /** The stream has ended: an event that lacks its empty line counts. */
  end(): void;
};

const LINE_FEED = new Uint8Array([0x0a]);

/**
 * Finds values in the JSON of events; `endText` takes them. Where a vendor leaves out the empty
 * line between two events, a line that cannot go on with the text before it begins another.
 */
export function findInEvents(finder: JsonValueFinder, endText: () => void): EventConsumer {
  /** The first bytes of an event, which are all of it where it has one line within one chunk. */
  let first: Uint8Array | undefined;
  let hasMore = false;

  function pushFirst(): void {
    if (first) finder.push(first);
    first = undefined;
    hasMore = true;
  }

  return {
    data(bytes) {
      if (!hasMore && first === undefined) {
        first = bytes;
        return;
      }
      pushFirst();
      finder.push(bytes);
    },
    nextLine() {
      pushFirst();
      if (finder.goesOn()) finder.push(LINE_FEED);
      else endText();
    },
    endEvent() {
      if (first && !finder.readWhole(first)) finder.push(first);
      first = undefined;
      hasMore = false;
      endText();
    },
    endChunk: pushFirst,
  };
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
const DATA = Buffer.from('data');
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;

/** Where in a line the reader is. */
const NAME = 0;
/** After the colon, where one space is not part of the value. */
const COLON_READ = 1;
const VALUE = 2;
/** In a comment, or the line of another field. */
const OTHER = 3;

/**
 * Reads an event stream as browsers do (WHATWG HTML, "Parsing an event stream"), in chunks of any
 * size. Takes linear time and constant memory. A line feed that follows the carriage return of an
 * empty line may belong to the next event.
 */
export function readEvents(consumers: readonly EventConsumer[]): EventReader {
  let place = NAME;
  /** How many bytes of the byte order mark, or of the name `data`, the line has so far. */
  let marked = 0;
  let matched = 0;
  let isStart = true;
  let isLineEmpty = true;
  let isAfterReturn = false;
  /** The event has a line of data. */
  let hasData = false;
  /** The next carriage return of the chunk, which most streams have none of. */
  let nextReturn = 0;
  let ends: number[] = [];
  /** The last of `ends` is that of an event without data. */
  let isIdle = false;

  /** Where the line ends that goes on at `from`, by the runtime's own search. */
  function lineEnd(chunk: Uint8Array, from: number): number {
    if (nextReturn < from) nextReturn = indexOrEnd(chunk, CR, from);
    const feed = chunk.indexOf(LF, from);
    return feed === -1 ? nextReturn : Math.min(feed, nextReturn);
  }

  function beginData(): void {
    if (hasData) for (const consumer of consumers) consumer.nextLine();
    hasData = true;
  }

  function readName(byte: number): void {
    if (isStart && byte === BOM[marked]) {
      marked += 1;
      isStart = marked < BOM.length;
      return;
    }
    isStart = false;
    isLineEmpty = false;
    if (marked > 0 && marked < BOM.length) place = OTHER;
    else if (byte === DATA[matched]) matched += 1;
    else if (byte === COLON && matched === DATA.length) {
      place = COLON_READ;
      beginData();
    } else place = OTHER;
  }

  function endEvent(at: number): void {
    if (isIdle && !hasData) ends.pop();
    else for (const consumer of consumers) consumer.endEvent();
    ends.push(at);
    isIdle = !hasData;
    hasData = false;
  }

  /** Ends an event where the line was empty. `next`: the index of the next line. */
  function endLine(next: number): void {
    // A line `data` without a colon is data without a value.
    if (place === NAME && matched === DATA.length) beginData();
    if (isLineEmpty) endEvent(next);
    place = NAME;
    matched = 0;
    marked = 0;
    isStart = false;
    isLineEmpty = true;
  }

  return {
    push(chunk) {
      ends = [];
      isIdle = false;
      nextReturn = -1;
      for (let at = 0; at < chunk.length; ) {
        const byte = chunk[at] as number;
        if (byte === LF || byte === CR) {
          at += 1;
          const isSecond = byte === LF && isAfterReturn;
          isAfterReturn = byte === CR;
          if (isSecond) continue;
          endLine(byte === CR && chunk[at] === LF ? at + 1 : at);
          continue;
        }
        isAfterReturn = false;
        if (place === NAME) {
          readName(byte);
          at += 1;
        } else if (place === COLON_READ && byte === SPACE) {
          place = VALUE;
          at += 1;
        } else {
          const end = lineEnd(chunk, at);
          if (place !== OTHER) {
            place = VALUE;
            const value = chunk.subarray(at, end);
            for (const consumer of consumers) consumer.data(value);
          }
          at = end;
        }
      }
      if (hasData) for (const consumer of consumers) consumer.endChunk?.();
      return ends;
    },
    end() {
      if (!isLineEmpty) endLine(0);
      if (hasData) endLine(0);
    },
  };
}

function indexOrEnd(chunk: Uint8Array, byte: number, from: number): number {
  const index = chunk.indexOf(byte, from);
  return index === -1 ? chunk.length : index;
}
