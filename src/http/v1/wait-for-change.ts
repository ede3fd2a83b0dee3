import { type ApiPrincipal, authErrors } from '../../auth/index.ts';
import { AppError } from '../../kernel/index.ts';
import { forbidUnsafeRetry, type QueuePosition, type SubmittedTask } from '../../tasks/index.ts';
import { readInteger } from '../pipeline/paging.ts';
import { toCaller, type V1Deps } from './route-dependencies.ts';

/** Shorter than the idle timeouts of proxies and of the listener. */
const MAX_SECONDS = 60;
/** RFC 7240, 4.3. A preference that cannot be read is ignored. */
const PREFERENCE = /(?:^|[,;\s])wait\s*=\s*"?(\d{1,9})"?\s*(?:[,;]|$)/i;

type WaitScope = { request: Request; api: ApiPrincipal; set: { headers: Record<string, unknown> } };
type Task = Awaited<ReturnType<V1Deps['tasks']['own']>>;

/**
 * How many seconds the request wants to wait for a change: `Prefer: wait=60`, or `?wait=60`.
 * @throws http.validation_failed
 */
export function readWait(request: Request): number {
  const preferred = PREFERENCE.exec(request.headers.get('prefer')?.slice(0, 200) ?? '')?.[1];
  if (preferred !== undefined) return Math.min(Number(preferred), MAX_SECONDS);
  if (!request.url.includes('wait=')) return 0;
  const asked = new URL(request.url).searchParams.get('wait');
  return asked === null ? 0 : readInteger('wait', asked, { min: 0, max: MAX_SECONDS });
}

/**
 * The task once its status has changed, or as it is after `seconds`.
 * @throws tasks.rate_limit_exceeded, auth.access_ended
 */
export async function waitForChange(
  deps: Pick<V1Deps, 'tasks' | 'watchAccess'>,
  scope: WaitScope,
  { task, seconds }: { task: Task; seconds: number },
): Promise<Task> {
  if (seconds === 0) return task;
  const latest = await waitWithAccess(deps, scope, (left) =>
    deps.tasks.awaitChange(toCaller(scope.api), task, { ms: seconds * 1000, left }),
  );
  if (scope.request.headers.has('prefer')) scope.set.headers['preference-applied'] = `wait=${seconds}`;
  return latest;
}

/**
 * Answers with the task that a client has submitted, after the wait that it asks for. The task is
 * bought, so no failure from here on may make the client order again. A key that waits for too many
 * tasks already gets its answer at once.
 */
export const answerSubmitted = <T>(
  deps: Pick<V1Deps, 'tasks' | 'watchAccess'>,
  scope: WaitScope,
  { submitted, seconds, toAnswer }: { submitted: SubmittedTask; seconds: number; toAnswer: (task: Task) => Promise<T> },
): Promise<T> =>
  forbidUnsafeRetry(async (state) => {
    state.vendorMayHaveJob = !submitted.replayed;
    const latest = await waitForChange(deps, scope, { task: submitted, seconds }).catch((error: unknown) => {
      if (error instanceof AppError && error.code === TOO_MANY_WAIT) return submitted;
      throw error;
    });
    return toAnswer(latest);
  });

const TOO_MANY_WAIT = 'tasks.rate_limit_exceeded';

/** Waits until its client leaves, or its access ends. @throws auth.access_ended */
export async function waitWithAccess<T>(
  { watchAccess }: Pick<V1Deps, 'watchAccess'>,
  { request, api }: Pick<WaitScope, 'request' | 'api'>,
  wait: (left: AbortSignal) => Promise<T>,
): Promise<T> {
  const access = watchAccess(api, request.signal);
  try {
    const latest = await wait(access.signal);
    if (access.hasEnded()) throw authErrors.access_ended();
    return latest;
  } finally {
    access.stop();
  }
}

type Waiting = Parameters<V1Deps['tasks']['queue']['find']>[0][number];

/**
 * The object of a task; while it waits with its position, and with the header by which OpenAI's
 * SDKs know when to look again.
 */
export async function withQueuePosition<T extends object>(
  { tasks }: Pick<V1Deps, 'tasks'>,
  task: Waiting,
  { object, set }: { object: T; set: { headers: Record<string, unknown> } },
): Promise<T & { queue?: QueuePosition }> {
  const queue = (await tasks.queue.find([task])).get(task.taskId);
  if (!queue) return object;
  set.headers['openai-poll-after-ms'] = String(tasks.queue.pollAfterMs(queue));
  return { ...object, queue };
}
