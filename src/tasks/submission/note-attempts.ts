/**
 * What people can read of the attempts of a submission: in the log, in the timeline of its task,
 * beside the credential that a vendor refused.
 */
import type { VendorAccount } from '../../channels/index.ts';
import { AppError, type Logger, toSentence } from '../../kernel/index.ts';
import type { TaskRecord } from '../../store/ports/index.ts';
import type { TaskDeps } from '../types.ts';
import type { FailedAttempt } from './classify-refusal.ts';

/** A vendor or plugin that fails is a warning, what it refuses a client is not. */
export const isOfVendor = (error: unknown): boolean =>
  error instanceof AppError && ['upstream_failed', 'upstream_timeout', 'unavailable'].includes(error.kind);

export const describeRefusal = ({ error: { code, message, cause }, said, refusal: { kind } }: FailedAttempt) => ({
  ...{ code, reason: message, refusal: kind },
  ...(said && { status: said.status, words: said.words }),
  ...(cause === undefined ? {} : { err: cause }),
});

/** An unexpected failure is logged where it is caught, with its stack. */
export function logUnprepared({ logger }: TaskDeps, error: unknown, logFields: object): void {
  if (!(error instanceof AppError) || error.kind === 'internal') return;
  const { code, message: reason, cause } = error;
  const fields = { ...logFields, code, reason, ...(cause === undefined ? {} : { err: cause }) };
  logger[isOfVendor(error) ? 'warn' : 'info'](fields, 'a submission could not be prepared');
  error.isLogged = true;
}

/** Why it took so long, for people who run the gateway. It is not a reason to fail. */
export async function notePassedOver({ store, clock, logger }: TaskDeps, { taskId }: TaskRecord, channels: string[]) {
  await store.tasks
    .notePassedOver(taskId, { at: clock.unix(), channels })
    .catch((error: unknown) => logger.warn({ err: error, task_id: taskId }, 'the timeline of a task lacks a row'));
}

/** Notes a refusal for people who look for its reason; the task does not wait for the write. */
export function noteRefusal({ store, clock, logger }: TaskDeps, { credential }: VendorAccount, error: AppError): void {
  void store.credentials
    .recordError(credential.id, { said: toSentence(error), at: clock.unix() })
    .catch((failure: unknown) => logger.warn({ err: failure }, "a credential's refusal could not be noted"));
}

/** The channel, and of several keys which one: by its label, or its last characters. */
export const nameAccount = (
  { vendors }: TaskDeps,
  { channel, credential: { label, keyHint } }: VendorAccount,
): string => {
  const isOnly = vendors.channels.accounts(channel).length < 2;
  const key = isOnly ? '' : label || keyHint;
  return key === '' ? `#${channel.id}` : `#${channel.id} (${key})`;
};

type Refused = Readonly<Record<string, unknown>> & { channel: string; reason: string };

/**
 * The log's one line for what vendors refused of a submission. It is written when that ends: only
 * then is it known whether its client was failed, and which account was the last one.
 */
export function createRefusalLog(logger: Logger, message: string) {
  let refused: Refused[] = [];
  return {
    note(fields: Refused): void {
      refused.push(fields);
    },
    write(level: 'info' | 'warn'): void {
      const last = refused.pop();
      if (!last) return;
      const before = refused.map(({ channel, reason }) => `${channel}: ${reason}`);
      refused = [];
      logger[level]({ ...last, ...(before.length > 0 && { before }) }, message);
    },
  };
}
