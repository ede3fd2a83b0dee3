import { Elysia } from 'elysia';
import { createJsonScanner, isObject, type Json, type JsonObject, parseJson, toStream } from '../../kernel/index.ts';
import { type Batches, FILE_SECONDS, readBatchLines, surfaceErrors } from '../../surfaces/index.ts';
import type { ClientRequest } from '../../tasks/index.ts';
import { BODY_LIMITS, beyondLimit } from '../bodies/body-limits.ts';
import { readClientRequest } from '../bodies/read-client-request.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { httpErrors } from '../responses/errors.ts';
import { answersDeleted, answersFile, answersFiles } from './answer-schemas.ts';
import { FILE_REQUEST } from './batch-schemas.ts';
import { fileQuery, readFileCursor } from './list-pages.ts';
import { fileStorage, type V1Deps } from './route-dependencies.ts';

/** Files of requests for batches, and those of their results. */
export function fileRoutes(kit: Kit, deps: V1Deps & { batches: Batches }) {
  const { batches } = deps;

  return new Elysia({ normalize: false, tags: ['Batches'] })
    .use(kit)
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
  const content = decodeLines(Buffer.concat(chunks));
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

/**
 * The text of JSON lines within the limits of a batch.
 * @throws tasks.batch_invalid, http.too_large, http.bad_json
 */
export function decodeLines(bytes: Uint8Array): string {
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
