import type { Json } from '../../kernel/index.ts';
import { BASE64_FROM, BASE64_KEEP } from '../../vendors/index.ts';

/** Largest JSON in `task.data` and in plugin state. */
export const MAX_SNAPSHOT_BYTES = 1024 * 1024;
const BASE64 = /^(?:data:[\w.+/;=-]+;base64,)?[A-Za-z0-9+/_\r\n-]+={0,2}$/;

/** Prepares a vendor's answer for storage: cuts Base64 payloads to their first characters. */
export function trimSnapshot(value: Json): Json {
  if (typeof value === 'string') {
    return value.length >= BASE64_FROM && BASE64.test(value) ? value.slice(0, BASE64_KEEP) : value;
  }
  if (Array.isArray(value)) return value.map(trimSnapshot);
  if (value === null || typeof value !== 'object') return value;
  // fromEntries defines own properties: a vendor's "__proto__" stays data.
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, trimSnapshot(child)]));
}

export const snapshotBytes = (value: Json): number => Buffer.byteLength(JSON.stringify(value) ?? '');
