import type { TaskExecution } from '../../store/ports/index.ts';
import { MAX_STORED } from '../inputs/types.ts';
import type { Submission } from '../types.ts';

/** What a retry of the task needs; undefined when the request cannot be repeated from the row. */
export function retryableRequest({ request, intent, originTasks }: Submission): TaskExecution['request'] {
  const { body } = request;
  const hasFiles =
    body.kind === 'multipart' ? body.files.length > 0 : body.kind === 'json' && body.extracted !== undefined;
  const { model, action, requestBody = null } = intent;
  if (hasFiles || originTasks || JSON.stringify(requestBody).length > MAX_STORED) return undefined;
  return { model, action, body: requestBody };
}
