import { err, isObject, ok, type Result, sha256Hex } from '../../kernel/index.ts';
import { type Order, readScript } from './demo-jobs.ts';

const RESOLUTIONS = new Set(['480p', '720p', '1080p']);
const MAX_SECONDS = 60;
const MAX_KEPT_PROMPT = 200;

/**
 * Reads an order from a JSON body or a form with an optional file `image`. Errors are sentences for
 * the sender.
 */
export async function readOrder(request: Request): Promise<Result<Order, string>> {
  const multipart = request.headers.get('content-type')?.startsWith('multipart/form-data') ?? false;
  let fields: Record<string, unknown>;
  try {
    fields = multipart
      ? Object.fromEntries(await request.formData())
      : ((await request.json()) as Record<string, unknown>);
  } catch {
    return err('The body could not be read.');
  }
  if (!isObject(fields)) return err('The body must be an object.');
  const { model, prompt } = fields;
  if (typeof model !== 'string' || model === '') return err('model is required.');
  if (typeof prompt !== 'string' || prompt === '') return err('prompt is required.');
  const seconds = Number(fields.seconds ?? 4);
  if (!(seconds >= 1 && seconds <= MAX_SECONDS)) return err(`seconds must be from 1 to ${MAX_SECONDS}.`);
  const resolution = String(fields.resolution ?? '720p');
  if (!RESOLUTIONS.has(resolution)) return err(`resolution must be one of ${[...RESOLUTIONS].join(', ')}.`);
  const image = await readImage(fields.image);
  if (!image.ok) return image;
  return ok({
    model,
    prompt: prompt.slice(0, MAX_KEPT_PROMPT),
    seconds,
    resolution,
    reference: typeof fields.reference_id === 'string' ? fields.reference_id.slice(0, MAX_KEPT_PROMPT) : '',
    image: image.value,
    script: readScript(`${prompt} ${typeof fields.script === 'string' ? fields.script : ''}`),
  });
}

/** Reads a file, or Base64 with or without a `data:` prefix. Keeps only size and hash. */
async function readImage(value: unknown): Promise<Result<Order['image'], string>> {
  if (value === undefined || value === null || value === '') return ok(undefined);
  let bytes: Uint8Array;
  if (value instanceof Blob) bytes = new Uint8Array(await value.arrayBuffer());
  else if (typeof value === 'string') bytes = Buffer.from(value.replace(/^data:[^,]*;base64,/, ''), 'base64');
  else return err('image must be a file or a Base64 string.');
  return bytes.length === 0 ? err('image is empty.') : ok({ bytes: bytes.length, sha256: sha256Hex(bytes) });
}
