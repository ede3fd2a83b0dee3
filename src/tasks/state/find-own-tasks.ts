import type { VendorAccount } from '../../channels/index.ts';
import type { LoadedPlugin } from '../../plugins/index.ts';
import type { TaskRecord, TaskShown, TaskSummary } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { TaskDeps } from '../types.ts';

/** Valid task ids. PostgreSQL accepts no NUL, and other texts need no query. */
const TASK_ID = /^[\x21-\x7e]{1,191}$/;

/**
 * Reads one of the user's tasks. Undefined when it is missing or belongs to another user: callers
 * cannot tell which.
 */
export const findOwnTask = async (
  { store }: Pick<TaskDeps, 'store'>,
  userId: number,
  id: string,
): Promise<TaskRecord | undefined> => (TASK_ID.test(id) ? store.tasks.byUser(userId, id) : undefined);

/** Reads it for its status alone, without what may be large. */
export const findOwnTaskSummary = async (
  { store }: Pick<TaskDeps, 'store'>,
  userId: number,
  id: string,
): Promise<TaskSummary | undefined> => (TASK_ID.test(id) ? store.tasks.summaryByUser(userId, id) : undefined);

/** Reads it with all that a rendering depends on. */
export const findOwnTaskToRender = async (
  { store }: Pick<TaskDeps, 'store'>,
  userId: number,
  id: string,
): Promise<TaskShown | undefined> => (TASK_ID.test(id) ? store.tasks.shownByUser(userId, id) : undefined);

/**
 * Reads the user's own tasks in the order of `ids`, repeated where an id is repeated, in one
 * statement. Undefined when one is missing or belongs to another user: callers cannot tell which.
 */
export const findOwnTasks = (
  deps: Pick<TaskDeps, 'store'>,
  userId: number,
  ids: readonly string[],
): Promise<TaskRecord[] | undefined> => readOwn(deps, userId, { ids, isFound: ({ hiddenAt }) => hiddenAt === 0 });

/** Finds the tasks that a new one may build on, including those whose results were not retained. */
export const findOwnOriginTasks = (
  deps: Pick<TaskDeps, 'store'>,
  userId: number,
  ids: readonly string[],
): Promise<TaskRecord[] | undefined> =>
  readOwn(deps, userId, {
    ids,
    isFound: ({ hiddenAt, execution }) => hiddenAt === 0 || execution.retained === false,
  });

type Wanted = { ids: readonly string[]; isFound: (task: TaskRecord) => boolean };

async function readOwn(
  { store }: Pick<TaskDeps, 'store'>,
  userId: number,
  { ids, isFound }: Wanted,
): Promise<TaskRecord[] | undefined> {
  if (!ids.every((id) => TASK_ID.test(id))) return undefined;
  // The store leaves out unchanged tasks; an empty status matches none, so it returns them all.
  const requested = [...new Set(ids)].map((taskId) => ({ taskId, status: '' as const, polls: 0 }));
  const found = await store.tasks.byTaskIds(requested);
  const own = new Map(
    found.filter((task) => task.userId === userId && isFound(task)).map((task) => [task.taskId, task]),
  );
  const tasks = ids.flatMap((id) => own.get(id) ?? []);
  return tasks.length === ids.length ? tasks : undefined;
}

/** `videos`: only tasks of plugins that offer OpenAI's video API, or did when it was ordered. */
export type TaskPageRequest = { after?: string; limit: number; order: 'asc' | 'desc'; videos?: boolean };
export type TaskPage = { tasks: TaskSummary[]; hasMore: boolean };

/**
 * A page of the user's tasks by creation, hidden ones left out.
 * @throws tasks.page_not_found when `after` is not one of them
 */
export async function pageTasks(
  deps: TaskDeps,
  userId: number,
  { videos = false, ...page }: TaskPageRequest,
): Promise<TaskPage> {
  const found = await deps.store.tasks.pageByUser(userId, {
    ...page,
    // One more tells whether there is another page.
    limit: page.limit + 1,
    ...(videos ? { videos: videoPlugins(deps) } : {}),
  });
  if (!found) throw taskErrors.page_not_found({ param: 'after' });
  return { tasks: found.slice(0, page.limit), hasMore: found.length > page.limit };
}

function videoPlugins(deps: TaskDeps): { platforms: string[]; serve: string[] } {
  const pin = deps.pin();
  try {
    const serving = [...pin.generation.plugins.values()];
    const makesVideos = ({ manifest }: LoadedPlugin) => manifest.protocols.some(({ name }) => name === 'proto_video');
    const listPlatforms = (plugins: readonly LoadedPlugin[]): string[] =>
      plugins.flatMap(({ key, manifest }) => [key, ...manifest.channelTypes.map(String)]);
    return { platforms: listPlatforms(serving.filter(makesVideos)), serve: listPlatforms(serving) };
  } finally {
    pin.release();
  }
}

/**
 * The one account that made these tasks, and knows them.
 * @throws tasks.origin_task_channel_conflict, tasks.origin_task_channel_disabled
 */
export async function findOriginAccount(
  { vendors: { channels } }: Pick<TaskDeps, 'vendors'>,
  tasks: readonly TaskRecord[],
): Promise<VendorAccount> {
  const accounts = await Promise.all(tasks.map((task) => channels.findBegun(task)));
  const [account, ...others] = new Map(accounts.map((each) => [each?.credential.id, each])).values();
  if (others.length > 0) throw taskErrors.origin_task_channel_conflict();
  if (!account || account.credential.removedAt > 0) throw taskErrors.origin_task_channel_disabled();
  return account;
}
