import { escapeHiddenCharacters, escapeHiddenInJson, isObject, memoizeTexts, parseJson } from '../../kernel/index.ts';

/**
 * Removes credentials from log fields before a line is written. Services must not log them in the
 * first place; this is the last defence.
 */

const REDACTED = '[redacted]';

/** Compared without case, `-` and `_`: `Set-Cookie`, `api_key`, `keySealed`. */
const SECRET_NAME =
  /(?:authorization|cookie|cookies|password|passwordhash|passwd|secret|secrets|token|tokens|credential|credentials|apikey|accesskey|privatekey|secretkey|keysealed|keyhash|securityproof|dsn)$|^(?:key|pass|pat|databaseurl|redisurl)$/;

const isSecretName = memoizeTexts((name) =>
  SECRET_NAME.test(/[A-Z_-]/.test(name) ? name.toLowerCase().replace(/[-_]/g, '') : name),
);

/**
 * Each pattern keeps its first group: the name or scheme before the credential. Clients choose
 * these texts, so every pattern must run in linear time.
 */
const SECRET_TEXT: readonly RegExp[] = [
  // Query and fragment parameters that carry a credential: `access` of artifact links, `token` of
  // the set-up link, and what signs the links of buckets, which vendors quote.
  /((?:^|[?&#;\s])(?:access|[a-z_-]*(?:token|signature|password|secret)|(?:[a-z_-]*[_-]|api)?key|code|sig)=)[^&#\s"'<>]+/gi,
  /\b((?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]+/gi,
  // The flow token in the path of Telegram's return URL.
  /(\/api\/oauth\/telegram\/bind\/)(?!start\b|:)[^/?#\s"'<>]+/gi,
  // User info in a URL, up to the last of several `@`.
  /(:\/\/)[^\s/"']+(?=@)/g,
  // The gateway's own keys and access tokens, anywhere.
  /\b((?:sk-|tgp_))[A-Za-z0-9_-]{20,}/g,
  /(?<![A-Za-z0-9_-])(ey)[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}/g,
  // A database driver's error lists the values of the failed statement.
  /(\nparams: )[\s\S]*$/,
];

/** Every match of `SECRET_TEXT` contains one of these, and most texts contain none. */
const SUSPECT = /[=@]|bearer|basic|\/bind\/|sk-|tgp_|ey[a-z0-9_-]{10}|\nparams: /i;

/** Text without credentials in URLs, authorization values and our own key formats. */
export function redactText(text: string): string {
  if (!SUSPECT.test(text)) return text;
  let out = text;
  for (const pattern of SECRET_TEXT) out = out.replace(pattern, `$1${REDACTED}`);
  return out;
}

/** Deeper structures are cut off. */
const MAX_DEPTH = 6;

/**
 * A copy of log fields that is plain JSON, without credentials. Errors become `{type, message,
 * code, stack, cause}`.
 */
export function redactFields(fields: object): Record<string, unknown> {
  return walk(fields, 0) as Record<string, unknown>;
}

function walk(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object' || value === null) return value;
  if (depth >= MAX_DEPTH) return '[deeper]';
  if (value instanceof Error) return describeError(value, depth);
  if (value instanceof Headers) return walk(Object.fromEntries(value.entries()), depth);
  if (value instanceof URL) return redactText(value.href);
  if (value instanceof Date) return value.toJSON();
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.map((item) => walk(item, depth + 1));
  const fields = value as Record<string, unknown>;
  const out: Record<string, unknown> = {};
  for (const name of Object.keys(fields)) {
    const item = fields[name];
    // Numbers and flags are counts and states ("tokens": 12), never credentials.
    const isSecret = (typeof item === 'string' || (typeof item === 'object' && item !== null)) && isSecretName(name);
    out[name] = isSecret ? REDACTED : walk(item, depth + 1);
  }
  return out;
}

function describeError(error: Error, depth: number): Record<string, unknown> {
  const code = 'code' in error ? error.code : undefined;
  return {
    type: error.name,
    message: redactText(error.message),
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    ...(error.stack ? { stack: redactText(error.stack) } : {}),
    ...(error.cause === undefined ? {} : { cause: walk(error.cause, depth + 1) }),
  };
}

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
      : escapeMember(name, value),
  ]);
  return Object.fromEntries(escaped);
}

function escapeMember(name: string, value: unknown): unknown {
  if (typeof value === 'string') {
    if (name === 'stack') return value.split(FRAME).map(escapeHiddenCharacters).join('\n');
    return escapeHiddenInJson(value);
  }
  if (Array.isArray(value)) return value.map((item) => escapeMember('', item));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [escapeHiddenInJson(key), escapeMember(key, item)]),
  );
}
