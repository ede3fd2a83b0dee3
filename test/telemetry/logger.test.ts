import { describe, expect, test } from 'bun:test';
import type { Logger } from '../../src/kernel/index.ts';
import { createLogger } from '../../src/telemetry/logging/logger.ts';
import { redactFields, redactText } from '../../src/telemetry/logging/redact-fields.ts';

const SECRET = 'hunter2-hunter2-hunter2';

const capture = async (options: { level?: 'debug' | 'info'; pretty?: boolean } = {}) => {
  const lines: string[] = [];
  const logger = await createLogger({
    level: options.level ?? 'info',
    pretty: options.pretty ?? false,
    colors: false,
    destination: { write: (line: string) => void lines.push(line) },
  });
  return { logger, lines };
};

describe('lines', () => {
  test('are JSON with level, ISO time, fields and message', async () => {
    const { logger, lines } = await capture();
    logger.child({ request_id: 'r1' }).info({ status: 200 }, 'request');
    expect(JSON.parse(lines[0]!)).toMatchObject({ level: 'info', request_id: 'r1', status: 200, msg: 'request' });
    expect(JSON.parse(lines[0]!).time).toMatch(/^\d{4}-\d\d-\d\dT/);
  });
  test('below the level they are not written', async () => {
    const { logger, lines } = await capture();
    logger.debug({}, 'quiet');
    expect(lines).toEqual([]);
  });
  test('are readable in the pretty form, and redacted too', async () => {
    const { logger, lines } = await capture({ pretty: true });
    logger.warn({ password: SECRET, n: 1 }, 'careful');
    expect(lines.join('')).toContain('careful');
    expect(lines.join('')).not.toContain(SECRET);
  });
});

describe('log injection: a value from a client forges no line and controls no terminal', () => {
  const HOSTILE = 'x\n[12:00:00.000] INFO: forged\r\u001b[2J\u007f\u009b31m\u2028\u2029\u202e\u2066';
  const HOSTILE_CHARACTER =
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for them
    /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
  const cause = new Error(HOSTILE);
  const rows: [what: string, write: (logger: Logger) => void][] = [
    ['message', (logger) => logger.warn({}, HOSTILE)],
    ['value', (logger) => logger.warn({ path: HOSTILE }, 'm')],
    ['field name', (logger) => logger.warn({ [HOSTILE]: 1 }, 'm')],
    ['nested value', (logger) => logger.warn({ a: { b: [HOSTILE] } }, 'm')],
    ['nested field name', (logger) => logger.warn({ a: { [HOSTILE]: { [HOSTILE]: 1 } } }, 'm')],
    ["child's field", (logger) => logger.child({ [HOSTILE]: HOSTILE }).warn({}, 'm')],
    ['time and level', (logger) => logger.child({ time: HOSTILE, level: HOSTILE, msg: HOSTILE }).warn({}, 'm')],
    ['error with a cause', (logger) => logger.warn({ err: new Error(HOSTILE, { cause }) }, 'm')],
    ['code of an error', (logger) => logger.warn({ err: Object.assign(new Error('e'), { code: HOSTILE }) }, 'm')],
  ];
  test.each(rows)('pretty: %s', async (_what, write) => {
    const { logger, lines } = await capture({ pretty: true });
    write(logger);
    const text = lines.join('');
    expect(text).toContain('forged');
    expect(text).not.toMatch(HOSTILE_CHARACTER);
    // Every line but the first is indented.
    for (const line of text.trimEnd().split('\n').slice(1)) expect(line).toMatch(/^ {4}/);
  });
  test.each(rows)('JSON: %s', async (_what, write) => {
    const { logger, lines } = await capture();
    write(logger);
    expect(lines).toHaveLength(1);
    expect(lines[0]?.trimEnd()).not.toMatch(HOSTILE_CHARACTER);
    expect(lines[0]?.trimEnd()).not.toContain('\n');
    expect(JSON.stringify(JSON.parse(lines[0]!))).toContain('forged');
  });
});

describe('credentials never reach a line', () => {
  const rows: [what: string, fields: object][] = [
    ['authorization header', { headers: { Authorization: `Bearer ${SECRET}` } }],
    ['cookie header', { headers: { cookie: `svc_refresh=${SECRET}` } }],
    ['set-cookie header list', { headers: { 'Set-Cookie': [`svc_refresh=${SECRET}`] } }],
    ['Headers object', { headers: new Headers({ authorization: SECRET }) }],
    ['password', { body: { password: SECRET } }],
    ['access_token', { access_token: SECRET }],
    ['refreshToken', { refreshToken: SECRET }],
    ['flow_token', { flow_token: SECRET }],
    ['client_secret', { client_secret: SECRET }],
    ['cryptoSecrets list', { cryptoSecrets: [SECRET] }],
    ['key', { channel: { key: SECRET } }],
    ['apiKey', { apiKey: SECRET }],
    ['x-api-key', { 'x-api-key': SECRET }],
    ['X-Security-Proof', { 'X-Security-Proof': SECRET }],
    ['access query', { url: `/v1/tasks/t/artifacts/a/content?access=${SECRET}&x=1` }],
    ['access query in a URL object', { url: new URL(`http://h/c?access=${SECRET}`) }],
    ['set-up link', { url: `http://localhost:3000/setup#token=${SECRET}` }],
    ['database URL', { at: `postgres://user:${SECRET}@db/x` }],
    ['return address of a sign-in', { path: `/api/oauth/telegram/bind/${SECRET}` }],
    ['JWT in a text', { note: `got eyJhbGciOiJIUzI1NiJ9.${SECRET}.${SECRET}` }],
    ['bearer in a text', { note: `sent Bearer ${SECRET} to it` }],
    ['personal access token in a text', { note: `tgp_${SECRET}${SECRET}` }],
    ['API key in a text', { note: `sk-${SECRET}${SECRET}${SECRET}` }],
    ['signed link of a bucket', { words: `no image at https://b.s3.aws/x?X-Amz-Date=1&X-Amz-Signature=${SECRET}` }],
    ['signed link of Azure', { words: `https://a.blob.core.windows.net/x?sv=2&sig=${SECRET}` }],
    ['key in a query', { words: `GET https://vendor.example/v1?api_key=${SECRET}&apikey=${SECRET}` }],
    ['password with an @', { words: `postgres://user:p@${SECRET}@host/name refused` }],
    ['error message', { err: new Error(`GET /x?access=${SECRET}`) }],
    ['error cause', { err: new Error('failed', { cause: new Error(`Bearer ${SECRET}`) }) }],
    ["database driver's parameters", { err: new Error(`Failed query: select\nparams: ${SECRET}`) }],
    ['deep inside', { a: { b: [{ c: { token: SECRET } }] } }],
  ];
  test.each(rows)('%s', async (_, fields) => {
    const { logger, lines } = await capture();
    logger.info(fields, 'line');
    logger.child(fields).info({}, 'line');
    expect(lines).toHaveLength(2);
    expect(lines.join('')).not.toContain(SECRET);
  });
  test('in the message itself', async () => {
    const { logger, lines } = await capture();
    logger.info({}, `GET /content?access=${SECRET}`);
    expect(lines.join('')).not.toContain(SECRET);
  });
});

test('text that is not a credential is kept', () => {
  expect(redactFields({ tokens: 12, plugin: 'demo', has_password: true, path: '/v1/tasks?page=2&access=x' })).toEqual({
    tokens: 12,
    plugin: 'demo',
    has_password: true,
    path: '/v1/tasks?page=2&access=[redacted]',
  });
  expect(redactText('monkey=3 stays, https://h/p stays')).toBe('monkey=3 stays, https://h/p stays');
});

test.each(['a.', 'a-', 'ey-', 'eyJ-', ';token', 'a://b', 'Bearer ', 'sk-', '\nparams: '])(
  'slow patterns: a long run of %j costs no more than its length',
  (unit) => {
    const text = unit.repeat(300_000 / unit.length);
    const before = process.cpuUsage();
    redactText(text);
    // A quadratic pattern took 12 seconds.
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(1000);
  },
);

test('a circular structure is cut off', () => {
  const loop: Record<string, unknown> = {};
  loop.self = loop;
  expect(JSON.stringify(redactFields(loop))).toContain('[deeper]');
});
