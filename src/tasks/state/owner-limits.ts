import { type AppError, sentence } from '../../kernel/index.ts';
import type { ParkedBy, ParkedTasks, Repositories, RunningTasks, WaitingHead } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { ConcurrencyLimits } from '../task-node.ts';
import type { Caller, TaskDeps } from '../types.ts';

/**
 * Says whose task it is. A group's limit holds for each of its users apart. New tasks meet limits
 * in `open-tasks.ts`, waiting ones in `dispatch/dispatcher.ts` and
 * `dispatch/release-parked.ts`, and relayed requests in `relay/limit-owner-requests.ts`.
 */
type Owner = { userId: number; apiKeyId: number | null; group: string };

/** Retry-After for a client that has reached its own limit, in seconds. */
const REACHED_SECONDS = 5;

const SCOPES = ['key', 'user', 'group'] as const;

/** `undefined` for a caller without such limits, whose tasks are not counted. */
export function readConcurrencyLimits(deps: Pick<TaskDeps, 'limits'>, caller: Caller): ConcurrencyLimits | undefined {
  const most = {
    key: caller.key?.maxRunning ?? null,
    user: caller.user.maxRunning,
    group: deps.limits.waiting(caller.group).maxRunning,
  };
  return SCOPES.some((scope) => most[scope] !== null) ? most : undefined;
}

const nameOwner = (scope: (typeof SCOPES)[number], { userId, apiKeyId, group }: Owner): string =>
  scope === 'key' ? `key ${apiKeyId}` : scope === 'user' ? `user ${userId}` : `group ${userId} ${group}`;

/** The limits of a caller that hold, each with the name of its owner. */
export const listOwnerLimits = (owner: Owner, most: ConcurrencyLimits) =>
  SCOPES.flatMap((scope) => {
    const limit = most[scope];
    return limit === null ? [] : [{ scope, owner: nameOwner(scope, owner), most: limit }];
  });

/** The tasks that run of owners with limits of their own, and what is left of these limits. */
export type OwnerConcurrency = {
  /** The first limit that is reached; empty: one more may run. */
  findReached(owner: Owner, most: ConcurrencyLimits): ParkedBy;
  add(owner: Owner, tasks?: number): void;
  /** How many more tasks the user may run; infinite without a limit. */
  left(owner: Owner, most: ConcurrencyLimits): number;
};

export function countOwnerConcurrency(running: readonly RunningTasks[]): OwnerConcurrency {
  const counts = new Map<string, number>();
  const left = (scope: (typeof SCOPES)[number], owner: Owner, most: ConcurrencyLimits): number =>
    (most[scope] ?? Number.POSITIVE_INFINITY) - (counts.get(nameOwner(scope, owner)) ?? 0);
  const own: OwnerConcurrency = {
    findReached: (owner, most) => SCOPES.find((scope) => left(scope, owner, most) <= 0) ?? '',
    add(owner, tasks = 1) {
      for (const scope of SCOPES) {
        const name = nameOwner(scope, owner);
        counts.set(name, (counts.get(name) ?? 0) + tasks);
      }
    },
    left: (owner, most) => Math.max(0, Math.min(...SCOPES.map((scope) => left(scope, owner, most)))),
  };
  for (const row of running) own.add(row, row.running);
  return own;
}

/** The first of a queue, with all limits of its owners. */
export type OwnedHead = WaitingHead & { group: string; most: ConcurrencyLimits };

const isLimited = ({ key, user, group }: ConcurrencyLimits): boolean => key !== null || user !== null || group !== null;

/**
 * Counts the running tasks of those owners who have limits of their own. No other node begins a
 * task of theirs until the transaction ends. Undefined: nobody has such limits.
 */
export async function lockOwnerConcurrency(
  tx: Repositories,
  heads: readonly OwnedHead[],
): Promise<OwnerConcurrency | undefined> {
  const limited = heads.filter(({ most }) => isLimited(most));
  if (limited.length === 0) return undefined;
  const userIds = [...new Set(limited.map(({ userId }) => userId))];
  return countOwnerConcurrency(await tx.waiting.running(userIds, { locks: true }));
}

/** The limit that holds back earlier tasks of the owner, behind which a new one goes; or empty. */
export const findEarlier = (owner: Owner, parked: readonly ParkedTasks[]): ParkedBy =>
  parked.find(
    ({ userId, apiKeyId, parked: by }) => userId === owner.userId && (by !== 'key' || apiKeyId === owner.apiKeyId),
  )?.parked ?? '';

/** The refusal of a task that does not wait. */
export const limitReached = (reached: Exclude<ParkedBy, ''>, most: ConcurrencyLimits): AppError =>
  taskErrors.concurrency_limit({
    message: sentence(`tasks.own_limit_${reached}`, { most: most[reached] ?? 0 }),
    retryAfterSeconds: REACHED_SECONDS,
  });
