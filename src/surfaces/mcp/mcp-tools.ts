import type { Quote } from '../../billing/index.ts';
import { AppError, type Clock, isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import { isRelayId, type Relay, type ShownRelayTask } from '../../relay/index.ts';
import type { Results } from '../../results/index.ts';
import { hasEnded, type TaskRecord } from '../../store/ports/index.ts';
import { type Caller, type SubmittedTask, type Tasks, taskCost, taskErrors, taskObject } from '../../tasks/index.ts';
import type { RequestOptions } from '../json-request.ts';
import type { NamedModel } from '../list-models.ts';
import type { RequestToQuote } from '../quote-task.ts';
import { translateVideoRequest } from '../videos/video-generations.ts';
import type { SpendCap } from './spend-caps.ts';

/** What the other surfaces do for an agent. */
type Surfaces = {
  namedModels(caller: Caller): NamedModel[];
  quote(caller: Caller, requestId: string, request: RequestToQuote): Promise<Quote>;
  submitBody(
    caller: Caller,
    input: Pick<McpCall, 'requestId'> & Omit<ToolRequest, 'model'> & Ordering,
  ): Promise<SubmittedTask>;
};
export type McpServices = {
  surfaces: Surfaces;
  tasks: Tasks;
  relay: Pick<Relay, 'tasks'>;
  results: Results;
  clock: Pick<Clock, 'monotonicMs'>;
};

/** `beforeOrder`: called unless the request repeats an order. */
type Ordering = { options: RequestOptions; beforeOrder: () => Promise<void> };

/** One call of an agent. */
export type McpCall = {
  caller: Caller;
  requestId: string;
  /** What accompanies an order. The Idempotency-Key is of a message that comes alone. */
  order: Pick<RequestOptions, 'files' | 'digests' | 'idempotencyKey'>;
  signal: AbortSignal;
  /** The most that the session may spend; undefined: as much as the key. */
  cap: SpendCap | undefined;
  /**
   * Refuses a model that the key may not use, and counts the request. The function that it returns
   * counts a success.
   */
  admit(model: string): Promise<() => Promise<void>>;
  /** Logs why a message of a list failed, and says it in words for the client. */
  describeFailure(error: unknown): string;
};

type Content =
  | { type: 'text'; text: string }
  | { type: 'image'; data: string; mimeType: string }
  | { type: 'resource_link'; uri: string; name: string; mimeType?: string };
export type ToolResult = { content: Content[]; structuredContent?: JsonObject; isError?: true };

type Tool = {
  description: string;
  readOnly: boolean;
  schema(models: readonly NamedModel[]): JsonObject;
  run(rooms: McpServices, call: McpCall, args: JsonObject): Promise<ToolResult>;
};

const MAX_WAIT_SECONDS = 60;
const ID = { type: 'string', description: 'The id of a task: task_… or relay_…' };
const oneTask = (more: JsonObject = {}) => ({ type: 'object', required: ['id'], properties: { id: ID, ...more } });

const ORDERED = { video: 'a video', image: 'an image', audio: 'audio' } as const;
/** The endpoint that makes each kind of result, in the words of `supported_endpoint_types`. */
const MAKES = { video: 'openai-video', image: 'image-generation', audio: 'audio' } as const;

/** The tools that agents see, and what each does. */
export const MCP_TOOLS: Readonly<Record<string, Tool>> = {
  list_models: {
    description: 'The models that make videos, images and audio here, with the JSON Schema of their requests.',
    readOnly: true,
    schema: () => ({ type: 'object', properties: {} }),
    async run({ surfaces }, { caller }) {
      const models = listCallable(surfaces, caller).map(({ id, endpoints, callable }) => ({
        id,
        makes: endpoints,
        inputs: callable.schema as unknown as Json,
      }));
      return structured({ models });
    },
  },
  quote: {
    description: 'What a request would cost in US dollars. Nothing is sent or charged.',
    readOnly: true,
    schema: (models) => requestSchema(models),
    async run({ surfaces }, call, args) {
      const { model, pluginKey, body } = readRequest(surfaces, call, args);
      const quote = await quoteCall(surfaces, call, { model, pluginKey, body });
      return structured({ model, cost: taskCost({ status: 'NOT_START', quota: quote, reserved: null }) });
    },
  },
  create_video: creation('video'),
  create_image: creation('image'),
  create_audio: creation('audio'),
  get_task: {
    description: 'A task as it is now, with its results once it has succeeded: links, or images of relayed requests.',
    readOnly: true,
    schema: () => oneTask(),
    run: (rooms, call, args) => show(rooms, call, { id: readId(args), seconds: 0 }),
  },
  wait_for_task: {
    description: `Waits until a task has ended, at most ${MAX_WAIT_SECONDS} seconds, and answers as get_task does. Call it again while the status is QUEUED, SUBMITTED or IN_PROGRESS.`,
    readOnly: true,
    schema: () => oneTask({ seconds: { type: 'integer', minimum: 1, maximum: MAX_WAIT_SECONDS } }),
    run: (rooms, call, args) => show(rooms, call, { id: readId(args), seconds: readSeconds(args) }),
  },
  cancel_task: {
    description: 'Cancels a task that no vendor has accepted; its reservation is refunded.',
    readOnly: false,
    schema: () => oneTask(),
    async run({ relay, tasks }, { caller }, args) {
      const id = readId(args);
      if (isRelayId(id)) return relay.tasks.cancel({ caller, id });
      return structured(taskObject(await tasks.cancel(caller.user.id, id)));
    },
  },
};

function creation(kind: keyof typeof MAKES): Tool {
  return {
    description: `Orders ${ORDERED[kind]} and answers with its task, which costs money. Use wait_for_task for the result.`,
    readOnly: false,
    schema: (models) => requestSchema(models.filter(({ endpoints }) => endpoints.includes(MAKES[kind]))),
    async run(rooms, call, args) {
      const { model, pluginKey, body } = readRequest(rooms.surfaces, call, args);
      const countSuccess = await call.admit(model);
      const { requestId, order: options, cap } = call;
      let taken: (() => void) | undefined;
      const release = () => {
        taken?.();
        taken = undefined;
      };
      // A repeat buys nothing, so its agent finds the order also where nothing more may be spent.
      const beforeOrder = async () => {
        release();
        if (cap) taken = cap.take(await quoteCall(rooms.surfaces, call, { model, pluginKey, body }));
      };
      const task = await rooms.surfaces
        .submitBody(call.caller, { requestId, pluginKey, body, options, beforeOrder })
        .catch((error) => {
          // A vendor may have a job even so; then the reservation still counts.
          if (!(error instanceof AppError) || error.shouldRetry !== false) release();
          throw error;
        });
      // Another request may have taken the key in between.
      if (task.replayed) release();
      else await countSuccess();
      return describe(rooms, task);
    },
  };
}

type Callable = NamedModel & { callable: NonNullable<NamedModel['callable']> };

const listCallable = (surfaces: Surfaces, caller: Caller): Callable[] =>
  surfaces.namedModels(caller).filter((model): model is Callable => model.callable !== undefined);

/** @throws tasks.model_required, tasks.model_not_found */
function readRequest(surfaces: Surfaces, { caller }: McpCall, args: JsonObject) {
  const { model } = args;
  if (typeof model !== 'string' || model === '') throw taskErrors.model_required({ param: 'model' });
  const found = listCallable(surfaces, caller).find(({ id }) => id === model);
  if (!found) {
    throw taskErrors.model_not_found({
      message: `No model "${model.slice(0, 100)}": list_models names them.`,
      param: 'model',
    });
  }
  const { plugin, protoVideo } = found.callable;
  // Videos have the names of several APIs; what makes images or sound is asked in its own words.
  return { model, pluginKey: plugin.key, body: protoVideo ? translateVideoRequest(args) : args };
}

type ToolRequest = { model: string; pluginKey: string; body: JsonObject };

async function quoteCall(surfaces: Surfaces, { caller, requestId, order }: McpCall, { body, ...named }: ToolRequest) {
  const request = { ...named, action: '', request: body, files: order.files };
  return (await surfaces.quote(caller, requestId, request)).quota;
}

/** The fields of all these models; `list_models` says which of them a model takes. */
function requestSchema(models: readonly NamedModel[]): JsonObject {
  const properties: JsonObject = {
    prompt: { type: 'string' },
    image: { type: 'string', description: 'An address or a data URL.' },
    seconds: { type: 'number' },
    size: { type: 'string', description: 'Such as 1280x720.' },
  };
  const callable = models.filter((model): model is Callable => model.callable !== undefined);
  for (const {
    callable: { schema },
  } of callable) {
    for (const [name, field] of Object.entries(schema.properties)) {
      // Where models differ, only the type is common to them.
      const known = properties[name];
      const same = JSON.stringify(known) === JSON.stringify(field);
      if (known === undefined) properties[name] = field as unknown as Json;
      else if (!same) properties[name] = { type: field.type };
    }
  }
  const names = callable.map(({ id }) => id);
  properties.model = { type: 'string', ...(names.length === 0 ? {} : { enum: names }) };
  return { type: 'object', required: ['model'], properties, additionalProperties: true };
}

/** @throws tasks.task_not_found */
function readId({ id }: JsonObject): string {
  if (typeof id === 'string') return id;
  throw taskErrors.task_not_found({ message: 'id must be the id of a task.', param: 'id' });
}

const readSeconds = ({ seconds }: JsonObject): number =>
  Math.min(Math.max(Number(seconds ?? MAX_WAIT_SECONDS) || 1, 1), MAX_WAIT_SECONDS);

/** The caller's own task once it has ended, or as it is after `seconds`. */
async function show(rooms: McpServices, { caller, signal }: McpCall, { id, seconds }: { id: string; seconds: number }) {
  if (isRelayId(id)) {
    return describeRelayed(await rooms.relay.tasks.show({ caller, id, waitMs: seconds * 1000, left: signal }));
  }
  const deadline = rooms.clock.monotonicMs() + seconds * 1000;
  let task = await rooms.tasks.own(caller.user.id, id);
  while (!hasEnded(task)) {
    const ms = deadline - rooms.clock.monotonicMs();
    if (ms <= 0 || signal.aborted) break;
    task = await rooms.tasks.awaitChange(caller, task, { ms, left: signal });
  }
  return describe(rooms, task);
}

const describeLack = (lacks: ShownRelayTask['lacks'], id: string): string =>
  lacks === 'too_large'
    ? `Its images are too large for a message: GET /v1/tasks/${id} answers with them.`
    : 'Its images are no longer kept.';

/** A relayed request with its images, which have no links: no plugin lists them as artifacts. */
function describeRelayed({ task, images, lacks }: ShownRelayTask): ToolResult {
  const result = structured({ ...task, images: images.length });
  const shown = images.map(
    (image, n): Content =>
      'url' in image
        ? { type: 'resource_link', uri: image.url, name: `${task.id} image ${n + 1}` }
        : { type: 'image', ...image },
  );
  const said: Content[] = lacks ? [{ type: 'text', text: describeLack(lacks, task.id) }] : [];
  return { ...result, content: [...result.content, ...said, ...shown] };
}

/**
 * A task with links to what it has made, which need no key. Where they cannot be made, the answer
 * has the task and the reason: an agent that gets an error alone orders again.
 */
async function describe({ results }: McpServices, task: TaskRecord): Promise<ToolResult> {
  const listed = task.status === 'SUCCESS' ? await results.artifacts(task).catch(toRefusal) : undefined;
  const [fault, list] = listed instanceof AppError ? [listed, undefined] : [undefined, listed];
  const artifacts = list?.artifacts ?? [];
  const result = structured({ ...taskObject(task), artifacts: artifacts as unknown as Json });
  const links = artifacts.map(({ key, content_url: uri, mimeType }) => toLink(`${task.taskId} ${key}`, uri, mimeType));
  if (list?.legacy_content_url !== undefined) links.push(toLink(`${task.taskId} result`, list.legacy_content_url));
  const said: Content[] = fault ? [{ type: 'text', text: fault.message }] : [];
  return { ...result, content: [...result.content, ...said, ...links] };
}

function toRefusal(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

const toLink = (name: string, uri: string, mimeType?: string): Content => ({
  ...{ type: 'resource_link', uri, name },
  ...(mimeType === undefined ? {} : { mimeType }),
});

const structured = (value: JsonObject): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  structuredContent: value,
});

export const isArguments = (value: unknown): value is JsonObject => value === undefined || isObject(value);
