import { findImageType, isObject, type Json, parseJson } from '../../kernel/index.ts';
import type { TaskDeps } from '../../tasks/index.ts';
import { awaitOwn, describeRelay, openIfReadable, type RelayTaskRead } from './follow-request.ts';
import { sendKeptAnswer } from './kept-answers.ts';

/** An answer with more bytes is not taken apart: it would be in memory at once. */
const MAX_BYTES = 16 * 1024 * 1024;
/** The type of image that OpenAI's models make by default. */
const DEFAULT_TYPE = 'image/png';

/** An image: its bytes in Base64, or its address at the vendor. */
type RelayedImage = { data: string; mimeType: string } | { url: string };
export type ShownRelayTask = {
  task: Awaited<ReturnType<typeof describeRelay>>;
  images: RelayedImage[];
  /** Why a request that has succeeded comes without its images. */
  lacks?: 'not_kept' | 'too_large';
};

/**
 * The request as a task, and its images one by one.
 * @throws as `readRelayTask`
 */
export async function showRelayTask(deps: TaskDeps, read: RelayTaskRead): Promise<ShownRelayTask> {
  const relay = await awaitOwn(deps, read);
  const task = await describeRelay(deps, relay);
  if (relay.status !== 'BILLED') return { task, images: [] };
  const kept = await openIfReadable(deps, read.id);
  if (!kept) return { task, images: [], lacks: 'not_kept' };
  const text = await readWithin(sendKeptAnswer(deps, kept, { userId: relay.userId, left: read.left }));
  return text === undefined ? { task, images: [], lacks: 'too_large' } : { task, images: listImages(parseJson(text)) };
}

/** Undefined: it is too large. */
async function readWithin(source: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) return undefined;
    // A chunk is valid until the next one is requested.
    chunks.push(chunk.slice());
  }
  return Buffer.concat(chunks).toString('utf8');
}

function listImages(answer: unknown): RelayedImage[] {
  const { data = null, images = data } = isObject(answer) ? (answer as Record<string, Json>) : {};
  return (Array.isArray(images) ? images : []).flatMap((image): RelayedImage[] => {
    const { b64_json: base64, url } = isObject(image) ? (image as Record<string, Json>) : {};
    if (typeof base64 === 'string') return [{ data: base64, mimeType: findImageType(base64) ?? DEFAULT_TYPE }];
    return typeof url === 'string' ? [{ url }] : [];
  });
}
