import { toOpenAPISchema } from '@elysiajs/openapi/openapi';
import type { AnyElysia } from 'elysia';
import { describeBytes, isObject } from '../../kernel/index.ts';
import { BODY_LIMITS, type BodyLimit } from '../bodies/body-limits.ts';
import type { AccessLevel, ProofNeed } from '../pipeline/access-levels.ts';
import { describeAnswer } from '../responses/describe-answer.ts';
import { ANSWER_SCHEMAS } from '../v1/answer-schemas.ts';
import { describeCodes } from './describe-codes.ts';
import { CALLBACK_URL, WEBHOOKS } from './describe-webhooks.ts';
import type { OpenApiDocument, Operation } from './types.ts';

const SECURITY: Record<AccessLevel, object[]> = {
  public: [],
  user: [{ panel: [] }],
  session: [{ panel: [] }],
  admin: [{ panel: [] }],
  root: [{ panel: [] }],
  apiKey: [{ apiKey: [] }],
  apiKeyOrCapability: [{ apiKey: [] }, { capability: [] }],
  refreshCookie: [{ refreshCookie: [] }],
  operator: [{ metrics: [] }],
};

const DESCRIPTION = [
  'Panel routes (/api) return {success, message, data}; errors have an HTTP status and {success: false, code, message, reason?, params?, details?, request_id}.',
  'Client routes (/v1) return OpenAI-compatible responses; errors are {error: {message, type, code, param}}.',
  'JSON bodies have at most 64 KiB, 20,000 values and 64 levels, unless an operation says otherwise.',
  'Every response carries x-request-id. Times are Unix seconds. Quota is an integer: 500,000 equal one US dollar.',
].join('\n\n');

/** In the order of use; the panel's own follow. */
const TAGS = ['Models', 'Videos', 'Tasks', 'Responses', 'Images', 'Chat', 'Embeddings', 'Audio'];

/** Answers by method and path, then by status. */
type PanelAnswers = Record<string, Record<string, object>>;

/** The OpenAPI document of all routes, with the credentials, limits and proofs that each needs. */
export async function describeApi(app: AnyElysia, version: string): Promise<OpenApiDocument> {
  const { default: panel } = await import('./panel-answers.gen.json');
  const answers: PanelAnswers = panel.answers;
  const generated = toOpenAPISchema(app, { staticFile: false }) as unknown as Pick<
    OpenApiDocument,
    'paths' | 'components'
  >;
  const codes = describeCodes();
  describeBodies(app, generated.paths);
  const paths = inOrderOfUse(mergeShapes(generated.paths));
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const schemas = answers[`${method} ${path}`] ?? {};
      for (const [status, schema] of Object.entries(schemas)) {
        operation.responses = { ...describeAnswer(status, schema), ...operation.responses };
      }
      describeAccessAndLimits(operation, path);
    }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Taskgate', version, description: DESCRIPTION },
    servers: [{ url: '/', description: 'This gateway' }],
    tags: TAGS.map((name) => ({ name })),
    paths,
    webhooks: WEBHOOKS,
    'x-codes': codes,
    components: {
      ...generated.components,
      schemas: {
        ...ANSWER_SCHEMAS,
        ...panel.schemas,
        PanelError: describeFailure({
          success: { type: 'boolean', const: false },
          code: { type: 'string', enum: codes.map(({ panel }) => panel) },
          message: { type: 'string' },
          reason: {
            type: 'string',
            description: 'Where the message is one of a catalogue: its name, to say it in another language.',
          },
          params: {
            type: 'object',
            additionalProperties: true,
            description: 'The values in that sentence.',
          },
          details: {},
          request_id: { type: 'string' },
        }),
        OpenAiError: {
          description: 'An error in OpenAI format.',
          ...describeFailure({ error: OPENAI_ERROR }),
        },
        RelayedError: {
          description: "A gateway error, or the vendor's error passed through.",
          anyOf: [refer('OpenAiError'), refer('VendorError')],
        },
        VendorError: {
          type: 'object',
          additionalProperties: true,
          description: "An error in the vendor's own format.",
        },
      },
      securitySchemes: {
        panel: {
          type: 'http',
          scheme: 'bearer',
          description: 'An access token, or, where no session is required, a personal access token (tgp_…).',
        },
        apiKey: { type: 'http', scheme: 'bearer', description: 'An API key: sk-…' },
        capability: { type: 'apiKey', in: 'query', name: 'access', description: 'Part of a signed artifact link.' },
        refreshCookie: {
          type: 'apiKey',
          in: 'cookie',
          name: 'svc_refresh',
          description:
            'Set under the name svc_refresh_ and six characters of the installation, with the prefix __Secure- over HTTPS, and read under the short name too.',
        },
        metrics: { type: 'http', scheme: 'bearer', description: 'METRICS_TOKEN.' },
      },
      responses: {
        PanelFailure: failure('An error on a panel route.', ERRORS.PanelFailure),
        OpenAiFailure: failure('An error on a route for API clients.', ERRORS.OpenAiFailure),
        RelayedFailure: failure("A gateway error, or the vendor's error passed through.", ERRORS.RelayedFailure),
      },
    },
  };
}

/** What API clients call comes first. */
function inOrderOfUse(paths: OpenApiDocument['paths']): OpenApiDocument['paths'] {
  const rank = (operations: Record<string, Operation>): number => {
    const at = TAGS.indexOf(Object.values(operations)[0]?.tags?.[0] ?? '');
    return at < 0 ? TAGS.length : at;
  };
  return Object.fromEntries(Object.entries(paths).toSorted(([, a], [, b]) => rank(a) - rank(b)));
}

/** The gateway reads bodies itself; the generator does not know that it takes only JSON. */
function describeBodies(app: AnyElysia, paths: OpenApiDocument['paths']): void {
  for (const { method, path, hooks } of app.routes) {
    const operation = paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
    if (!operation || !hooks.body) continue;
    operation.requestBody = { required: true, content: { 'application/json': { schema: hooks.body } } };
  }
}

/**
 * OpenAPI allows one path per shape: `/v1/tasks/{plugin}` and `/v1/tasks/{task_id}` become
 * `/v1/tasks/{id}`. Each operation keeps its own in `x-path`.
 */
function mergeShapes(paths: OpenApiDocument['paths']): OpenApiDocument['paths'] {
  const shapes = new Map<string, { path: string; routed: string; operations: Record<string, Operation> }[]>();
  for (const [routed, operations] of Object.entries(paths)) {
    const path = Object.values(operations).find((operation) => operation['x-path'])?.['x-path'] ?? routed;
    const shape = path.replaceAll(PARAMETER, '{}');
    shapes.set(shape, [...(shapes.get(shape) ?? []), { path, routed, operations }]);
  }
  const merged: OpenApiDocument['paths'] = {};
  for (const alike of shapes.values()) {
    const path = alike.map((each) => each.path).reduce(nameAlike);
    for (const { path: own, routed, operations } of alike) {
      const names = new Map(readParameterNames(routed).map((name, i) => [name, readParameterNames(path)[i] ?? name]));
      for (const operation of Object.values(operations)) {
        renameParameters(operation, names);
        if (own === path) delete operation['x-path'];
        else operation['x-path'] = own;
      }
      merged[path] = { ...merged[path], ...operations };
    }
  }
  return merged;
}

const PARAMETER = /\{([^{}]+)\}/g;

/** `a` with `{id}` where `b` has another name. */
function nameAlike(a: string, b: string): string {
  const others = readParameterNames(b);
  let at = 0;
  return a.replaceAll(PARAMETER, (whole, name) => (name === others[at++] ? whole : '{id}'));
}

const readParameterNames = (path: string): string[] => [...path.matchAll(PARAMETER)].map((match) => match[1] ?? '');

function renameParameters(operation: Operation, names: ReadonlyMap<string, string>): void {
  if (!Array.isArray(operation.parameters)) return;
  operation.parameters = operation.parameters.map((parameter: unknown) =>
    isObject(parameter) && parameter.in === 'path' && typeof parameter.name === 'string'
      ? { ...parameter, name: names.get(parameter.name) ?? parameter.name }
      : parameter,
  );
}

function describeAccessAndLimits(operation: Operation, path: string): void {
  describeNumbers(operation);
  // `getApiTaskByTask_id` is not a name in most languages.
  operation.operationId = operation.operationId?.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  operation.security = SECURITY[operation['x-access'] ?? 'root'];
  for (const parameter of operation['x-parameters'] ?? []) addParameter(operation, parameter);
  delete operation['x-parameters'];
  const proof = operation['x-security-proof'];
  if (proof) addParameter(operation, describeProof(proof));
  // This marks every route that submits.
  if (operation['x-limit-model-requests']) {
    addParameter(operation, IDEMPOTENCY_KEY);
    if (operation['x-access'] === 'apiKey') {
      addParameter(operation, KEEP_RESULT);
      addParameter(operation, ALLOW_FALLBACK);
    }
    // Webhooks are signed with a secret of the API key.
    if (operation['x-access'] === 'apiKey') addParameter(operation, CALLBACK_URL);
  }
  const named = chooseFailure(path);
  const reference = { $ref: `#/components/responses/${named}` };
  const known = isObject(operation.responses) ? operation.responses : {};
  const isPaid = operation['x-access'] === 'apiKey' && operation['x-limit-model-requests'] === true;
  const limits = isPaid ? `${TOO_MANY} ${TOO_LITTLE}` : TOO_MANY;
  const tooMany = isLimited(operation) ? { '429': failure(limits, ERRORS[named]) } : {};
  const expected = describeFailures(operation, path);
  if (expected !== undefined) operation['x-failures'] = expected;
  describeBody(operation);
  operation.responses = { '200': { description: 'Success' }, ...known, ...tooMany, default: reference };
}

const TOO_MANY = 'Too many requests. Wait for the number of seconds in Retry-After.';
/** OpenAI's clients know this code. */
const TOO_LITTLE =
  'Also returned when funds run out: `insufficient_quota` (balance too low), `insufficient_key_quota` (key budget used up), `budget_exceeded` (spending limit for the period reached).';

const isLimited = (operation: Operation): boolean =>
  operation['x-limit-model-requests'] === true ||
  operation['x-limit'] !== undefined ||
  operation['x-limit-per-user'] !== undefined;

/**
 * The failures that API clients should expect, with the codes that they can act on. They are no
 * responses of their own: generated clients read every failure as the default one.
 */
function describeFailures(operation: Operation, path: string): Record<string, string> | undefined {
  if (operation['x-access'] !== 'apiKey') return undefined;
  const submits = operation['x-limit-model-requests'] === true;
  const missing = [
    path.includes('{') ? 'You have nothing with this id.' : '',
    submits ? 'No channel offers this model (`model_not_found`).' : '',
  ].filter(Boolean);
  return {
    ...(submits || operation.requestBody
      ? {
          '400':
            'The request is invalid; `message` says what to change. For example `bad_json` or `validation_failed`.',
        }
      : {}),
    '401':
      "The API key can't be used: `api_key_missing`, `api_key_invalid`, `api_key_disabled`, `api_key_expired` or `api_key_exhausted`.",
    ...(submits
      ? {
          '403': "The key isn't allowed to do this, for example `api_key_model_not_allowed`.",
        }
      : {}),
    ...(missing.length === 0 ? {} : { '404': missing.join(' ') }),
  };
}

/** Numbers of a query are declared as texts, with the schema of what the text says. */
function describeNumbers(operation: Operation): void {
  if (!Array.isArray(operation.parameters)) return;
  operation.parameters = operation.parameters.map((parameter: unknown) => {
    const schema = isObject(parameter) && isObject(parameter.schema) ? parameter.schema['x-schema'] : undefined;
    return schema === undefined ? parameter : { ...(parameter as object), schema };
  });
}

function addParameter(operation: Operation, parameter: object): void {
  const known: unknown[] = Array.isArray(operation.parameters) ? operation.parameters : [];
  operation.parameters = [...known, parameter];
}

const IDEMPOTENCY_KEY = {
  in: 'header',
  name: 'Idempotency-Key',
  required: false,
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  description:
    'A text of your choice that identifies this request: for 24 hours, repeating the same request with the same key returns the same task (with Idempotent-Replayed: true) and charges nothing.',
};

const KEEP_RESULT = {
  in: 'header',
  name: 'X-Keep-Result',
  required: false,
  schema: { type: 'string', enum: ['true', 'false'] },
  description:
    'Whether the gateway keeps the result of the task, so that it stays when its vendor drops it. It overrides metadata.keep_result of the body, which overrides the keep_results of the API key. The operator may keep all results or none.',
};

const ALLOW_FALLBACK = {
  in: 'header',
  name: 'X-Allow-Fallback',
  required: false,
  schema: { type: 'string', enum: ['true', 'false'] },
  description:
    'false: no other model may serve the task while it waits, even where the operator has set fallback models. It overrides metadata.allow_fallback of the body. Default: true. Native routes keep to their model in any case.',
};

const describeProof = ({ scope, when }: ProofNeed): object => ({
  in: 'header',
  name: 'X-Security-Proof',
  required: when === undefined,
  schema: { type: 'string' },
  description: `A Security Proof with the scope ${scope}${when === undefined ? '' : `, ${when}`}: from POST /api/verify, or from /api/user/passkey/verify/begin and finish.`,
});

/** Describes a body whose limits differ from those in the document's description. */
function describeBody(operation: Operation): void {
  const { requestBody, 'x-body-limit': name } = operation;
  if (name === undefined || !isObject(requestBody)) return;
  const { maxBytes, maxWireBytes } = BODY_LIMITS[name] as BodyLimit;
  const files = maxWireBytes === undefined ? '' : `, or ${describeBytes(maxWireBytes)} with Base64 files`;
  requestBody.description = `Up to ${describeBytes(maxBytes)} of JSON${files}.`;
}

const OPENAI_ERROR = {
  type: 'object',
  required: ['message', 'type', 'code', 'param'],
  properties: {
    message: { type: 'string' },
    type: { type: 'string' },
    code: { type: ['string', 'null'] },
    param: { type: ['string', 'null'] },
  },
};

const RELAYED = /^\/v1\/(?:videos|responses|images|chat|embeddings|audio)(?:\/|$)/;

/** The schemas of the failures' bodies. */
const ERRORS = { PanelFailure: 'PanelError', OpenAiFailure: 'OpenAiError', RelayedFailure: 'RelayedError' } as const;

function chooseFailure(path: string): keyof typeof ERRORS {
  if (RELAYED.test(path)) return 'RelayedFailure';
  return path.startsWith('/v1/') || path === '/mcp' ? 'OpenAiFailure' : 'PanelFailure';
}

/** The members that only some failures have. */
const OPTIONAL = new Set(['reason', 'params', 'details']);

const describeFailure = (properties: object) => ({
  type: 'object',
  required: Object.keys(properties).filter((name) => !OPTIONAL.has(name)),
  properties,
});
const refer = (schema: string) => ({ $ref: `#/components/schemas/${schema}` });
const failure = (description: string, schema: string) => ({
  description,
  content: { 'application/json': { schema: refer(schema) } },
});
