import { AppError, sha256Hex } from '../../kernel/index.ts';
import { taskErrors } from '../errors.ts';
import type { Caller, ClientRequest, Idempotency, TaskDeps } from '../types.ts';

/**
 * Keys are meant to be random; 1 to 255 printable ASCII characters are more than any client needs.
 */
const KEY = /^[\x20-\x7e]{1,255}$/;

/** What a request that may be repeated does. */
export type Once<T> = {
  /**
   * Does it. Hands the key on to the transaction that opens what it stands for, where of many at
   * once one takes it.
   */
  first: (idempotency: Idempotency | undefined) => Promise<T>;
  /**
   * Gives what the request that opened `openedId` came to, for as long as it takes to know.
   * Undefined: it came to nothing and has left the key free, so that the repeat is the first.
   */
  repeat: (openedId: string) => Promise<T | undefined>;
};

/**
 * The one way in for everything that may be asked for with an Idempotency-Key. Without one it is
 * `first` alone. With one, of a user's requests with this key within 24 hours the first does it and
 * the others repeat.
 * @throws tasks.invalid_idempotency_key, tasks.idempotency_key_reused,
 * tasks.idempotency_in_progress, and what `first` and `repeat` throw
 */
export async function runIdempotently<T>(
  deps: Pick<TaskDeps, 'store' | 'clock'>,
  caller: Caller,
  request: ClientRequest,
  { first, repeat }: Once<T>,
): Promise<T> {
  const idempotency = readIdempotency(request);
  if (!idempotency) return first(undefined);
  const { key, requestHash } = idempotency;
  const find = () => deps.store.idempotency.find(caller.user.id, key, deps.clock.unix());
  for (;;) {
    let earlier = await find();
    if (!earlier) {
      try {
        return await first(idempotency);
      } catch (error) {
        earlier = isTaken(error) ? await find() : undefined;
        if (!earlier) throw error;
      }
    }
    if (earlier.requestHash !== requestHash) throw taskErrors.idempotency_key_reused();
    const outcome = await repeat(earlier.taskId);
    if (outcome !== undefined) return outcome;
  }
}

/** The key of a request, where it has one. @throws tasks.invalid_idempotency_key */
function readIdempotency(request: ClientRequest): Idempotency | undefined {
  const key = request.idempotencyKey ?? undefined;
  if (key === undefined) return undefined;
  if (!KEY.test(key)) throw taskErrors.invalid_idempotency_key();
  return { key, requestHash: hashOf(request) };
}

/** Over the method, the address and the body's own bytes: what makes two requests the same. */
const hashOf = ({ method, path, query, bodySha256 }: ClientRequest): string =>
  sha256Hex(JSON.stringify([method, path, query, bodySha256]));

const isTaken = (error: unknown): boolean => error instanceof AppError && error.code === TAKEN;
const TAKEN = taskErrors.idempotency_in_progress().code;
