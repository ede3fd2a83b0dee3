import type { TaskExecution } from '../../store/ports/index.ts';
import type { Submission } from '../types.ts';

/**
 * Requests of more characters of JSON than this are not kept: they hold files, and a task's row is
 * read whole.
 */
const MAX_KEPT = 32 * 1024;

/**
 * What a task needs to be asked for again; undefined where its request cannot be repeated from what
 * is here.
 */
export function retryableRequest({ request, intent, originTasks }: Submission): TaskExecution['request'] {
  const { body } = request;
  const hasFiles =
    body.kind === 'multipart' ? body.files.length > 0 : body.kind === 'json' && body.extracted !== undefined;
  const { model, action, requestBody = null } = intent;
  if (hasFiles || originTasks || JSON.stringify(requestBody).length > MAX_KEPT) return undefined;
  return { model, action, body: requestBody };
}
