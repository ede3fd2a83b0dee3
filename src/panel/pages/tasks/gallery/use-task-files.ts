import type { TaskArtifacts } from '../../../api/types.ts';
import { useApiQuery } from '../../../api/use-api.ts';

/** The files of a task, with fresh links. */
export const useTaskFiles = (taskId: string, enabled: boolean) =>
  useApiQuery<TaskArtifacts>(`/api/task/${encodeURIComponent(taskId)}/artifacts`, { enabled, keepPrevious: false });

export const firstVideo = (found: TaskArtifacts | undefined): string | undefined =>
  found?.artifacts.find(({ type }) => type === 'video')?.content_url ??
  (found?.legacy_content_type === 'video' ? found.legacy_content_url : undefined);
