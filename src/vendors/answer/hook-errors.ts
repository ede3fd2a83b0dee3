import { AppError, sentence, toSentence } from '../../kernel/index.ts';
import { describeHookFailure, type HookFailure, isHostFailure } from '../../plugins/index.ts';
import { vendorErrors } from '../errors.ts';

const notCalled = new WeakSet<AppError>();

/** Whether the hook was not called, which is nobody's failure: the same call may succeed later. */
export const wasNotCalled = (error: unknown): boolean => error instanceof AppError && notCalled.has(error);

/** A hook's own error reaches the caller as 400. A failure of the sandbox is ours: 503. */
export function hookError(failure: HookFailure): AppError {
  const error = toClientError(failure);
  if (isHostFailure(failure)) notCalled.add(error);
  return error;
}

function toClientError(failure: HookFailure): AppError {
  const message = toSentence(failure);
  const cause = hookCause(failure);
  switch (failure.kind) {
    case 'owner_refused':
      return tooManyForUser(failure);
    case 'overloaded':
    case 'suspended':
    case 'closed':
    case 'killed':
      return vendorErrors.plugin_unavailable({ message, retryAfterSeconds: secondsUntil(failure), cause });
    default:
      return vendorErrors.plugin_request_invalid({ message, cause });
  }
}

/**
 * The caller's own requests got this plugin stopped too often: only they are refused, for a while.
 */
export function tooManyForUser(failure: Pick<HookFailure, 'retryAfterMs'>): AppError {
  const retryAfterSeconds = secondsUntil(failure);
  const message = sentence('tasks.plugin_stopped_for_you', { seconds: retryAfterSeconds });
  return vendorErrors.plugin_busy_for_you({ message, retryAfterSeconds });
}

const secondsUntil = ({ retryAfterMs }: Pick<HookFailure, 'retryAfterMs'>): number =>
  retryAfterMs === undefined ? 5 : Math.max(1, Math.ceil(retryAfterMs / 1000));

/**
 * The failure for the log: with the hook's name, without the plugin's own output. It has no stack:
 * where the gateway stood says nothing about a plugin's failure.
 */
export function hookCause(failure: HookFailure): Error {
  const cause = new Error(describeHookFailure(failure));
  delete cause.stack;
  return cause;
}

/** Retry-After for what an unavailable plugin would show, in seconds. */
export const ASK_AGAIN_SECONDS = 60;

/** The error for a task whose plugin is switched off or cannot be loaded just now. */
export const pluginUnavailable = () =>
  vendorErrors.plugin_unavailable({ message: sentence('tasks.plugin_away'), retryAfterSeconds: ASK_AGAIN_SECONDS });
