import type { TaskDetail } from '../../api/types.ts';

type Body = Readonly<Record<string, unknown>>;

/**
 * The body of `POST /v1/tasks/{plugin}` that orders the same; null where the request was not kept
 * or is another user's.
 */
export function readTaskBody({ request, model }: Pick<TaskDetail, 'request' | 'model'>): Body | null {
  const body = request?.body;
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return null;
  return 'model' in body ? body : { model: request?.model ?? model, ...body };
}

export type Difference = { path: string; before: string; after: string };

/** What a field that is not there shows. */
const absent = '–';

/** The fields in which two bodies differ, with their values as JSON. */
export function compareBodies(before: Body, after: Body): Difference[] {
  const [former, latter] = [flatten(before), flatten(after)];
  return [...new Set([...former.keys(), ...latter.keys()])].flatMap((path) => {
    const [was, is] = [former.get(path) ?? absent, latter.get(path) ?? absent];
    return was === is ? [] : [{ path, before: was, after: is }];
  });
}

function flatten(value: unknown, path = '', fields = new Map<string, string>()): Map<string, string> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    fields.set(path, typeof value === 'string' ? value : JSON.stringify(value));
    return fields;
  }
  for (const [name, child] of Object.entries(value)) flatten(child, path === '' ? name : `${path}.${name}`, fields);
  return fields;
}
