import type { TaskExecution } from '../../store/ports/index.ts';
import type { Submission } from '../types.ts';

/**
 * Longest request that is stored with its task, in characters of JSON. Longer ones contain files,
 * and a task's row is always read whole.
 */
const MAX_STORED = 32 * 1024;

/** What a retry of the task needs; undefined when the request cannot be repeated from the row. */
export function retryableRequest({ request, intent, originTasks }: Submission): TaskExecution['request'] {
  const { body } = request;
  const hasFiles =
    body.kind === 'multipart' ? body.files.length > 0 : body.kind === 'json' && body.extracted !== undefined;
  const { model, action, requestBody = null } = intent;
  if (hasFiles || originTasks || JSON.stringify(requestBody).length > MAX_STORED) return undefined;
  return { model, action, body: requestBody };
}
