import { escapeHiddenCharacters, escapeHiddenInJson, isObject, parseJson } from '../../kernel/index.ts';

/**
 * Top-level fields that pino-pretty writes as they are, in front of the line. Others it writes as
 * JSON.
 */
const PREFIX = new Set(['level', 'time', 'msg', 'name', 'pid', 'hostname', 'caller']);
/**
 * A line of a stack begins so; other line breaks in it belong to a message, which anybody may have
 * written.
 */
const FRAME = /\n(?= {4}at |caused by: )/;

/**
 * The fields of a JSON log line as pino-pretty may write them for people: no name and no value
 * begins a line of its own, or tells the terminal anything.
 */
export function escapeFields(line: string): object {
  const fields = parseJson(line);
  if (!isObject(fields)) return { msg: escapeHiddenCharacters(line.trimEnd()) };
  const escaped = Object.entries(fields).map(([name, value]) => [
    escapeHiddenInJson(name),
    PREFIX.has(name)
      ? escapeHiddenCharacters(typeof value === 'string' ? value : JSON.stringify(value))
      : walk(name, value),
  ]);
  return Object.fromEntries(escaped);
}

function walk(name: string, value: unknown): unknown {
  if (typeof value === 'string') {
    if (name === 'stack') return value.split(FRAME).map(escapeHiddenCharacters).join('\n');
    return escapeHiddenInJson(value);
  }
  if (Array.isArray(value)) return value.map((item) => walk('', item));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [escapeHiddenInJson(key), walk(key, item)]));
}
