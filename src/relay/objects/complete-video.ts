import { isUtf8 } from 'node:buffer';
import { createJsonScanner, editJson, isObject, type JsonObject, parseJson } from '../../kernel/index.ts';
import type { RequestedVideo } from '../../store/ports/index.ts';
import { readLengthAndSize } from '../../tasks/index.ts';
import type { RelayedRequest, RelayIntent } from '../types.ts';

/** Limits of a video object. A larger answer is passed on unread. */
const BOUNDS = { maxBytes: 256 * 1024, maxValues: 10_000, maxDepth: 32 };

/** Members that no video object may leave open. Length and size of "0" are not known. */
const REQUIRED = ['object', 'model', 'created_at', 'progress', 'seconds', 'size'];

/** The length and size that a request asks for. A remix takes what it omits from its source. */
export function readRequestedVideo(
  { model, values, facts, references }: RelayIntent,
  { remix }: RelayedRequest,
): RequestedVideo {
  const asked = [values, ...(remix?.video ? [remix.video as JsonObject] : [])];
  const source = references.find(({ kind }) => kind === 'video')?.objectId;
  return {
    model,
    ...readLengthAndSize({ asked, facts }),
    ...(source === undefined ? {} : { remixed_from_video_id: source }),
  };
}

/**
 * What the gateway knows of a video. `createdAt`: Unix seconds. `link`: of its content here, and
 * needs no key.
 */
export type KnownVideo = {
  asked: RequestedVideo | undefined;
  createdAt: number;
  link?: string | undefined;
  cost?: JsonObject | undefined;
};

/**
 * A vendor's answer with the members that its video object lacks. Clients that check answers need
 * all of OpenAI's: without them they would fail after the purchase. Price and links are the
 * gateway's own. What else the vendor said stays as it wrote it, and so does any other answer.
 */
export function completeVideo(answer: Uint8Array, { asked, createdAt, link, cost }: KnownVideo): Uint8Array {
  if (createJsonScanner(BOUNDS).scan(answer) || !isUtf8(answer)) return answer;
  const text = new TextDecoder().decode(answer);
  const video = parseJson(text);
  if (!isObject(video) || !isVideo(video as JsonObject)) return answer;
  const known: JsonObject = {
    ...{ object: 'video', model: '', created_at: createdAt, progress: video.status === 'completed' ? 100 : 0 },
    ...{ completed_at: null, expires_at: null, seconds: '0', size: '0x0', remixed_from_video_id: null, error: null },
    ...asked,
  };
  const missing = Object.entries(known).filter(([name]) =>
    REQUIRED.includes(name) ? (video[name] ?? null) === null : video[name] === undefined,
  );
  const own: JsonObject = {
    ...(cost ? { cost } : {}),
    ...(link !== undefined && video.status === 'completed' ? { content_url: link, url: link } : {}),
  };
  const changes = { ...Object.fromEntries(missing), ...own };
  return Object.keys(changes).length === 0 ? answer : new TextEncoder().encode(editJson(text, changes));
}

const isVideo = ({ id = null, object = null }: JsonObject): boolean =>
  (typeof id === 'string' || typeof id === 'number') && (object === null || object === 'video');
