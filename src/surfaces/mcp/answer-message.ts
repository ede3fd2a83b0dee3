import { AppError, isObject, type Json, type JsonObject } from '../../kernel/index.ts';
import { taskErrors, taskObject } from '../../tasks/index.ts';
import { isArguments, MCP_TOOLS, type McpCall, type McpServices } from './mcp-tools.ts';

/** Revisions of the Model Context Protocol, the newest first. */
export const MCP_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26'] as const;

/** JSON-RPC 2.0, section 5.1. */
const CODES = {
  ...{ invalid_request: -32_600, no_method: -32_601, invalid_params: -32_602, internal: -32_603 },
  not_found: -32_002,
} as const;

type Reply = JsonObject & { jsonrpc: '2.0'; id: Json };
type Fault = { code: number; message: string };
class RpcFault extends Error {
  readonly fault: Fault;
  constructor(kind: keyof typeof CODES, message: string) {
    super(message);
    this.fault = { code: CODES[kind], message };
  }
}

const INSTRUCTIONS =
  'Makes videos, images and audio. list_models says what there is; quote says what an order costs; create_video, create_image and create_audio order it, which costs money; wait_for_task answers with links to the results.';
const RESULT_PREFIX = 'taskgate://tasks/';
const LISTED = 20;

/** Messages that one request may bring, as the revision of March 2025 allows. */
const MAX_MESSAGES = 20;

/**
 * The reply to one message, or the replies to a list of them; undefined: they need none. In a list
 * the reply to a message that fails says so: other messages may have ordered something.
 */
export async function answerBody(
  rooms: McpServices,
  call: McpCall,
  { message, version }: { message: Json; version: string },
): Promise<Reply | Reply[] | undefined> {
  if (!Array.isArray(message)) return answerMessage(rooms, call, { message, version });
  if (message.length === 0 || message.length > MAX_MESSAGES)
    return refusal(null, { code: CODES.invalid_request, message: `A list has 1 to ${MAX_MESSAGES} messages.` });
  const replies = await Promise.all(
    message.map(async (each) => {
      const { id = null, method } = isObject(each) ? (each as JsonObject) : {};
      if (method === 'initialize')
        return refusal(id, { code: CODES.invalid_request, message: 'Send initialize on its own, not in a list.' });
      return answerMessage(rooms, call, { message: each, version }).catch((error: unknown) =>
        refusal(id, { code: CODES.internal, message: call.describeFailure(error) }),
      );
    }),
  );
  const needed = replies.filter((reply) => reply !== undefined);
  return needed.length === 0 ? undefined : needed;
}

const refusal = (id: Json, error: Fault): Reply => ({ jsonrpc: '2.0', id, error: { ...error } });

/** The reply to one message; undefined: it needs none. */
async function answerMessage(
  rooms: McpServices,
  call: McpCall,
  { message, version }: { message: Json; version: string },
): Promise<Reply | undefined> {
  if (!isObject(message) || message.jsonrpc !== '2.0' || typeof message.method !== 'string') {
    return refusal(null, { code: CODES.invalid_request, message: 'This is not a JSON-RPC request.' });
  }
  const { id, method } = message as JsonObject & { method: string };
  if (id === undefined || id === null) return undefined;
  const params = isObject(message.params) ? (message.params as JsonObject) : {};
  try {
    return { jsonrpc: '2.0', id, result: await answer(rooms, call, { method, params, version }) };
  } catch (error) {
    if (error instanceof RpcFault) return refusal(id, error.fault);
    throw error;
  }
}

type Request = { method: string; params: JsonObject; version: string };

async function answer(rooms: McpServices, call: McpCall, { method, params, version }: Request): Promise<JsonObject> {
  switch (method) {
    case 'initialize':
      return initialize(params, version);
    case 'ping':
      return {};
    case 'tools/list':
      return { tools: listTools(rooms, call) };
    case 'tools/call':
      return callTool(rooms, call, params);
    case 'resources/list':
      return { resources: await listResults(rooms, call) };
    case 'resources/templates/list':
      return {
        resourceTemplates: [
          {
            uriTemplate: `${RESULT_PREFIX}{id}`,
            name: 'result',
            description: 'A task and what it has made.',
            mimeType: 'application/json',
          },
        ],
      };
    case 'resources/read':
      return readResult(rooms, call, params);
    default:
      throw new RpcFault('no_method', `There is no method "${method.slice(0, 60)}".`);
  }
}

function initialize({ protocolVersion }: JsonObject, version: string): JsonObject {
  const known = MCP_VERSIONS.find((each) => each === protocolVersion);
  return {
    protocolVersion: known ?? MCP_VERSIONS[0],
    capabilities: { tools: {}, resources: {} },
    serverInfo: { name: 'taskgate', version },
    instructions: INSTRUCTIONS,
  };
}

function listTools({ surfaces }: McpServices, { caller }: McpCall): JsonObject[] {
  const models = surfaces.namedModels(caller);
  return Object.entries(MCP_TOOLS).map(([name, { description, readOnly, schema }]) => ({
    ...{ name, description, inputSchema: schema(models) },
    annotations: { readOnlyHint: readOnly, destructiveHint: name === 'cancel_task', openWorldHint: true },
  }));
}

/** A refusal is a result, so that the agent reads it and may do better. */
async function callTool(rooms: McpServices, call: McpCall, { name, arguments: args }: JsonObject): Promise<JsonObject> {
  const tool = typeof name === 'string' && Object.hasOwn(MCP_TOOLS, name) ? MCP_TOOLS[name] : undefined;
  if (!tool) throw new RpcFault('invalid_params', `There is no tool "${String(name).slice(0, 60)}".`);
  if (!isArguments(args)) throw new RpcFault('invalid_params', 'arguments must be an object.');
  try {
    return await tool.run(rooms, call, args ?? {});
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { content: [{ type: 'text', text: error.message }], isError: true };
  }
}

/** The latest results, the newest first. */
async function listResults({ tasks, relay }: McpServices, { caller }: McpCall): Promise<JsonObject[]> {
  const latest = { limit: LISTED, order: 'desc' } as const;
  const [own, relayed] = await Promise.all([
    tasks.page(caller.user.id, latest),
    relay.tasks.page(caller.user.id, latest),
  ]);
  const results = [
    ...own.tasks.map((task) => ({ ...taskObject(task), input: task.properties.input })),
    ...relayed.tasks.map((task) => ({ ...task, input: '' })),
  ];
  return results
    .filter(({ status }) => status === 'SUCCESS')
    .sort((one, other) => other.created_at - one.created_at)
    .map(({ id, model, input }) => ({
      uri: `${RESULT_PREFIX}${id}`,
      name: `${model} ${id}`,
      mimeType: 'application/json',
      ...(input === '' ? {} : { description: input.slice(0, 200) }),
    }));
}

async function readResult(rooms: McpServices, call: McpCall, { uri }: JsonObject): Promise<JsonObject> {
  const id = typeof uri === 'string' && uri.startsWith(RESULT_PREFIX) ? uri.slice(RESULT_PREFIX.length) : undefined;
  if (id === undefined) throw new RpcFault('not_found', 'There is no such resource.');
  try {
    const { structuredContent, content = [] } = (await MCP_TOOLS.get_task?.run(rooms, call, { id })) ?? {};
    const images = content.flatMap((part) => (part.type === 'image' ? [part] : []));
    return {
      contents: [
        { uri: uri as string, mimeType: 'application/json', text: JSON.stringify(structuredContent) },
        ...images.map(({ data, mimeType }, n) => ({ uri: `${uri}/images/${n + 1}`, mimeType, blob: data })),
      ],
    };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== taskErrors.task_not_found().code) throw error;
    throw new RpcFault('not_found', 'There is no such resource.');
  }
}
