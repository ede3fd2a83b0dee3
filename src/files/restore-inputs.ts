import { type Json, parseJson, type Sentence, sentence } from '../kernel/index.ts';
import type { InputLoss, KeptInput, KeptInputs, TaskRecord } from '../store/ports/index.ts';
import { fileErrors } from './errors.ts';
import { inputKey, type StoredBody } from './keep-inputs.ts';
import type { ExtractedFile, FileDeps, RequestBody, RequestFile } from './types.ts';

type Files = Pick<FileDeps['storage']['files'], 'open'>;
type Deps = Pick<FileDeps, 'store' | 'storage'>;

const LOSSES: Readonly<Record<InputLoss, Sentence>> = {
  quota: sentence('tasks.inputs_quota'),
  full: sentence('tasks.inputs_full'),
  too_large: sentence('tasks.inputs_too_large'),
  unavailable: sentence('tasks.inputs_place'),
};

/** A request as its task was submitted with, but for its address. */
export type RestoredRequest = { model: string; action: string; requestBody: Json; body: RequestBody };

/**
 * The request of a task that can be repeated, with its files.
 * @throws tasks.request_not_kept, tasks.inputs_not_kept, tasks.inputs_gone
 */
export async function restoreRequest(deps: Deps, task: TaskRecord): Promise<RestoredRequest> {
  const { request, inputs, inputsLost } = task.execution;
  if (request) {
    const { model, action, body: value } = request;
    return { model, action, requestBody: value, body: { kind: 'json', value } };
  }
  if (inputsLost) {
    throw fileErrors.inputs_not_kept({
      message: sentence('tasks.inputs_lost', { reason: LOSSES[inputsLost] }),
    });
  }
  if (!inputs) throw fileErrors.request_not_kept();
  if (!(await areKept(deps, { task, inputs, look: true }))) throw fileErrors.inputs_gone();
  const { model, action } = inputs;
  const requestBody = await readBody(deps.storage.files, inputs);
  return { model, action, requestBody, body: restoreBody(deps.storage.files, inputs, requestBody) };
}

/** Why an ended task cannot be run again, as the code of the error that a retry would get. */
export type RetryBlock = 'request_not_kept' | 'inputs_not_kept' | 'inputs_gone';

/** The block as a page shows it. It does not check whether the files are in place. */
export async function findRetryBlock(deps: Deps, task: TaskRecord): Promise<RetryBlock | undefined> {
  const { request, inputs, inputsLost } = task.execution;
  if (request) return undefined;
  if (inputsLost) return 'inputs_not_kept';
  if (!inputs) return 'request_not_kept';
  return (await areKept(deps, { task, inputs, look: false })) ? undefined : 'inputs_gone';
}

async function areKept(
  { store, storage }: Deps,
  { task, inputs: { files }, look }: { task: TaskRecord; inputs: KeptInputs; look: boolean },
): Promise<boolean> {
  const rows = new Map((await store.results.listInputs(task.taskId)).map((row) => [row.artifactKey, row.sha256]));
  if (!files.every(({ sha256 }, index) => rows.get(inputKey(index)) === sha256)) return false;
  return !look || areInPlace(storage.files, files);
}

/** @throws store.results_unavailable */
export async function areInPlace(
  storage: Pick<FileDeps['storage']['files'], 'size'>,
  files: readonly Pick<KeptInput, 'sha256' | 'size'>[],
): Promise<boolean> {
  const sizes = await Promise.all(files.map(({ sha256 }) => storage.size(sha256)));
  return files.every(({ size }, index) => sizes[index] === size);
}

async function readBody(files: Files, inputs: KeptInputs): Promise<Json> {
  const stored = inputs.files.find(({ as }) => as === 'body');
  if (!stored) return inputs.body;
  const opened = await files.open(stored.sha256);
  const value = opened && parseJson(await new Response(opened).text());
  if (value === undefined) throw fileErrors.inputs_gone();
  return value;
}

/** The body that `storeBody` stored; its files are read when they are needed. */
export function restoreStoredBody(files: Files, { kind, value = null, fields = {}, ...held }: StoredBody): RequestBody {
  if (kind === 'none') return { kind };
  if (kind === 'form') return { kind, fields };
  const form = kind === 'multipart' ? { fields } : {};
  return restoreBody(files, { model: '', action: '', body: null, ...held, ...form }, value);
}

function restoreBody(files: Files, inputs: KeptInputs, value: Json): RequestBody {
  const { fields, tokenPrefix: prefix } = inputs;
  if (fields) {
    const parts = inputs.files.flatMap((input): RequestFile[] => {
      if (input.as !== 'part') return [];
      const { ref, field, filename, mimeType } = input;
      return [{ ref, field, filename, mimeType, ...readable(files, input) }];
    });
    return { kind: 'multipart', fields, files: parts };
  }
  if (prefix === undefined) return { kind: 'json', value };
  const texts = inputs.files.flatMap((input): ExtractedFile[] => {
    if (input.as !== 'text') return [];
    const { decodedSize, hasLineEnds } = input;
    return [{ decodedSize, hasLineEnds, ...readable(files, input) }];
  });
  return { kind: 'json', value, extracted: { prefix, files: texts } };
}

const readable = (files: Files, { sha256, size }: KeptInput): Pick<RequestFile, 'size' | 'stream' | 'stored'> => ({
  size,
  stored: { sha256, bytes: size },
  async *stream() {
    const opened = await files.open(sha256);
    if (!opened) throw new Error('a kept file of a request is missing');
    yield* opened instanceof ReadableStream ? opened : opened.stream();
  },
});
