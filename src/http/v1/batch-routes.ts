import { Elysia } from 'elysia';
import {
  createJsonScanner,
  isJsonType,
  isObject,
  type Json,
  type JsonObject,
  parseJson,
  toStream,
} from '../../kernel/index.ts';
import {
  type Batches,
  type BatchRequest,
  FILE_SECONDS,
  readBatch,
  readBatchLines,
  surfaceErrors,
  withBatchDefaults,
} from '../../surfaces/index.ts';
import type { ClientRequest } from '../../tasks/index.ts';
import { digestJson } from '../../tasks/index.ts';
import { BODY_LIMITS, beyondLimit } from '../bodies/body-limits.ts';
import { mediaType, readBody } from '../bodies/read-body.ts';
import { readClientRequest } from '../bodies/read-client-request.ts';
import { readJsonBody } from '../bodies/read-json.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { httpErrors } from '../responses/errors.ts';
import { REPLAYED } from '../responses/response-headers.ts';
import { answersBatch, answersBatches, answersDeleted, answersFile, answersFiles } from './answer-schemas.ts';
import { BATCH_REQUEST, FILE_REQUEST } from './batch-schemas.ts';
import { cursorQuery, fileQuery, readCursor, readFileCursor } from './list-pages.ts';
import { fileStorage, toCaller, type V1Deps } from './route-dependencies.ts';

/** The media types of JSON lines. */
const LINES = new Set(['application/jsonl', 'application/x-ndjson', 'application/ndjson', 'application/x-jsonlines']);

/** Many requests at once: as a list, as JSON lines, or in OpenAI's form with a file. */
export function batchRoutes(kit: Kit, deps: V1Deps & { batches: Batches }) {
  const { batches } = deps;

  return new Elysia({ normalize: false, tags: ['Batches'] })
    .use(kit)
    .post(
      '/v1/batches',
      async ({ request, api, origin, requestId, set }) => {
        const { client, value, text } = await readBatchBody(request);
        const batch =
          text === undefined
            ? await readBatch(value, (id) => batches.inputText(api.user.id, id))
            : withBatchDefaults(readBatchLines(text));
        for (const model of listModels(batch)) deps.assertKeyAllows({ key: api.key, model, ip: origin.decidingIp });
        const made = await batches.create(toCaller(api), { requestId, request: client, batch });
        if (made.replayed) set.headers[REPLAYED] = 'true';
        return made.batch;
      },
      {
        apiKey: true,
        bodyLimit: 'batch',
        detail: {
          operationId: 'createBatch',
          summary: 'Create a batch of up to 1,000 requests',
          ...BATCH_REQUEST,
          ...answersBatch('The batch'),
        },
      },
    )
    .get('/v1/batches', ({ query, api }) => batches.page(api.user.id, readCursor(query)), {
      apiKey: true,
      query: cursorQuery,
      detail: { operationId: 'listBatches', summary: 'List batches', ...answersBatches },
    })
    .get('/v1/batches/:batch_id', ({ params, api }) => batches.read(api.user.id, params.batch_id), {
      apiKey: true,
      detail: {
        operationId: 'retrieveBatch',
        summary: "Get a batch with each request's outcome",
        ...answersBatch('The batch'),
      },
    })
    .post('/v1/batches/:batch_id/cancel', ({ params, api }) => batches.cancel(api.user.id, params.batch_id), {
      apiKey: true,
      detail: {
        operationId: 'cancelBatch',
        summary: 'Cancel a batch: nothing more is sent, running requests finish',
        ...answersBatch('The batch'),
      },
    })
    .post(
      '/v1/files',
      async ({ request, api }) => {
        const client = await readClientRequest(request, {}, fileStorage(deps, api));
        try {
          return await batches.addFile(api.user.id, await readBatchFile(client));
        } finally {
          await client.release();
        }
      },
      {
        apiKey: true,
        bodyLimit: 'submission',
        detail: {
          operationId: 'createFile',
          summary: 'Upload batch requests as JSON Lines',
          ...FILE_REQUEST,
          ...answersFile('The file'),
        },
      },
    )
    .get('/v1/files', ({ query, api }) => batches.files(api.user.id, readFileCursor(query)), {
      apiKey: true,
      query: fileQuery,
      detail: { operationId: 'listFiles', summary: 'List batch files', ...answersFiles },
    })
    .get('/v1/files/:file_id', ({ params, api }) => batches.file(api.user.id, params.file_id), {
      apiKey: true,
      detail: { operationId: 'retrieveFile', summary: 'Get a batch file', ...answersFile('The file') },
    })
    .get(
      '/v1/files/:file_id/content',
      async ({ params, api }) => {
        const lines = await batches.fileContent(api.user.id, params.file_id);
        const encoder = new TextEncoder();
        const body = toStream(
          (async function* () {
            for await (const line of lines) yield encoder.encode(line);
          })(),
        );
        return new Response(body, { headers: { 'content-type': 'application/jsonl; charset=utf-8' } });
      },
      {
        apiKey: true,
        detail: {
          operationId: 'downloadFile',
          summary: 'Download a batch file: requests, results or failures',
          responses: {
            '200': { description: 'JSON lines', content: { 'application/jsonl': { schema: { type: 'string' } } } },
          },
        },
      },
    )
    .delete(
      '/v1/files/:file_id',
      async ({ params, api }) => {
        await batches.deleteFile(api.user.id, params.file_id);
        return { id: params.file_id, object: 'file' as const, deleted: true };
      },
      {
        apiKey: true,
        detail: { operationId: 'deleteFile', summary: 'Delete a batch file', ...answersDeleted('file') },
      },
    );
}

const listModels = ({ items }: BatchRequest): Set<string> =>
  new Set(items.map(({ body }) => String((body as { model: Json }).model)));

/** The request for its Idempotency-Key and its webhook; `text`: its body is JSON lines. */
async function readBatchBody(request: Request): Promise<{ client: ClientRequest; value: Json; text?: string }> {
  const limit = BODY_LIMITS.batch;
  const type = mediaType(request.headers);
  let value: Json = null;
  let text: string | undefined;
  let sent: string;
  if (LINES.has(type)) {
    text = decodeText(await readBody(request, limit.maxBytes));
    sent = text;
  } else if (isJsonType(type)) {
    const body = await readJsonBody(request, limit);
    value = body.value;
    sent = body.text;
  } else {
    throw httpErrors.unsupported_media({ message: 'This route takes JSON, or JSON lines as application/jsonl.' });
  }
  const meaning = await digestJson(text === undefined ? sent : JSON.stringify(text));
  const client: ClientRequest = {
    ...{ method: 'POST', path: '/v1/batches', params: {}, query: {}, contentType: type, accept: 'application/json' },
    body: { kind: 'json', value },
    idempotencyKey: request.headers.get('idempotency-key'),
    callbackUrl: request.headers.get('x-callback-url'),
    digests: { raw: meaning, meaning },
    release: async () => {},
  };
  return { client, value, ...(text === undefined ? {} : { text }) };
}

const invalidFile = (message: string, param: string) => surfaceErrors.batch_invalid({ message, param });

type UploadedFile = Parameters<Batches['addFile']>[1];

/** @throws tasks.batch_invalid, http.too_large, http.bad_json */
async function readBatchFile({ body }: ClientRequest): Promise<UploadedFile> {
  if (body.kind !== 'multipart')
    throw httpErrors.unsupported_media({ message: 'This route takes multipart/form-data with file and purpose.' });
  const purpose = body.fields.purpose?.[0];
  if (purpose !== 'batch') throw invalidFile('purpose must be "batch": files are taken for batches alone.', 'purpose');
  const seconds = readLife(body.fields);
  const file = body.files.find(({ field }) => field === 'file');
  if (!file) throw invalidFile('The form must have the requests as file.', 'file');
  const { maxBytes } = BODY_LIMITS.batch;
  if (file.size > maxBytes) throw invalidFile('The file is larger than 8 MiB.', 'file');
  const chunks: Uint8Array[] = [];
  for await (const chunk of file.stream()) chunks.push(chunk.slice());
  const content = decodeText(Buffer.concat(chunks));
  // A file that no batch could be made of is refused while its client is there.
  readBatchLines(content);
  return { filename: file.filename.slice(0, 200) || 'batch.jsonl', content, seconds };
}

/**
 * How many seconds the client wants a file to be there: OpenAI's `expires_after`, each of its
 * members in an own field, or as JSON in one. Undefined: as long as may be.
 */
function readLife(fields: Record<string, string[]>): number | undefined {
  if (!Object.keys(fields).some((name) => /^expires_after(?:\[|$)/.test(name))) return undefined;
  const whole = parseJson(fields.expires_after?.[0] ?? '');
  const read = (name: string): Json | undefined =>
    fields[`expires_after[${name}]`]?.[0] ?? (isObject(whole) ? (whole as JsonObject)[name] : undefined);
  const { least, most } = FILE_SECONDS;
  const seconds = /^\d{1,9}$/.test(String(read('seconds'))) ? Number(read('seconds')) : 0;
  if (read('anchor') === 'created_at' && seconds >= least && seconds <= most) return seconds;
  const message = `expires_after must have "created_at" as anchor, and ${least} to ${most} as seconds.`;
  throw invalidFile(message, 'expires_after');
}

function decodeText(bytes: Uint8Array): string {
  const exceeded = createJsonScanner(BODY_LIMITS.batch).scan(bytes);
  if (exceeded) throw beyondLimit(exceeded, BODY_LIMITS.batch);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    if (!text.includes('\0')) return text;
  } catch {
    // Said below.
  }
  throw invalidFile('The requests must be JSON lines in UTF-8.', 'file');
}
