import { deadlineSignal, err, type Json, ok, type Result } from '../kernel/index.ts';
import type {
  InputLoss,
  KeptInput,
  KeptInputs,
  NewKeptFiles,
  StoredFile,
  TaskExecution,
} from '../store/ports/index.ts';
import type { FileDeps, RequestBody } from './types.ts';

/** What a task's row says of its files, and what is kept in the transaction that inserts it. */
export type StoredInputs = {
  execution: Pick<TaskExecution, 'inputs' | 'inputsLost'>;
  rows?: Pick<NewKeptFiles, 'files' | 'quotaBytes' | 'keptUntil'>;
};

/** The key of a task's file number `index` among kept results. */
export const inputKey = (index: number): string => `input:${index}`;

/** Whether a request has files to keep. */
export const hasInputsToKeep = ({ storage }: Pick<FileDeps, 'storage'>, request: StorableRequest): boolean =>
  storage.settings().keepInputs && toRetryRequest(request) === undefined;

/** `timeoutMs`: how long the files may take to store. `reservation`: what the task will reserve. */
type InputsToKeep = StorableRequest & { requestId: string; userId: number; timeoutMs: number; reservation: number };

/**
 * Stores the files of a request before its task is written. A process that dies in between leaves
 * files that nothing needs, which the clean-up removes. The submission goes on whatever happens
 * here: without its files a task only cannot be run again. Never rejects.
 */
export async function keepInputs(
  deps: FileDeps,
  { requestId, userId, timeoutMs, reservation, ...request }: InputsToKeep,
): Promise<StoredInputs> {
  const deadline = deadlineSignal(deps.clock, timeoutMs);
  const logFields = { request_id: requestId };
  try {
    const owner = await deps.store.users.byId(userId);
    // The reservation will be refused. Nothing is stored for those who cannot pay.
    if (!owner || owner.quota < reservation) return { execution: {} };
    const { storageQuotaFor, daysFor } = deps.storage.settings();
    const quotaBytes = storageQuotaFor(owner.group);
    const used = quotaBytes === undefined ? 0 : (await deps.store.results.usage(userId)).bytes;
    const left = quotaBytes === undefined ? Number.POSITIVE_INFINITY : quotaBytes - used;
    const stored = await storeAll(deps, { request, left, signal: deadline.signal });
    if (!stored.ok) {
      deps.logger.info({ ...logFields, reason: stored.error }, 'the files of a request were not kept');
      return { execution: { inputsLost: stored.error } };
    }
    const { files } = stored.value;
    const days = daysFor(owner.group);
    return {
      execution: { inputs: stored.value },
      rows: {
        files: files.map(({ sha256, size }, index) => ({ artifactKey: inputKey(index), bytes: size, sha256 })),
        quotaBytes,
        keptUntil: days === 0 ? 0 : deps.clock.unix() + days * 86_400,
      },
    };
  } catch (error) {
    deps.logger.warn({ ...logFields, err: error }, 'the files of a request could not be kept');
    return { execution: { inputsLost: 'unavailable' } };
  } finally {
    deadline.end();
  }
}

/** `left`: the bytes that their owner may still keep. */
type Storing = { request: StorableRequest; left: number; signal: AbortSignal };

async function storeAll(
  deps: FileDeps,
  { request: { body, intent }, left: most, signal }: Storing,
): Promise<Result<KeptInputs, InputLoss>> {
  const { model, action, requestBody = null } = intent;
  const text = JSON.stringify(requestBody);
  const bodyIsFile = text.length > MAX_STORED;
  const sources = [...listSources(body), ...(bodyIsFile ? [bytesSource(new TextEncoder().encode(text))] : [])];
  const kept: KeptInputs = { model, action, body: bodyIsFile ? null : requestBody, ...describeForm(body), files: [] };
  const described = JSON.stringify({ ...kept, body: null, files: sources.map(({ described }) => described) });
  if (described.length > MAX_STORED) return err('too_large');
  let left = most;
  for (const source of sources) {
    const stored = await storeOne(deps, source, { left, signal });
    if (!stored.ok) return stored;
    left -= stored.value.bytes;
    kept.files.push({ ...source.described, sha256: stored.value.sha256, size: stored.value.bytes });
  }
  return ok(kept);
}

/** A body as it is stored until its task is sent: its files stand in the result storage. */
export type StoredBody = { kind: RequestBody['kind']; fields?: Record<string, string[]>; tokenPrefix?: string } & {
  files: KeptInput[];
  value?: Json;
};

/**
 * Stores the files of a request whose task waits. What stands in the body is in the answer.
 * `tx.results.hold` counts them as needed.
 */
export async function storeBody(
  deps: FileDeps,
  body: RequestBody,
  signal: AbortSignal,
): Promise<Result<StoredBody, InputLoss>> {
  const held: StoredBody = { kind: body.kind, files: [], ...describeForm(body) };
  if (body.kind === 'json') held.value = body.value;
  if (body.kind === 'form') held.fields = body.fields;
  for (const source of listSources(body)) {
    const stored = await storeOne(deps, source, { left: Number.POSITIVE_INFINITY, signal });
    if (!stored.ok) return stored;
    held.files.push({ ...source.described, sha256: stored.value.sha256, size: stored.value.bytes });
  }
  return ok(held);
}

/** Stores bytes; a row must count them as needed within the hour. */
export const storeBytes = (deps: FileDeps, bytes: Uint8Array, signal: AbortSignal) =>
  storeOne(deps, bytesSource(bytes), { left: Number.POSITIVE_INFINITY, signal });

async function storeOne(
  { store, storage }: FileDeps,
  source: RequestSource,
  { left, signal }: { left: number; signal: AbortSignal },
): Promise<Result<StoredFile, InputLoss>> {
  if (source.size > storage.maxFileBytes) return err('too_large');
  if (source.size > left) return err('quota');
  if (source.stored && (await isReady(source.stored))) return ok(source.stored);
  const stored = await storage.files.put(source.stream(), { maxBytes: Math.min(storage.maxFileBytes, left), signal });
  if (!stored.ok) return err(stored.error.kind);
  return (await isReady(stored.value)) ? stored : err('unavailable');

  /** A sweep may have deleted an equal file before the announcement. */
  async function isReady(file: StoredFile): Promise<boolean> {
    return (await store.results.expectFile(file)) && (await storage.files.size(file.sha256)) === file.bytes;
  }
}

/** Bytes of the files of a request. */
export const fileBytes = (body: RequestBody): number => listSources(body).reduce((sum, { size }) => sum + size, 0);

function listSources(body: RequestBody): RequestSource[] {
  if (body.kind === 'multipart') {
    return body.files.map(({ ref, field, filename, mimeType, size, stream, stored }) => ({
      described: { as: 'part', ref, field, filename, mimeType },
      ...{ size, stream, stored },
    }));
  }
  const files = body.kind === 'json' ? (body.extracted?.files ?? []) : [];
  return files.map(({ size, decodedSize, hasLineEnds, stream, stored }) => ({
    described: { as: 'text', decodedSize, hasLineEnds },
    ...{ size, stream, stored },
  }));
}

function bytesSource(bytes: Uint8Array): RequestSource {
  return {
    described: { as: 'body' },
    size: bytes.byteLength,
    async *stream() {
      yield bytes;
    },
  };
}

function describeForm(body: RequestBody): Pick<KeptInputs, 'fields' | 'tokenPrefix'> {
  if (body.kind === 'multipart') return { fields: body.fields };
  return body.kind === 'json' && body.extracted ? { tokenPrefix: body.extracted.prefix } : {};
}

/**
 * Longest request that is stored with its task, in characters of JSON. A task's row is always read
 * whole, so longer ones are files.
 */
const MAX_STORED = 32 * 1024;

type WithoutBytes<Input> = Input extends KeptInput ? Omit<Input, 'sha256' | 'size'> : never;

/** A file of a request, as it is described in the task's row and as it is read. */
export type RequestSource = {
  described: WithoutBytes<KeptInput>;
  size: number;
  stream: () => AsyncIterable<Uint8Array>;
  /** The stored file, if it is stored already. */
  stored?: StoredFile | undefined;
};

/** What a client asked for, as it is stored. */
export type StorableRequest = {
  body: RequestBody;
  intent: { model: string; action: string; requestBody: Json | undefined };
};

/** What a retry of the task needs; undefined when the request cannot be repeated from the row. */
export function toRetryRequest({ body, intent }: StorableRequest): TaskExecution['request'] {
  const hasFiles =
    body.kind === 'multipart' ? body.files.length > 0 : body.kind === 'json' && body.extracted !== undefined;
  const { model, action, requestBody = null } = intent;
  if (hasFiles || JSON.stringify(requestBody).length > MAX_STORED) return undefined;
  return { model, action, body: requestBody };
}
