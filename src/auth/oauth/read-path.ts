import { isObject } from '../../kernel/index.ts';

/**
 * The value at a dotted path (`data.user.id`, `emails.0.value`), or `undefined`. A property of
 * `value` may itself have dots in its name.
 */
export function readPath(value: unknown, path: string): unknown {
  if (isObject(value) && Object.hasOwn(value, path)) return value[path];
  let current = value;
  for (const step of path.split('.')) {
    if (Array.isArray(current) && /^\d{1,4}$/.test(step)) current = current[Number(step)];
    else if (isObject(current) && Object.hasOwn(current, step)) current = current[step];
    else return undefined;
  }
  return current;
}
