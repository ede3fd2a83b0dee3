import { escapeHiddenCharacters, escapeHiddenInJson, isObject, parseJson } from '../../kernel/index.ts';

/**
 * Top-level fields that pino-pretty prints as text before the message; others it prints as JSON.
 */
const PREFIX = new Set(['level', 'time', 'msg', 'name', 'pid', 'hostname', 'caller']);
/**
 * The start of a stack frame. Other line breaks belong to the message, which may be an attacker's.
 */
const FRAME = /\n(?= {4}at |caused by: )/;

/**
 * The fields of a JSON log line, escaped for pino-pretty: no name and no value can begin a new line
 * or control the terminal.
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
