import { isDeepStrictEqual } from 'node:util';
import { isObject, type Json } from '../../kernel/index.ts';

/** A value that differs. `path` is a JSON pointer (RFC 6901); an absent value is `null`. */
export type ValueChange = { path: string; from: Json; to: Json };

const segment = (name: string): string => name.replace(/~/g, '~0').replace(/\//g, '~1');
const holdsObjects = (value: unknown): value is unknown[] => Array.isArray(value) && value.some(isObject);

/**
 * The values in which two JSON documents differ. Objects are compared by member, lists of objects
 * by position. Lists of plain values are compared as a whole.
 */
export function compareJson(from: unknown, to: unknown, path = ''): ValueChange[] {
  if (isDeepStrictEqual(from, to)) return [];
  if (isObject(from) && isObject(to)) {
    const names = [...new Set([...Object.keys(from), ...Object.keys(to)])];
    return names.flatMap((name) => compareJson(own(from, name), own(to, name), `${path}/${segment(name)}`));
  }
  if (Array.isArray(from) && Array.isArray(to) && (holdsObjects(from) || holdsObjects(to))) {
    const length = Math.max(from.length, to.length);
    return Array.from({ length }, (_, index) => compareJson(from[index], to[index], `${path}/${index}`)).flat();
  }
  return [{ path, from: toJson(from), to: toJson(to) }];
}

const own = (object: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(object, name) ? object[name] : undefined;
const toJson = (value: unknown): Json => (value === undefined ? null : (value as Json));
