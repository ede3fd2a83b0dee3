const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * `next`: the index after the skipped bytes. `isEscaped`: the next byte of the string is escaped.
 */
export type SkippedString = { next: number; isClosed: boolean; isEscaped: boolean };

/**
 * Skips bytes of a JSON string, from `start` inside it to after its closing quote or to the end of
 * the chunk. Linear: no byte is read more than twice.
 */
export function skipJsonString(chunk: Uint8Array, start: number, isEscaped: boolean): SkippedString {
  for (let at = isEscaped ? start + 1 : start; ; ) {
    const quote = chunk.indexOf(QUOTE, at);
    const end = quote === -1 ? chunk.length : quote;
    let escapes = 0;
    // A quote found earlier ends the run: no backslash is counted twice.
    while (end - escapes > at && chunk[end - 1 - escapes] === BACKSLASH) escapes += 1;
    const isOdd = escapes % 2 === 1;
    if (quote === -1) return { next: end, isClosed: false, isEscaped: isOdd };
    at = quote + 1;
    if (!isOdd) return { next: at, isClosed: true, isEscaped: false };
  }
}
