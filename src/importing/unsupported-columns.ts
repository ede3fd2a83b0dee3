import { parseJson } from '../kernel/index.ts';
import type { SourceRow } from '../store/index.ts';
import { readObject } from './plan-context.ts';
import { findFault, readNumber, readText } from './read-source.ts';

const CUSTOM = 8;

/** What a channel of new-api may say and a channel here cannot. */
const FOREIGN: readonly (readonly [column: string, isSet: (text: string) => boolean, what: string])[] = [
  ['param_override', isFilled, 'param_override'],
  ['status_code_mapping', isFilled, 'status_code_mapping'],
  ['open_ai_organization', (text) => text.trim() !== '', 'an organization'],
];
/** Members of its two columns of settings that change what is sent, or which way. */
const FOREIGN_MEMBERS = {
  setting: ['system_prompt', 'force_format', 'thinking_to_content', 'pass_through_body_enabled'],
  settings: ['advanced_custom', 'disable_store'],
} as const;
/** Vertex's column: here its key is that of a service account. */
const API_KEY = 'api_key';

/**
 * What keeps a channel from being enabled: settings that a channel here does not have, and those
 * that cannot be read and may be among them.
 */
export function unsupportedColumns(row: SourceRow): string[] {
  const objects = [...Object.keys(FOREIGN_MEMBERS), 'header_override'];
  const unreadable = objects.filter((column) => !isObjectOrNone(readText(row, column)));
  const broken = [...objects, ...FOREIGN.map(([column]) => column)].filter(
    (column) => findFault(row, [column]) !== undefined,
  );
  return [
    ...FOREIGN.flatMap(([column, isSet, what]) => (isSet(readText(row, column)) ? [what] : [])),
    // Its address names one endpoint, to which nothing is appended there.
    ...(readNumber(row, 'type') === CUSTOM ? ['the address of a single endpoint'] : []),
    ...foreignMembers(row, 'setting'),
    ...foreignMembers(row, 'settings'),
    ...(readObject(readText(row, 'settings')).vertex_key_type === API_KEY ? ['an API key for Vertex AI'] : []),
    ...[...new Set([...unreadable, ...broken])].map((column) => `a ${column} that cannot be read`),
  ];
}

function foreignMembers(row: SourceRow, column: keyof typeof FOREIGN_MEMBERS): string[] {
  const given = readObject(readText(row, column));
  return FOREIGN_MEMBERS[column].filter((name) => {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
    return value !== undefined && value !== null && value !== '' && value !== false && !isEmpty;
  });
}

function isFilled(text: string): boolean {
  const value = parseJson(text);
  return text.trim() !== '' && !(typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}

/** What a JSON column that new-api uses holds: an object, null or nothing. */
export function isObjectOrNone(text: string): boolean {
  if (text.trim() === '') return true;
  const value = parseJson(text);
  return value === null || (typeof value === 'object' && !Array.isArray(value));
}
