import { constant, describeAnswer } from '../responses/describe-answer.ts';
import { Batch, BatchFile } from './batch-schemas.ts';
import { ANY_OBJECT, body, MODEL, NUMBER, object, orNull, requestBody, TEXT, WHOLE } from './schema-parts.ts';

/**
 * JSON Schemas of the answers of `/v1`, for the OpenAPI document. The tests hold every answer that
 * they receive against them.
 */

const TASK_STATUS = { type: 'string', enum: ['SUBMITTED', 'QUEUED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE'] };
const VIDEO_STATUS = { type: 'string', enum: ['queued', 'in_progress', 'completed', 'failed'] };
const RESPONSE_STATUS = { type: 'string', enum: [...VIDEO_STATUS.enum, 'cancelled', 'incomplete'] };

const TASK_ID = { ...TEXT, examples: ['task_0mwtvasgtVymm26MP9ERHh4tGBpwiPRw'] };
const SERVED_MODEL = { ...TEXT, examples: MODEL.examples };
const CREATED_AT = { ...WHOLE, examples: [1_767_225_600] };
const PERCENT = { ...WHOLE, minimum: 0, maximum: 100, examples: [0] };

const Cost = object({
  reserved: { ...NUMBER, description: 'US dollars that were reserved.', examples: [0.08] },
  charged: { type: ['number', 'null'], description: 'US dollars of the final bill; null until then.' },
  currency: constant('USD'),
  usd: { ...NUMBER, description: 'What is known now: the reservation, then the charge.', examples: [0.08] },
});
const COST = { $ref: '#/components/schemas/Cost' } as const;
/** Only for a task that waits. */
const QueuePlace = {
  ...object({
    position: {
      anyOf: [{ ...WHOLE, minimum: 1 }, constant('over 1,000')],
      description: 'Its position among the tasks that wait for the same model, exact up to 1,000.',
    },
    waiting_since: WHOLE,
    waits_for: {
      type: 'string',
      enum: ['capacity', 'own_limit'],
      description: 'A free slot at the vendor, or, at your own concurrency limit, the end of another task.',
    },
    estimated_start_at: {
      type: ['integer', 'null'],
      description: 'null while fewer than five tasks of the model ended within an hour, and for own_limit.',
    },
  }),
  description: 'Present while the task waits to be sent; it starts automatically.',
};
/** Generators of clients name its types once. */
const QUEUE = { $ref: '#/components/schemas/QueuePlace' } as const;
const REQUESTED_MODEL = {
  ...TEXT,
  description: 'The model that the request named, if another one ran.',
} as const;
const Task = object(
  {
    id: TASK_ID,
    task_id: { ...TASK_ID, description: 'The same as id.' },
    object: constant('task'),
    platform: { ...TEXT, description: 'The key of the plugin; * for a relayed request.', examples: ['demo'] },
    model: SERVED_MODEL,
    action: { ...TEXT, examples: ['text_to_video'] },
    status: TASK_STATUS,
    progress: { ...TEXT, examples: ['42%'] },
    fail_reason: { ...TEXT, examples: [''] },
    created_at: CREATED_AT,
    finished_at: { ...WHOLE, description: '0 until the task has ended.', examples: [0] },
    cost: COST,
  },
  {
    queue: QUEUE,
    requested_model: REQUESTED_MODEL,
    result: {
      type: 'object',
      additionalProperties: true,
      description: 'For a relayed request that has succeeded: its response, kept for a day.',
    },
  },
);
const SubmittedTask = object(
  {
    id: TASK_ID,
    task_id: TASK_ID,
    status: constant('queued'),
    model: SERVED_MODEL,
    created_at: CREATED_AT,
    cost: COST,
  },
  { queue: QUEUE },
);
const Video = object(
  {
    id: TASK_ID,
    object: constant('video'),
    model: SERVED_MODEL,
    status: VIDEO_STATUS,
    progress: PERCENT,
    created_at: CREATED_AT,
    completed_at: { type: ['integer', 'null'] },
    expires_at: { type: ['integer', 'null'] },
    seconds: { ...TEXT, description: '"0" where neither request nor plugin says it.', examples: ['4'] },
    size: { ...TEXT, description: '"0x0" where neither request nor plugin says it.', examples: ['1280x720'] },
    remixed_from_video_id: { type: ['string', 'null'] },
    error: orNull(object({ code: TEXT, message: TEXT })),
    cost: COST,
  },
  {
    prompt: TEXT,
    requested_model: REQUESTED_MODEL,
    metadata: ANY_OBJECT,
    queue: QUEUE,
    content_url: { ...TEXT, description: 'For a completed video: a link that works without a key.' },
    url: { ...TEXT, description: 'The same as content_url.' },
  },
);
const KNOWN = { type: ['number', 'null'] } as const;
const VideoGeneration = object(
  {
    id: TASK_ID,
    task_id: { ...TASK_ID, description: 'The same as id.' },
    object: constant('video'),
    model: SERVED_MODEL,
    status: VIDEO_STATUS,
    progress: PERCENT,
    url: {
      type: ['string', 'null'],
      description: 'For a completed video: a link that works without a key.',
    },
    metadata: object({ duration: KNOWN, fps: KNOWN, width: KNOWN, height: KNOWN, seed: {} }),
    error: orNull(object({ code: TEXT, message: TEXT }, {}, true)),
    created_at: CREATED_AT,
  },
  { cost: COST, queue: QUEUE },
);
/**
 * An id as the vendor wrote it. A vendor's number stays one, but generators of clients fail at a
 * type of two kinds. `own`: the form of the gateway's ids.
 */
const vendorId = (own: string) => ({ type: 'string', not: { pattern: own } });
const RelayedVideo = {
  ...ANY_OBJECT,
  description: "The vendor's own video response, completed with missing fields, price and link.",
  properties: { id: vendorId('^task_') },
};
const Model = object(
  {
    id: SERVED_MODEL,
    object: constant('model'),
    created: CREATED_AT,
    owned_by: { ...TEXT, examples: ['demo'] },
    supported_endpoint_types: {
      type: 'array',
      items: TEXT,
      description: 'openai, openai-response, openai-video, image-generation, audio, embeddings, task.',
    },
  },
  {
    plugin: { type: ['string', 'null'] },
    description: { type: ['object', 'null'], description: 'By language.' },
    inputs: { type: ['object', 'null'], description: 'JSON Schema of a request; null for a relayed model.' },
    price: object({
      currency: constant('USD'),
      priced: { type: 'boolean' },
      summary: { type: ['object', 'null'], description: 'The price in parts; null where it is more than that.' },
      examples: { type: 'array', items: object({ label: TEXT, usd: NUMBER }) },
    }),
    usual_seconds: { type: ['number', 'null'], description: 'The median of the last 30 days.' },
    success_rate: { type: ['number', 'null'] },
  },
);
const Response = object(
  {
    id: { ...TEXT, examples: ['resp_0mwtvasgtVymm26MP9ERHh4tGBpwiPRw'] },
    object: constant('response'),
    created_at: CREATED_AT,
    status: RESPONSE_STATUS,
    error: { type: ['object', 'null'] },
    model: SERVED_MODEL,
    output: { type: 'array', items: ANY_OBJECT },
    metadata: ANY_OBJECT,
    usage: { type: ['object', 'null'] },
  },
  { requested_model: REQUESTED_MODEL },
  true,
);
const RelayedResponse = {
  ...ANY_OBJECT,
  description: "The vendor's own response, passed through.",
  properties: { id: vendorId('^resp_[A-Za-z0-9]{32}$') },
};
const ImageList = object({
  id: { ...TASK_ID, description: 'The task that made them.' },
  created: CREATED_AT,
  data: { type: 'array', items: object({}, { url: TEXT, b64_json: TEXT }) },
  cost: COST,
});
/** Adds a schema's description, in one line. */
const is = <Schema extends object>(description: string, schema: Schema) => ({ description, ...schema });
/** The schemas by the names that other parts of the document use for them. */
export const ANSWER_SCHEMAS = {
  Cost: is('What a task costs, in US dollars.', Cost),
  QueuePlace,
  Task: is('A task: its status, progress and cost.', Task),
  SubmittedTask: is('A task that was just created.', SubmittedTask),
  Video: is('An OpenAI-compatible video object.', Video),
  VideoGeneration: is('A video object in the flat format.', VideoGeneration),
  RelayedVideo,
  Model: is('A model that the API key may use, with its price and inputs.', Model),
  Response: is('An OpenAI-compatible response object.', Response),
  RelayedResponse,
  ImageList: is('Images returned in one response.', ImageList),
  Batch: is('A batch and its progress.', Batch),
  BatchFile: is('A file of batch requests, results or failures.', BatchFile),
} as const;

/** Two that are described elsewhere: the panel lists artifacts too, and every route may fail. */
type SchemaName = keyof typeof ANSWER_SCHEMAS | 'ArtifactList' | 'OpenAiError';
const reference = (name: SchemaName) => ({ $ref: `#/components/schemas/${name}` });
const anyOf = (names: readonly SchemaName[]) =>
  names.length === 1 ? reference(names[0] as SchemaName) : { anyOf: names.map(reference) };
const answer = (description: string, schema: object) => ({ responses: describeAnswer('200', schema, description) });

/** The answer of an operation, one of these. */
export const answers = (description: string, ...names: SchemaName[]) => answer(description, anyOf(names));

/** One of these answers, or a stream of events. */
export const answersOrStreams = (description: string, ...names: SchemaName[]) => ({
  responses: {
    '200': {
      description,
      content: { 'application/json': { schema: anyOf(names) }, 'text/event-stream': { schema: TEXT } },
    },
  },
});

const page = (name: SchemaName) =>
  object({
    object: constant('list'),
    data: { type: 'array', items: reference(name) },
    first_id: { type: ['string', 'null'] },
    last_id: { type: ['string', 'null'] },
    has_more: { type: 'boolean' },
  });
/** A page of objects in OpenAI's form. */
export const answersPage = (name: SchemaName) => answer('A page', page(name));

const Quote = object({
  object: constant('quote'),
  platform: TEXT,
  model: TEXT,
  facts: { ...ANY_OBJECT, description: 'What the price counts, as the plugin reads it from the request.' },
  group_ratio: NUMBER,
  cost: COST,
});
/** What a request would reserve. */
export const answersQuote = answer('The quote', Quote);

export const answersModels = answer(
  'All models',
  object({ object: constant('list'), data: { type: 'array', items: reference('Model') } }),
);

const SUM = { usd: NUMBER, succeeded: WHOLE, failed: WHOLE };
export const answersUsage = answer(
  'What was spent, in US dollars',
  object({
    ...{ object: constant('usage'), from: WHOLE, until: WHOLE, currency: constant('USD'), ...SUM },
    days_per_point: WHOLE,
    points: { type: 'array', items: object({ at: WHOLE, ...SUM }) },
    models: { type: 'array', items: object({ plugin: TEXT, model: TEXT, ...SUM }) },
    others: object(SUM),
  }),
);

export const answersBatch = (description: string) => answer(description, reference('Batch'));
export const createsBatch = {
  responses: {
    ...answersBatch('The batch').responses,
    ...describeAnswer('429', reference('OpenAiError'), 'As many of your batches run as may: wait until one has ended.'),
  },
};
export const answersBatches = answer('A page', page('Batch'));
export const answersFile = (description: string) => answer(description, reference('BatchFile'));
export const answersFiles = answer('All files', page('BatchFile'));

/** The items of a response's input. */
export const answersItems = answer('The items', {
  ...ANY_OBJECT,
  required: ['object', 'data'],
  properties: { object: constant('list'), data: { type: 'array', items: ANY_OBJECT }, has_more: { type: 'boolean' } },
});

/** `kind`: what the object is called. The vendor of a relayed one answers in its own form. */
export const answersDeleted = (kind: string) =>
  answer('It is deleted', object({ id: TEXT, object: TEXT, deleted: { type: 'boolean' } }, {}, kind !== 'task'));

const PROMPT = { ...TEXT, description: 'What the video should show.', examples: ['a lighthouse at night'] };
const LENGTH = {
  anyOf: [TEXT, { type: 'number' }],
  description: 'Video length in seconds.',
  examples: ['4'],
};
const SIZE = { ...TEXT, description: 'Width × height in pixels.', examples: ['1280x720'] };

/** What the gateway reads of requests; plugins and vendors read all other members. */
export const TASK_REQUEST = requestBody(body(['model'], { model: MODEL }));
export const VIDEO_REQUEST = requestBody(
  body(['model'], {
    ...{ model: MODEL, prompt: PROMPT, seconds: LENGTH, size: SIZE },
  }),
  true,
);
export const GENERATION_REQUEST = requestBody(
  body(['model'], {
    ...{ model: MODEL, prompt: PROMPT, seconds: LENGTH, duration: LENGTH, size: SIZE },
    ...{ width: WHOLE, height: WHOLE, fps: NUMBER, seed: NUMBER, n: { ...WHOLE, maximum: 1 } },
    image: { ...TEXT, description: 'First frame: a URL or a data URL.' },
    images: { type: 'array', items: TEXT, description: 'Reference images: URLs or data URLs.' },
    response_format: { ...TEXT, enum: ['url'] },
    metadata: ANY_OBJECT,
  }),
  true,
);
export const REMIX_REQUEST = requestBody(body(['prompt'], { prompt: PROMPT }), true);

/** Parameters that handlers read themselves, for the OpenAPI document. */

type Parameter = { in: 'query' | 'header'; name: string; schema: object; description: string };

/** A detail's own parameters; those of the path and of a checked query are known. */
const takesParameters = (...parameters: readonly Parameter[]) => ({ 'x-parameters': parameters }) as object;

const query = (name: string, schema: object, description: string): Parameter => ({
  ...{ in: 'query', name, schema, description },
});
const header = (name: string, description: string): Parameter => ({
  ...{ in: 'header', name, schema: { type: 'string' }, description },
});
const LIMIT = { type: 'integer', minimum: 1, maximum: 100 };

export const waits = takesParameters(
  query('wait', { type: 'integer', minimum: 0, maximum: 60 }, 'Seconds to wait for the next change of the status.'),
  header('Prefer', 'Same as the wait parameter, for example wait=60. Maximum 60.'),
);

export const ordersBatch = takesParameters(
  header('Idempotency-Key', 'For 24 hours, the same request with the same key returns the same batch.'),
  header('X-Callback-Url', 'Where batch.finished is sent. It overrides the webhook_url of the API key.'),
);

const MCP_SESSION = header('Mcp-Session-Id', 'The session of a spend cap, as the answer to initialize has it.');
export const speaksMcp = takesParameters(
  query('spend_cap_usd', { type: 'number' }, 'With initialize: the most that the new session may spend.'),
  header('Idempotency-Key', 'For a single message: for 24 hours, the same call with the same key costs once.'),
  MCP_SESSION,
  header('Mcp-Protocol-Version', 'The version that the client speaks.'),
);
export const endsMcp = takesParameters(MCP_SESSION);

const CONDITIONS = [
  query('redirect', { type: 'boolean' }, 'false: the bytes come from here, never by a redirect to a bucket.'),
  header('Range', 'The part that is wanted: "bytes=0-1023".'),
  header('If-None-Match', 'The ETag of the copy that the client has.'),
];
export const downloads = takesParameters(...CONDITIONS);
export const limitsLinks = takesParameters(
  query('expires_in', { type: 'integer', minimum: 1 }, 'Seconds until the links end; never later than by default.'),
);
export const downloadsVariant = takesParameters(
  query('variant', { type: 'string' }, 'video (the default), thumbnail, spritesheet, or the key of an artifact.'),
  ...CONDITIONS,
);

export const resumes = takesParameters(
  query('stream', { type: 'boolean' }, 'Answer with the stream of events.'),
  query('starting_after', { type: 'integer', minimum: 0 }, 'Of a stream: the number of the last event received.'),
);

export const pages = takesParameters(
  query('after', { type: 'string' }, 'The id of the last object of the page before.'),
  query('limit', LIMIT, 'Default 20.'),
  query('order', { type: 'string', enum: ['asc', 'desc'] }, 'By creation; default desc.'),
);
