import type { RequestFile } from '../../files/index.ts';
import type { JsonObject } from '../../kernel/index.ts';
import type {
  ArtifactContext,
  BatchQueryContext,
  DriverContext,
  Manifest,
  ProtocolContext,
  ProtocolName,
  RouteContext,
  TaskQueryContext,
  UpstreamKind,
} from '../../plugins/index.ts';
import { type ChannelRecord, GATEWAY_TYPE, type TaskRecord } from '../../store/ports/index.ts';
import type { CredentialContext, Intent, OriginTasks, ReceivedRequest } from '../types.ts';

/** The body as plugin code sees it: files as references, never bytes. */
function bodyContext(body: ReceivedRequest['body']): RouteContext['body'] {
  switch (body.kind) {
    case 'json':
      return { kind: 'json', value: body.value };
    case 'form':
      return { kind: 'form', fields: body.fields };
    case 'multipart':
      return { kind: 'multipart', fields: body.fields, files: fileContexts(body.files) };
    default:
      return { kind: 'none' };
  }
}

const fileContexts = (files: readonly RequestFile[]) =>
  files.map(({ ref, field, filename, mimeType, size }) => ({ ref, field, filename, mimeType, size }));

/** The context of decoders and presenters. */
export function decodeContext(
  request: Pick<ReceivedRequest, 'path' | 'method' | 'params' | 'query' | 'body'>,
): RouteContext {
  return {
    path: request.path,
    method: request.method,
    params: request.params,
    query: request.query,
    body: bodyContext(request.body),
  };
}

type ProtocolCall = Pick<ProtocolContext, 'operation' | 'model' | 'upstreamModel' | 'artifacts'> & {
  manifest: Manifest | undefined;
  protocol: ProtocolName;
  stream?: boolean;
};

/** The context of protocol hooks. `ctx.protocol` is the name as the plugin's manifest wrote it. */
export const protocolContext = (
  request: ReceivedRequest,
  { manifest, protocol, ...call }: ProtocolCall,
): ProtocolContext => ({
  ...decodeContext(request),
  protocol: manifest?.protocols.find(({ name }) => name === protocol)?.writtenAs ?? protocol,
  stream: false,
  ...call,
});

/** Tells a driver that can address another gateway, too, whose API answers. */
export const upstreamContext = (
  { addressesGateways }: Manifest,
  { type }: ChannelRecord,
): { upstream?: UpstreamKind } =>
  addressesGateways ? { upstream: { kind: type === GATEWAY_TYPE ? 'new_api' : 'vendor' } } : {};

type DriverCall = {
  channel: ChannelRecord;
  credential: CredentialContext;
  publicTaskId: string;
  upstreamModel: string;
  callbackUrl?: string | undefined;
};

/** The context of buildSubmitRequest, parseSubmitResponse and the submit-time usage hooks. */
export function driverContext(
  submission: {
    plugin: { manifest: Manifest };
    request: ReceivedRequest;
    intent: Intent;
    originTasks?: OriginTasks | undefined;
  },
  { channel, credential, publicTaskId, upstreamModel, callbackUrl }: DriverCall,
): DriverContext {
  const { request, intent } = submission;
  return {
    ...decodeContext(request),
    requestBody: intent.requestBody ?? null,
    requestHeaders: { 'Content-Type': request.contentType, Accept: request.accept },
    files: request.body.kind === 'multipart' ? fileContexts(request.body.files) : [],
    action: intent.action,
    publicTaskId,
    ...(callbackUrl === undefined ? {} : { callbackUrl }),
    model: intent.model,
    upstreamModel,
    baseUrl: channel.baseUrl,
    userSetting: withoutScript(channel.settings),
    ...upstreamContext(submission.plugin.manifest, channel),
    ...(submission.originTasks ? originContext(submission.originTasks) : {}),
    ...credential,
  };
}

/** The balance script is not the plugin's, and it is large. */
function withoutScript(settings: JsonObject): JsonObject {
  if (!('balance_script' in settings)) return settings;
  const { balance_script: _, ...own } = settings;
  return own;
}

/** Only driver hooks get this: it contains the vendor's ids. */
const originContext = ({ tasks }: OriginTasks): Pick<DriverContext, 'originTasks' | 'originTaskId'> => ({
  originTasks: tasks.map(({ taskId, upstreamTaskId, action, status, data }) => ({
    taskId,
    upstreamTaskId,
    action,
    status,
    data,
  })),
  originTaskId: tasks[0]?.upstreamTaskId ?? '',
});

/** The account that a task is asked for, as the hooks of its plugin see it. */
/** An account whose credential is resolved. */
type ResolvedAccount = {
  plugin: { manifest: Manifest };
  channel: ChannelRecord;
  credential: { context: CredentialContext };
};

/** The context of a poll. The plugin contract promises these properties and no others. */
export function queryContext(task: TaskRecord, account: ResolvedAccount): TaskQueryContext {
  const { plugin, channel } = account;
  const credential = account.credential.context;
  return {
    taskId: task.upstreamTaskId || task.taskId,
    publicTaskId: task.taskId,
    action: task.action,
    model: task.properties.originModelName,
    upstreamModel: task.properties.upstreamModelName || task.properties.originModelName,
    baseUrl: channel.baseUrl,
    authHeader: credential.authHeader,
    ...(credential.apiKey === undefined ? {} : { apiKey: credential.apiKey }),
    auth: credential.auth,
    ...upstreamContext(plugin.manifest, channel),
    data: task.data,
    state: task.state,
  };
}

/** One context for all tasks of a batch. */
export function batchContext(
  { plugin, channel, credential: { context } }: ResolvedAccount,
  tasks: TaskQueryContext[],
): BatchQueryContext {
  return {
    baseUrl: channel.baseUrl,
    authHeader: context.authHeader,
    ...(context.apiKey === undefined ? {} : { apiKey: context.apiKey }),
    auth: context.auth,
    ...upstreamContext(plugin.manifest, channel),
    tasks,
  };
}

/** The task as listArtifacts and buildContentRequest see it. */
export const artifactContext = (task: TaskRecord): ArtifactContext => ({
  taskId: task.taskId,
  status: task.status,
  action: task.action,
  data: task.data,
  state: task.state,
  producerVersion: task.execution.pluginVersion,
});
