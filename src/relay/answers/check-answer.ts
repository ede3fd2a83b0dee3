/** Whether an answer to a relayed request is one of its API, so that it may be billed. */
import { isJsonType } from '../../kernel/index.ts';
import type { RelayKind } from '../../store/ports/index.ts';
import type { UpstreamResponse } from '../../upstream/index.ts';
import { ENDPOINTS } from '../endpoints.ts';
import { readMediaEssence } from './filter-answer.ts';

const JSON_TYPE = 'application/json';
const EVENTS_TYPE = 'text/event-stream';
/** Types that say nothing about the content, or that servers give by default. */
const VAGUE = /^(?:|text\/.*|application\/(?:octet-stream|x-json|json5|javascript|x-ndjson)|binary\/octet-stream)$/;

/** JSON begins with an object or a list, and with what can follow its bracket. */
const JSON_TEXT = /^(?:\{\s*["}]|\[\s*["\][{tfn\d-])/;
/** A field of an event, or a comment. */
const EVENT_TEXT = /^(?:data|event|id|retry)?:/;
const HTML_TEXT = /^<(?:[!?][a-z-]|[a-z][a-z0-9]*[\s/>])/i;
/** The longest beginning that one of them needs. JSON may have more spaces in its bracket. */
const LONGEST_BEGINNING = 16;
const OPEN_JSON = /^[{[]\s*$/;

type Content = 'json' | 'events' | 'html' | 'other';

const utf8 = new TextDecoder();
/** Without the byte-order mark, which the decoder drops, and leading spaces. */
const readBeginning = (bytes: Uint8Array): string => utf8.decode(bytes).trimStart();

function classifyContent(text: string): Content {
  if (JSON_TEXT.test(text)) return 'json';
  if (EVENT_TEXT.test(text)) return 'events';
  return HTML_TEXT.test(text) ? 'html' : 'other';
}

const hasContent = (bytes: Uint8Array): boolean => {
  const text = readBeginning(bytes);
  return (text.length >= LONGEST_BEGINNING && !OPEN_JSON.test(text)) || classifyContent(text) !== 'other';
};

/**
 * The answer, with the type that its content has: the work is done and paid, so a wrong label does
 * not lose it. Undefined for what is not an answer of this API: a wrong base URL may lead to a web
 * page, which must not be billed. Reads no more than the first bytes, and leaves them to be read.
 */
export async function checkAnswer(kind: RelayKind, response: UpstreamResponse): Promise<UpstreamResponse | undefined> {
  const type = readMediaEssence(response);
  const { answers, streams } = ENDPOINTS[kind];
  const hasJsonType = isJsonType(type);
  const isOwn = answers?.test(type) === true;
  if (type === EVENTS_TYPE || (isOwn && !VAGUE.test(type))) return response;
  if (!hasJsonType && !isOwn && !VAGUE.test(type)) return undefined;
  const content = classifyContent(readBeginning(await response.peek(hasContent)));
  if (content === 'html') return undefined;
  if (content === 'events' && streams) return labelled(response, EVENTS_TYPE);
  if (hasJsonType) return response;
  // The text of a recording may look like JSON: "[Music]".
  if (content === 'json' && !(isOwn && type.startsWith('text/'))) return labelled(response, JSON_TYPE);
  return isOwn ? response : undefined;
}

const labelled = (response: UpstreamResponse, type: string): UpstreamResponse => ({
  ...response,
  headers: { ...response.headers, 'content-type': [type] },
});
