import { isObject, parseJson } from '../kernel/index.ts';
import type { SourceRow } from '../store/index.ts';
import { STATUS } from '../store/ports/index.ts';
import { GATEWAY_KEY_TYPES } from './new-api-mapping.ts';
import { readObject } from './plan-context.ts';
import { readNumber, readText } from './read-source.ts';

export type VendorKey = { key: string; enabled: boolean };

/** One key, or several where the channel says so: a JSON list, or one a line. */
export function splitKeys(row: SourceRow): VendorKey[] {
  const text = readText(row, 'key');
  const info = readObject(readText(row, 'channel_info'));
  if (info.is_multi_key !== true) return text.trim() === '' ? [] : [{ key: text, enabled: true }];
  const list = text.trimStart().startsWith('[') ? parseJson(text) : undefined;
  const keys = Array.isArray(list)
    ? list.map((item) => (typeof item === 'string' ? item : JSON.stringify(item)))
    : text.split('\n');
  const given = info.multi_key_status_list ?? {};
  const statuses = isObject(given) ? given : undefined;
  return keys.flatMap((key, index) => {
    if (key.trim() === '') return [];
    // Where nobody can say which of them are switched off, all are.
    const status = statuses === undefined ? STATUS.disabled : statuses[String(index)];
    return [{ key, enabled: status === undefined || status === STATUS.enabled }];
  });
}

/** Of types for which such a key calls another gateway instead of the vendor. */
export const gatewayKeys = (row: SourceRow, keys: readonly VendorKey[]): string[] =>
  GATEWAY_KEY_TYPES.includes(readNumber(row, 'type') ?? 0) && keys.some(({ key }) => key.trim().startsWith('sk-'))
    ? ['the key of another gateway, whose address it needs']
    : [];
