import { constant, describeAnswer } from '../openapi/describe-answer.ts';

/**
 * JSON Schemas of the answers of `/v1`, for the OpenAPI document. The tests hold every answer that
 * they receive against them.
 */

const TEXT = { type: 'string' } as const;
const WHOLE = { type: 'integer' } as const;
const ANY_OBJECT = { type: 'object', additionalProperties: true } as const;

const object = (required: Record<string, object>, optional: Record<string, object> = {}, more = false) => ({
  type: 'object',
  required: Object.keys(required),
  properties: { ...required, ...optional },
  additionalProperties: more,
});

const TASK_STATUS = { type: 'string', enum: ['SUBMITTED', 'QUEUED', 'IN_PROGRESS', 'SUCCESS', 'FAILURE'] };
const VIDEO_STATUS = { type: 'string', enum: ['queued', 'in_progress', 'completed', 'failed'] };
const RESPONSE_STATUS = { type: 'string', enum: [...VIDEO_STATUS.enum, 'cancelled', 'incomplete'] };

const Task = object({
  id: { ...TEXT, examples: ['task_0mwtvasgtVymm26MP9ERHh4tGBpwiPRw'] },
  task_id: { ...TEXT, description: 'The same as id.' },
  object: constant('task'),
  platform: { ...TEXT, description: 'The key of the plugin.' },
  model: TEXT,
  action: TEXT,
  status: TASK_STATUS,
  progress: { ...TEXT, examples: ['42%'] },
  fail_reason: TEXT,
  created_at: WHOLE,
  finished_at: { ...WHOLE, description: '0 until the task has ended.' },
});
const SubmittedTask = object({ id: TEXT, task_id: TEXT, status: constant('queued'), model: TEXT, created_at: WHOLE });
const Video = object(
  {
    id: TEXT,
    object: constant('video'),
    model: TEXT,
    status: VIDEO_STATUS,
    progress: { ...WHOLE, minimum: 0, maximum: 100 },
    created_at: WHOLE,
  },
  {
    seconds: TEXT,
    size: TEXT,
    prompt: TEXT,
    remixed_from_video_id: TEXT,
    completed_at: WHOLE,
    error: object({ code: TEXT, message: TEXT }),
    metadata: ANY_OBJECT,
  },
);
/**
 * As the vendor wrote it. A vendor's number stays one, but generators of clients fail at a type of
 * two kinds. `own`: the form of the gateway's ids.
 */
const vendorId = (own: string) => ({ type: 'string', not: { pattern: own } });
const RelayedVideo = {
  ...ANY_OBJECT,
  description: 'A video of a relayed model: the answer of its vendor.',
  properties: { id: vendorId('^task_') },
};
const Model = object({ id: TEXT, object: constant('model'), created: WHOLE, owned_by: TEXT });
const Response = object(
  {
    id: { ...TEXT, examples: ['resp_0mwtvasgtVymm26MP9ERHh4tGBpwiPRw'] },
    object: constant('response'),
    created_at: WHOLE,
    status: RESPONSE_STATUS,
    error: { type: ['object', 'null'] },
    model: TEXT,
    output: { type: 'array', items: ANY_OBJECT },
    metadata: ANY_OBJECT,
    usage: { type: ['object', 'null'] },
  },
  {},
  true,
);
const RelayedResponse = {
  ...ANY_OBJECT,
  description: 'A response of a relayed model: the answer of its vendor.',
  properties: { id: vendorId('^resp_[A-Za-z0-9]{32}$') },
};
const ImageList = object({
  id: { ...TEXT, description: 'The task that made them.' },
  created: WHOLE,
  data: { type: 'array', items: object({}, { url: TEXT, b64_json: TEXT }) },
});
/** By the names under which other parts of the document refer to them. */
export const ANSWER_SCHEMAS = {
  ...{ Task, SubmittedTask, Video, RelayedVideo, Model, Response, RelayedResponse, ImageList },
} as const;

/** `ArtifactList` is among those of the panel, which lists artifacts too. */
type SchemaName = keyof typeof ANSWER_SCHEMAS | 'ArtifactList';
const reference = (name: SchemaName) => ({ $ref: `#/components/schemas/${name}` });
const anyOf = (names: readonly SchemaName[]) =>
  names.length === 1 ? reference(names[0] as SchemaName) : { anyOf: names.map(reference) };
const answer = (description: string, schema: object) => ({ responses: describeAnswer('200', schema, description) });

/** The answer of an operation, one of these. */
export const answers = (description: string, ...names: SchemaName[]) => answer(description, anyOf(names));

/** The same, or a stream of events. */
export const answersOrStreams = (description: string, ...names: SchemaName[]) => ({
  responses: {
    '200': {
      description,
      content: { 'application/json': { schema: anyOf(names) }, 'text/event-stream': { schema: TEXT } },
    },
  },
});

/** A page of objects in OpenAI's form. */
export const answersPage = (name: SchemaName) =>
  answer(
    'A page',
    object({
      object: constant('list'),
      data: { type: 'array', items: reference(name) },
      first_id: { type: ['string', 'null'] },
      last_id: { type: ['string', 'null'] },
      has_more: { type: 'boolean' },
    }),
  );

export const answersModels = answer(
  'All models',
  object({ object: constant('list'), data: { type: 'array', items: reference('Model') } }),
);

/** The items of a response's input. */
export const answersItems = answer('The items', {
  ...ANY_OBJECT,
  required: ['object', 'data'],
  properties: { object: constant('list'), data: { type: 'array', items: ANY_OBJECT }, has_more: { type: 'boolean' } },
});

/** `kind`: how the object is called. The vendor of a relayed one answers in its own form. */
export const answersDeleted = (kind: string) =>
  answer('It is deleted', object({ id: TEXT, object: TEXT, deleted: { type: 'boolean' } }, {}, kind !== 'task'));

const body = (required: readonly string[], properties: Record<string, object>) => ({
  type: 'object',
  required,
  properties,
  additionalProperties: true,
});
const takes = (schema: object, forms = false) => ({
  requestBody: {
    required: true,
    content: { 'application/json': { schema }, ...(forms ? { 'multipart/form-data': { schema } } : {}) },
  },
});
const MODEL = { ...TEXT, examples: ['demo-video'] };
const PROMPT = { ...TEXT, examples: ['a lighthouse at night'] };
const LENGTH = { anyOf: [TEXT, { type: 'number' }], examples: ['4'] };

/** What the gateway reads of requests; plugins and vendors read all other members. */
export const TASK_REQUEST = takes(body(['model'], { model: MODEL }));
export const VIDEO_REQUEST = takes(
  body(['model'], {
    ...{ model: MODEL, prompt: PROMPT, seconds: LENGTH, size: { ...TEXT, examples: ['1280x720'] } },
  }),
  true,
);
export const REMIX_REQUEST = takes(body(['prompt'], { prompt: PROMPT }), true);
