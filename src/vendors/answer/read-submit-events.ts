import type { SubmitEvent } from '../../plugins/index.ts';

/** Largest event, in characters. */
const MAX_EVENT = 1024 * 1024;

/** An event is larger than 1 MiB. */
export class EventTooLarge extends Error {}

/**
 * The events of a vendor's answer (WHATWG HTML, "Parsing an event stream"), each once its empty
 * line has come. An event without data is none.
 * @throws EventTooLarge, and what reading the answer throws
 */
export async function* readSubmitEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<SubmitEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  let data: string[] = [];
  let size = 0;
  let [event, id] = ['', ''];
  for await (const chunk of chunks) {
    rest += decoder.decode(chunk, { stream: true });
    // A return at the end may be half of a line's end.
    const lines = rest.slice(0, rest.endsWith('\r') ? -1 : rest.length).split(/\r\n|\r|\n/);
    const unfinished = `${lines.pop() ?? ''}${rest.endsWith('\r') ? '\r' : ''}`;
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { event: event || 'message', id, data: data.join('\n') };
        [data, event, size] = [[], '', 0];
        continue;
      }
      size += line.length;
      if (size > MAX_EVENT) throw new EventTooLarge();
      const colon = line.indexOf(':');
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (name === 'data') data.push(value);
      else if (name === 'event') event = value;
      else if (name === 'id' && !value.includes('\0')) id = value;
    }
    rest = unfinished;
    if (size + rest.length > MAX_EVENT) throw new EventTooLarge();
  }
}
