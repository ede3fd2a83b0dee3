import { Elysia } from 'elysia';
import { isObject, type Json } from '../../kernel/index.ts';
import { answerBody, createSpendCaps, MCP_VERSIONS } from '../../surfaces/index.ts';
import { readClientRequest } from '../bodies/read-client-request.ts';
import { countSuccess } from '../pipeline/admit-request.ts';
import { readApiKey } from '../pipeline/read-api-key.ts';
import type { Kit } from '../pipeline/route-kit.ts';
import type { Authenticators, RequestLimits } from '../pipeline/types.ts';
import { httpErrors, logFailure, toAppError } from '../responses/errors.ts';
import { endsMcp, speaksMcp } from './answer-schemas.ts';
import { fileStorage, toCaller, type V1Deps } from './route-dependencies.ts';

const SESSION = 'mcp-session-id';
const VERSION = 'mcp-protocol-version';
/** Stands in the address: `/mcp?spend_cap_usd=5`. */
const CAP = 'spend_cap_usd';
const MAX_CAP_USD = 1_000_000;

type McpDeps = Omit<V1Deps, 'watchAccess' | 'heartbeatMs'> & {
  auth: Pick<Authenticators, 'authenticateApiKey'>;
  limits: Pick<RequestLimits, 'modelRequests'>;
  version: string;
};

const MESSAGE = { type: 'object', additionalProperties: true } as const;
/** One message, or a list of them as in the revision of March 2025. */
const MESSAGES = { anyOf: [MESSAGE, { type: 'array' as const, items: MESSAGE }] };

/**
 * The Model Context Protocol by streamable HTTP, for agents. Each message is answered alone, on
 * any node; only a spend cap makes a session, which is of one node.
 */
export function mcpRoutes(kit: Kit, deps: McpDeps) {
  const caps = createSpendCaps();
  return new Elysia({ normalize: false, tags: ['Agents'] })
    .use(kit)
    .post(
      '/mcp',
      async ({ request, api, origin, requestId, keepOpen, scope, log }) => {
        const spoken = request.headers.get(VERSION);
        if (spoken !== null && !MCP_VERSIONS.some((version) => version === spoken)) {
          throw httpErrors.validation_failed({ message: `${VERSION} is one of ${MCP_VERSIONS.join(', ')}.` });
        }
        const client = await readClientRequest(request, {}, fileStorage(deps, api));
        try {
          const { body } = client;
          if (body.kind !== 'json') throw httpErrors.unsupported_media({ message: 'This route takes a JSON message.' });
          keepOpen();
          const { user } = api;
          const begins = isObject(body.value) && body.value.method === 'initialize';
          const id = request.headers.get(SESSION);
          const cap = id === null || begins ? undefined : caps.find(user.id, id);
          if (id !== null && !begins && !cap)
            throw httpErrors.not_found({ message: 'There is no such session. Start a new one.' });
          const usd = readCap(request);
          if (usd !== undefined && !begins && !cap) {
            throw httpErrors.validation_failed({
              message: `With ${CAP} each message after initialize names its session.`,
            });
          }
          const idempotencyKey = Array.isArray(body.value) ? null : client.idempotencyKey;
          // Those of the message tell its files; without files the order alone is compared.
          const ofFiles = body.extracted ? { files: body.extracted, digests: client.digests } : {};
          const { surfaces, tasks, relay, results, prices } = deps;
          const answer = await answerBody(
            { surfaces, tasks, relay, results, clock: prices.clock },
            {
              ...{ caller: toCaller(api), requestId, signal: request.signal, cap },
              order: { ...ofFiles, idempotencyKey },
              async admit(model) {
                deps.assertKeyAllows({ key: api.key, model, ip: origin.decidingIp });
                // The message was admitted as one that reads, but it costs money.
                const use = { origin, purpose: 'submit' as const, idempotencyKey };
                await deps.auth.authenticateApiKey(readApiKey(request.headers), use);
                const counted = await deps.limits.modelRequests(api, (state) => {
                  scope.rateLimit = state;
                });
                return () => countSuccess(counted, log);
              },
              describeFailure(error) {
                const failure = toAppError(error);
                logFailure(log, failure);
                return failure.message;
              },
            },
            { message: body.value as Json, version: deps.version },
          );
          if (!answer) return new Response(null, { status: 202 });
          const response = Response.json(answer);
          if (begins && usd !== undefined) response.headers.set(SESSION, caps.open(user.id, usd));
          return response;
        } finally {
          await client.release();
        }
      },
      {
        apiKey: true,
        bodyLimit: 'submission',
        detail: {
          operationId: 'callMcp',
          summary: 'Model Context Protocol (MCP) over streamable HTTP',
          ...speaksMcp,
          description: `Tools: list_models, quote, create_video, create_image, create_audio, get_task, wait_for_task, cancel_task. Resources: results. With ?${CAP}=5 a session spends at most 5 USD.`,
          requestBody: {
            required: true,
            content: { 'application/json': { schema: MESSAGES } },
          },
          responses: {
            '200': {
              description: 'The reply',
              content: { 'application/json': { schema: MESSAGES } },
            },
            '202': { description: 'A notification was taken' },
          },
        },
      },
    )
    .delete(
      '/mcp',
      ({ request, api }) => {
        caps.close(api.user.id, request.headers.get(SESSION) ?? '');
        return new Response(null, { status: 204 });
      },
      {
        apiKey: true,
        detail: {
          operationId: 'endMcpSession',
          summary: 'End an MCP session',
          ...endsMcp,
          responses: { '204': { description: 'It has ended' } },
        },
      },
    );
}

/** @throws http.validation_failed */
function readCap({ url }: Request): number | undefined {
  const text = new URL(url).searchParams.get(CAP);
  if (text === null) return undefined;
  const usd = /^\d{1,7}(?:\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN;
  if (usd > 0 && usd <= MAX_CAP_USD) return usd;
  throw httpErrors.validation_failed({ message: `${CAP} must be an amount of US dollars, such as 5.` });
}
