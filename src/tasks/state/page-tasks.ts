import type { TaskSummary } from '../../store/ports/index.ts';
import { taskErrors } from '../errors.ts';
import type { TaskDeps } from '../types.ts';

/** `videos`: only tasks of plugins that offer OpenAI's video API. */
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
    ...(videos ? { platforms: videoPlugins(deps) } : {}),
  });
  if (!found) throw taskErrors.page_not_found({ param: 'after' });
  return { tasks: found.slice(0, page.limit), hasMore: found.length > page.limit };
}

function videoPlugins(deps: TaskDeps): string[] {
  const pin = deps.pin();
  try {
    return [...pin.generation.plugins.values()]
      .filter(({ manifest }) => manifest.protocols.some(({ name }) => name === 'proto_video'))
      .flatMap(({ key, manifest }) => [key, ...manifest.channelTypes.map(String)]);
  } finally {
    pin.release();
  }
}
