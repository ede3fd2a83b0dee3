import type { PanelPrincipal } from '../../auth/index.ts';
import { AppError, type Clock, isIdempotencyKey, newUuid } from '../../kernel/index.ts';
import { taskErrors } from '../../tasks/index.ts';
import { httpErrors } from '../responses/errors.ts';
import { REPLAYED } from '../responses/response-headers.ts';

const KEY_SECONDS = 24 * 3600;
/** Answers may hold a new key in clear, so only this process keeps them, and not for long. */
const ANSWER_MS = 10 * 60_000;
const MAX_ANSWERS = 200;

export type TakenKey = { userId: number; key: string; requestHash: string; taskId: string; expiresAt: number };

/** The keys that users have taken; `taskId` names the request that took one. */
export type RequestKeys = {
  take(record: TakenKey & { at: number }): Promise<boolean>;
  find(userId: number, key: string, at: number): Promise<TakenKey | undefined>;
  free(userId: number, taskId: string): Promise<void>;
};

type OnceRequest = {
  panel: PanelPrincipal;
  request: Request;
  body: unknown;
  set: { headers: Record<string, string | number | undefined> };
};

/** The request's Idempotency-Key, if it has one. @throws tasks.invalid_idempotency_key */
export function readIdempotencyKey({ headers }: Request): string | undefined {
  const key = headers.get('idempotency-key') ?? undefined;
  if (key !== undefined && !isIdempotencyKey(key)) throw taskErrors.invalid_idempotency_key();
  return key;
}

/** Does `work` once for all requests of a user with one Idempotency-Key; without a key, always. */
export type AnswerOnce = <T>(asked: OnceRequest, work: () => Promise<T>) => Promise<T>;

type Deps = {
  keys: RequestKeys;
  /** By a secret: the request may hold a password, which nobody must guess by what is kept. */
  digest: (text: string) => string;
  clock: Clock;
};

type Kept = { requestHash: string; answer: Promise<unknown>; untilMs: number };

/**
 * Protects what a second click would create again. The key is taken before the work begins, and
 * stays taken unless the work has failed for certain: whatever dies in between, nothing is created
 * twice. A repeat gets the first answer while this process keeps it, else a refusal that says so.
 * @throws tasks.invalid_idempotency_key, tasks.idempotency_key_reused, http.request_repeated
 */
export function createAnswerOnce({ keys, digest, clock }: Deps): AnswerOnce {
  const answers = new Map<string, Kept>();

  async function takeAndWork<T>(
    { userId, key, requestHash }: Pick<TakenKey, 'userId' | 'key' | 'requestHash'>,
    work: () => Promise<T>,
  ) {
    const at = clock.unix();
    const taskId = `once_${newUuid()}`;
    if (!(await keys.take({ userId, key, requestHash, taskId, at, expiresAt: at + KEY_SECONDS }))) {
      const earlier = await keys.find(userId, key, at);
      if (earlier && earlier.requestHash !== requestHash) throw taskErrors.idempotency_key_reused();
      throw httpErrors.request_repeated();
    }
    try {
      return await work();
    } catch (error) {
      if (hasChangedNothing(error)) await keys.free(userId, taskId);
      throw error;
    }
  }

  return async <T>({ panel, request, body, set }: OnceRequest, work: () => Promise<T>): Promise<T> => {
    const given = readIdempotencyKey(request);
    if (given === undefined) return work();
    const userId = panel.user.id;
    // Keys of tasks are chosen by clients; these never collide with them.
    const key = `panel:${given}`;
    const requestHash = digest(`${request.method} ${new URL(request.url).pathname} ${JSON.stringify(body)}`);
    const id = `${userId}:${key}`;
    const known = answers.get(id);
    if (known && known.untilMs > clock.monotonicMs()) {
      if (known.requestHash !== requestHash) throw taskErrors.idempotency_key_reused();
      set.headers[REPLAYED] = 'true';
      return known.answer as Promise<T>;
    }
    const answer = takeAndWork({ userId, key, requestHash }, work);
    answers.delete(id);
    answers.set(id, { requestHash, answer, untilMs: clock.monotonicMs() + ANSWER_MS });
    // The oldest first.
    for (const [oldest, { untilMs }] of answers) {
      if (answers.size <= MAX_ANSWERS && untilMs > clock.monotonicMs()) break;
      answers.delete(oldest);
    }
    return answer.catch((error) => {
      answers.delete(id);
      throw error;
    });
  };
}

/** What the client did wrong, or what was refused, is answered before anything is written. */
const hasChangedNothing = (error: unknown): boolean =>
  error instanceof AppError && error.kind !== 'internal' && error.kind !== 'unavailable';
