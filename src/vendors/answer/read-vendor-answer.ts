/** Reads a vendor's answer for a plugin's hook, within limits of size, values and levels. */
import {
  createJsonScanner,
  err,
  type Json,
  type JsonBound,
  type JsonBounds,
  MAX_JSON_NAME_BYTES,
  MAX_JSON_NUMBER_BYTES,
  ok,
  parseLongIds,
  type Result,
  type Sentence,
  sentence,
  sliceChunks,
} from '../../kernel/index.ts';
import type { ParsedBatchItem, ParsedTask, ResponseInfo, SubmitEvent } from '../../plugins/index.ts';
import { hasEnded, type TaskChange, type TaskRecord } from '../../store/ports/index.ts';
import type { UpstreamResponse } from '../../upstream/index.ts';
import { createBase64Cutter } from './cut-base64.ts';

const MIB = 1024 * 1024;
/** Largest answer of a vendor that is read into memory (hooks that take bodies accept 16 MiB). */
export const MAX_ANSWER_BYTES = 16 * MIB;
/** Most JSON values in an answer: about 15 ms of parsing. A mebibyte of embeddings has 80,000. */
const MAX_VALUES = 100_000;

/**
 * Base64 media are cut out of answers larger than this: plugins return parts of the answer more
 * than once, and hook results are limited too.
 */
const CUT_ABOVE_BYTES = MIB;
/** Largest answer that a hook may see for one task, and for a batch. */
const TASK_BYTES = 2 * MIB;
const BATCH_BYTES = 4 * MIB;
const MAX_DEPTH = 64;

/** Media up to this size reach a hook: in Base64 they fit into the state of a task. */
const MEDIA_BYTES = 765 * 1024;
const MEDIA_TYPE = /^(?:audio|image|video)\//i;

/** Up to this size an answer is counted in one go, which takes less than a millisecond. */
const SHORT_BYTES = 64 * 1024;

/**
 * `body`: the parsed JSON, or the text when it is not JSON. It is parsed when it is first read:
 * most answers repeat the one before and are known by their text. `base64`: the bytes of media.
 */
export type VendorAnswer = {
  readonly status: number;
  readonly headers: UpstreamResponse['headers'];
  readonly text: string;
  readonly body: Json;
  /** The bytes as they came, if media were cut out of the text. */
  readonly uncut?: Uint8Array;
  /** The bytes of media. */
  readonly base64?: string;
};

const utf8 = new TextDecoder();

/**
 * Reads a vendor's answer for a hook. Its size, values and levels are counted in slices before it
 * is parsed, so that no answer blocks the event loop. Base64 media are cut out of answers larger
 * than 1 MiB. `tasks`: how many tasks the request asked about. `media`: an answer whose type is
 * audio, image or video has no text but, unless it is larger than 765 KiB, its bytes.
 */
export async function readVendorAnswer(
  response: UpstreamResponse,
  { tasks, media = false }: { tasks: number; media?: boolean },
): Promise<Result<VendorAnswer, Sentence>> {
  // A request whose answer may be a stream of events has no limit of its own.
  const read = await response.bytes(MAX_ANSWER_BYTES);
  if (!read.ok) return read;
  if (media && MEDIA_TYPE.test(response.headers['content-type']?.[0] ?? ''))
    return ok(mediaAnswer(response, read.value));
  const bounds = {
    maxBytes: Math.min(tasks * TASK_BYTES, BATCH_BYTES),
    maxValues: MAX_VALUES,
    maxDepth: MAX_DEPTH,
  };
  const isCut = read.value.byteLength > CUT_ABOVE_BYTES;
  const bytes = isCut ? await cutMedia(read.value, bounds.maxBytes) : read.value;
  if (!bytes) return err(tooLarge(`more than ${bounds.maxBytes / MIB} MiB of JSON, media in Base64 not counted`));
  const passed = isContainer(bytes) ? await countJson(bytes, bounds) : undefined;
  if (passed === 'maxValues') return err(tooLarge(`more than ${bounds.maxValues.toLocaleString('en')} values`));
  if (passed === 'maxNameBytes') return err(tooLarge(`more than ${MAX_JSON_NAME_BYTES / 1024} KiB of member names`));
  if (passed === 'maxNumberBytes') return err(tooLarge(`a number of more than ${MAX_JSON_NUMBER_BYTES} digits`));
  if (passed !== undefined) return err(tooLarge(`more than ${bounds.maxDepth} levels`));
  const text = utf8.decode(bytes);
  const { status, headers } = response;
  let body: Json | undefined;
  return ok({
    status,
    headers,
    text,
    ...(isCut ? { uncut: read.value } : {}),
    get body() {
      if (body === undefined) body = parse(text);
      return body;
    },
  });
}

function mediaAnswer({ status, headers }: UpstreamResponse, bytes: Uint8Array): VendorAnswer {
  const answer = { status, headers, text: '', body: '' };
  return bytes.byteLength > MEDIA_BYTES ? answer : { ...answer, base64: Buffer.from(bytes).toString('base64') };
}

/** An answer whose body cannot be read, for what its status says. */
export const unreadAnswer = ({ status, headers }: UpstreamResponse): VendorAnswer => ({
  status,
  headers,
  text: '',
  body: '',
});

const tooLarge = (what: string): Sentence => sentence('tasks.answer_size', { what });

async function cutMedia(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array | undefined> {
  const cutter = createBase64Cutter();
  for await (const slice of sliceChunks([bytes])) if (cutter.take(slice) > maxBytes) return undefined;
  return cutter.end();
}

async function countJson(bytes: Uint8Array, bounds: JsonBounds): Promise<JsonBound | undefined> {
  const scanner = createJsonScanner(bounds);
  if (bytes.byteLength <= SHORT_BYTES) return scanner.scan(bytes);
  for await (const slice of sliceChunks([bytes])) {
    const passed = scanner.scan(slice);
    if (passed) return passed;
  }
  return undefined;
}

/** White space, and the bytes of the byte-order mark, which decoding drops. */
const SPACES = new Set([0x20, 0x09, 0x0d, 0x0a, 0xef, 0xbb, 0xbf]);
const OPENING = new Set([...'[{'].map((char) => char.charCodeAt(0)));

/** Whether the text begins like an array or object. Any other text is at most one value. */
function isContainer(bytes: Uint8Array): boolean {
  let at = 0;
  while (SPACES.has(bytes[at] ?? -1)) at += 1;
  return OPENING.has(bytes[at] ?? -1);
}

function parse(text: string): Json {
  try {
    return parseLongIds(text);
  } catch {
    return text;
  }
}

/** What hooks see of an answer beside its body. */
export const responseInfo = (answer: VendorAnswer): ResponseInfo => ({
  status: answer.status,
  headers: Object.fromEntries(Object.entries(answer.headers).map(([name, values]) => [name, values[0] ?? ''])),
});

/** Largest event, in characters. */
const MAX_EVENT = 1024 * 1024;

/** An event is larger than 1 MiB. */
export class EventTooLarge extends Error {}

/**
 * The events of a vendor's answer (WHATWG HTML, "Parsing an event stream"), each when its empty
 * line has arrived. Events without data are left out.
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

/** Columns that a vendor's batch item may set. */
export type ReportedFields = Pick<TaskChange, 'action' | 'submitTime' | 'startTime' | 'finishTime'>;

/**
 * Allowed clock skew of vendors, which is minutes at most. A time further off is not this task's,
 * or not in seconds.
 */
const SKEW_SECONDS = 300;
/** The longest name of a task's action. */
export const MAX_ACTION = 40;

/**
 * Reads a batch item's action and times, in Unix seconds. Each time must lie between the previous
 * step and now: up to five minutes off it is moved there, beyond that it is left out. The
 * submission never becomes later than recorded here, since the task's age limit counts from it.
 */
export function readReportedFields(task: TaskRecord, item: ParsedTask | ParsedBatchItem, now: number): ReportedFields {
  if (!('raw' in item)) return {};
  const fields: ReportedFields = {};
  const ended = hasEnded(item);
  const action = item.action?.trim() ?? '';
  if (action !== '' && action.length <= MAX_ACTION && !/\p{Cc}/u.test(action) && action !== task.action) {
    fields.action = action;
  }
  const submitted = within(item.submitTime, task.createdAt, task.submitTime || now);
  if (submitted !== undefined && submitted !== task.submitTime) fields.submitTime = submitted;
  const begin = fields.submitTime ?? task.submitTime;
  const started = ended || item.status === 'IN_PROGRESS' ? within(item.startTime, begin, now) : undefined;
  if (started !== undefined && started !== task.startTime) fields.startTime = started;
  const finished = ended ? within(item.finishTime, (started ?? task.startTime) || begin, now) : undefined;
  if (finished !== undefined) fields.finishTime = finished;
  return fields;
}

function within(time: number | undefined, from: number, to: number): number | undefined {
  if (time === undefined || time < from - SKEW_SECONDS || time > to + SKEW_SECONDS) return undefined;
  return Math.max(from, Math.min(time, to));
}
