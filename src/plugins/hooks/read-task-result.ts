import type { TaskStatus } from '../../../contracts/v1.d.ts';
import {
  err,
  isObject,
  type Json,
  jsonBytes,
  ok,
  type Result,
  redactSecrets,
  type Secrets,
  type Sentence,
  sanitizeMessage,
  sentence,
} from '../../kernel/index.ts';
import { TASK_STATUSES } from '../../store/ports/index.ts';

/** Largest state that is stored, as JSON (as in new-api). */
const MAX_STATE_BYTES = 1_048_576;

/**
 * What a result says about the plugin's state. `too_large`: the old value stays, and the caller
 * logs a warning.
 */
export type StateChange = { kind: 'keep' } | { kind: 'set'; value: Json } | { kind: 'too_large'; bytes: number };

export type ParsedTask = {
  /** `UNKNOWN` for a missing or unrecognised status, too. */
  status: TaskStatus | 'UNKNOWN';
  /** "0%" to "100%". */
  progress?: string;
  /** Sanitised, without secrets; "" if there is none. */
  reason: string;
  url?: string;
  remoteUrl?: string;
  completionTokens?: number;
  totalTokens?: number;
  taskId?: string;
  code?: string;
  state: StateChange;
};

const STATUSES: ReadonlySet<string> = new Set(TASK_STATUSES);

export function readState(result: Record<string, unknown>): StateChange {
  if (!Object.hasOwn(result, 'state')) return { kind: 'keep' };
  const value = result.state as Json;
  const bytes = jsonBytes(value);
  return bytes > MAX_STATE_BYTES ? { kind: 'too_large', bytes } : { kind: 'set', value };
}

function readProgress(value: unknown): string | undefined {
  const number = typeof value === 'string' && /^\d{1,3}(?:\.\d+)?%$/.test(value) ? Number.parseFloat(value) : value;
  if (typeof number !== 'number' || number < 0 || number > 100) return undefined;
  return `${Math.floor(number)}%`;
}

const optional = <T>(name: string, value: T | undefined): Record<string, T> =>
  value === undefined ? {} : { [name]: value };
const readText = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;
const readCount = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;

/**
 * A normalised task result. Optional fields of a wrong type are dropped, because nothing depends on
 * them.
 */
export function readTaskResult(value: unknown, secrets: Secrets = []): Result<ParsedTask, Sentence> {
  if (!isObject(value)) return err(sentence('hook.no_result'));
  const { status, reason, code } = value;
  return ok({
    status: typeof status === 'string' && STATUSES.has(status) ? (status as TaskStatus) : 'UNKNOWN',
    reason: typeof reason === 'string' ? sanitizeMessage(redactSecrets(reason, secrets)) : '',
    state: readState(value),
    ...optional('progress', readProgress(value.progress)),
    ...optional('url', readText(value.url)),
    ...optional('remoteUrl', readText(value.remoteUrl)),
    ...optional('completionTokens', readCount(value.completionTokens)),
    ...optional('totalTokens', readCount(value.totalTokens)),
    ...optional('taskId', readText(value.taskId)),
    ...optional('code', typeof code === 'number' ? String(code) : readText(code)),
  });
}
