const EVENT_DATA = Buffer.from('data:');
const LF = 0x0a;
const CR = 0x0d;

/** What reads the data lines of server-sent events: parts of one line, then its end. */
export type EventDataReader = { push(bytes: Uint8Array): void; endLine(): void };

/** Reads server-sent events chunk by chunk. Only the bytes after `data:` reach the reader. */
export function readEventData({ push, endLine }: EventDataReader): (chunk: Uint8Array) => void {
  /** How many bytes of `data:` the line has matched so far; -1: it is another line. */
  let matched = 0;

  function readLine(bytes: Uint8Array): void {
    let at = 0;
    while (at < bytes.length && matched >= 0 && matched < EVENT_DATA.length) {
      matched = bytes[at] === EVENT_DATA[matched] ? matched + 1 : -1;
      at += 1;
    }
    if (matched === EVENT_DATA.length) push(bytes.subarray(at));
  }

  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      const end = lineEnd(chunk, at);
      readLine(chunk.subarray(at, end));
      if (end === chunk.length) break;
      if (matched === EVENT_DATA.length) endLine();
      matched = 0;
      at = end + 1;
    }
  };
}

function lineEnd(chunk: Uint8Array, from: number): number {
  let end = from;
  while (end < chunk.length && chunk[end] !== LF && chunk[end] !== CR) end += 1;
  return end;
}
