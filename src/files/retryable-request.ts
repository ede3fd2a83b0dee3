import type { Json } from '../kernel/index.ts';
import type { TaskExecution } from '../store/ports/index.ts';
import { MAX_STORED } from './request-source.ts';
import type { RequestBody } from './types.ts';

/** What a client asked for, as it is stored. */
export type StorableRequest = {
  body: RequestBody;
  intent: { model: string; action: string; requestBody: Json | undefined };
};

/** What a retry of the task needs; undefined when the request cannot be repeated from the row. */
export function retryableRequest({ body, intent }: StorableRequest): TaskExecution['request'] {
  const hasFiles =
    body.kind === 'multipart' ? body.files.length > 0 : body.kind === 'json' && body.extracted !== undefined;
  const { model, action, requestBody = null } = intent;
  if (hasFiles || JSON.stringify(requestBody).length > MAX_STORED) return undefined;
  return { model, action, body: requestBody };
}
