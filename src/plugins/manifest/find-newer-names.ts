import type { Meta } from '../../../contracts/v1.d.ts';
import schema from '../../../contracts/v1.schema.json' with { type: 'json' };
import { isObject } from '../../kernel/index.ts';
import { pointer } from './faults.ts';
import { canonicalProtocol } from './protocol-aliases.ts';

type Properties = Readonly<Record<string, object>>;

const namesSince = (properties: Properties): string[] =>
  Object.entries(properties).flatMap(([name, property]) => ('x-since' in property ? [name] : []));

const OF_META = namesSince(schema.properties as Properties);
const OF_ROUTE = namesSince(schema.$defs.Route.properties as Properties);
const OF_FIELD = namesSince(schema.$defs.UsageField.properties as Properties);

/**
 * Pointers to what a manifest has that the first version of the contract did not: hosts that know
 * only that version refuse the plugin for it.
 */
export function findNewerNames(meta: Meta): string[] {
  const within = (value: unknown, names: readonly string[], at: string): string[] =>
    isObject(value) ? names.filter((name) => Object.hasOwn(value, name)).map((name) => at + pointer(name)) : [];
  return [
    ...within(meta, OF_META, ''),
    ...Object.entries(meta.usageSchema ?? {}).flatMap(([name, field]) =>
      within(field, OF_FIELD, pointer('usageSchema', name)),
    ),
    ...(meta.routes ?? []).flatMap((route, index) => within(route, OF_ROUTE, pointer('routes', index))),
    ...(meta.protocols ?? []).flatMap((entry, index) =>
      canonicalProtocol(typeof entry === 'string' ? entry : entry.name) === 'proto_image'
        ? [pointer('protocols', index)]
        : [],
    ),
  ];
}
