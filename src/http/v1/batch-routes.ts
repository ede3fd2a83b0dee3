import { Elysia } from 'elysia';
import { isJsonType, type Json } from '../../kernel/index.ts';
import { type Batches, type BatchRequest, readBatch, readBatchLines, withBatchDefaults } from '../../surfaces/index.ts';
import type { ClientRequest } from '../../tasks/index.ts';
import { digestJson } from '../../tasks/index.ts';
import { BODY_LIMITS } from '../bodies/body-limits.ts';
import { mediaType, readBody } from '../bodies/read-body.ts';
import { readJsonBody } from '../bodies/read-json.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import { httpErrors } from '../responses/errors.ts';
import { REPLAYED } from '../responses/response-headers.ts';
import { answersBatch, answersBatches, createsBatch, ordersBatch } from './answer-schemas.ts';
import { BATCH_REQUEST } from './batch-schemas.ts';
import { decodeLines } from './file-routes.ts';
import { cursorQuery, readCursor } from './list-pages.ts';
import { toCaller, type V1Deps } from './route-dependencies.ts';

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
          ...ordersBatch,
          ...BATCH_REQUEST,
          ...createsBatch,
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
    });
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
    text = decodeLines(await readBody(request, limit.maxBytes));
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
