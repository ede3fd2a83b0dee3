/** What a second click would create again is created once, by the request's Idempotency-Key. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { PanelPrincipal } from '../../../src/auth/index.ts';
import {
  type AnswerOnce,
  createAnswerOnce,
  type RequestKeys,
  type TakenKey,
} from '../../../src/http/panel-api/idempotent-answers.ts';
import { httpErrors } from '../../../src/http/responses/errors.ts';
import { type AppError, sha256Hex, systemClock } from '../../../src/kernel/index.ts';
import { taskErrors } from '../../../src/tasks/index.ts';
import { openBackdoor } from '../../support/backdoor.ts';
import { PASSWORD } from '../../support/cheap-hash.ts';
import { openPanel, type PanelCaller } from './panel-caller.ts';

let panel: PanelCaller;
let token = '';
beforeAll(async () => {
  panel = await openPanel();
  token = (await panel.logIn('root')).token;
});
afterAll(() => panel.gateway.stop());

type Asked = { body: object; key: string; as?: string };

async function post(path: string, { body, key, as = token }: Asked) {
  const response = await fetch(`${panel.gateway.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(body),
  });
  const { headers, status } = response;
  const json = (await response.json()) as { code?: string; data: { id: number; key?: string } };
  return { status, replayed: headers.get('idempotent-replayed') === 'true', json };
}

const channel = {
  name: 'twice',
  type: 1,
  key: 'sk-secret-of-vendor',
  base_url: 'https://vendor.example',
  models: ['m'],
};
const creations: [path: string, body: object][] = [
  ['/api/token', { name: 'twice' }],
  ['/api/channel', channel],
  ['/api/user', { username: 'twice', password: PASSWORD }],
];

test.each(creations)('double click: of twenty posts to %s with one key, one creates', async (path, body) => {
  const count = async () => Number((await panel.send(path, { token })).json.data.total);
  const before = await count();
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(path, { body, key: `once ${path}` })));
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
  expect(new Set(answers.map(({ json }) => JSON.stringify(json.data))).size).toBe(1);
  expect(await count()).toBe(before + 1);
  const other = await post(path, { body: { ...body, name: 'other' }, key: `once ${path}` });
  expect([other.status, other.json.code]).toEqual(
    path === '/api/user' ? [400, expect.any(String)] : [409, 'IDEMPOTENCY_KEY_REUSED'],
  );
});

test('a refused creation leaves its key free, and another user’s key is another one', async () => {
  const key = 'a key of two people';
  const refused = await post('/api/token', { body: { name: '' }, key });
  expect(refused.status).toBe(400);
  const first = await post('/api/token', { body: { name: 'mine' }, key });
  panel.addUser('somebody', 1);
  const as = (await panel.logIn('somebody')).token;
  const second = await post('/api/token', { body: { name: 'mine' }, key, as });
  expect([first.status, second.status, second.replayed]).toEqual([200, 200, false]);
  expect(second.json.data.id).not.toBe(first.json.data.id);
});

test('another node, or the same one after a restart, does not do it again and says so', async () => {
  const taken = new Map<string, TakenKey>();
  const keys: RequestKeys = {
    take: async ({ at: _, ...record }) => {
      if (taken.has(record.key)) return false;
      taken.set(record.key, record);
      return true;
    },
    find: async (_userId, key) => taken.get(key),
    free: async (_userId, taskId) => {
      for (const [key, record] of taken) if (record.taskId === taskId) taken.delete(key);
    },
  };
  let done = 0;
  const ask = async (once: AnswerOnce, body: object, fails?: Error) => {
    const request = new Request('http://gateway.test/api/token', { headers: { 'idempotency-key': 'k' } });
    const asked = { panel: { user: { id: 7 } } as PanelPrincipal, request, body, set: { headers: {} } };
    return once(asked, async () => {
      if (fails) throw fails;
      done += 1;
      return done;
    }).catch((error: AppError) => error.code);
  };
  const node = () => createAnswerOnce({ keys, digest: sha256Hex, clock: systemClock });
  expect(await ask(node(), {}, taskErrors.invalid_idempotency_key())).toBe('tasks.invalid_idempotency_key');
  const first = node();
  expect([await ask(first, {}), await ask(first, {})]).toEqual([1, 1]);
  expect(await ask(node(), {})).toBe('http.request_repeated');
  expect(await ask(node(), { other: true })).toBe('tasks.idempotency_key_reused');
  taken.clear();
  // The work may have been done: nobody knows.
  expect(await ask(node(), {}, httpErrors.internal())).toBe('http.internal');
  expect(await ask(node(), {})).toBe('http.request_repeated');
});

test('what is kept of a new account’s request is no digest by which its password could be guessed', async () => {
  const body = { username: 'guessed', password: PASSWORD };
  expect((await post('/api/user', { body, key: 'kept' })).status).toBe(200);
  const backdoor = openBackdoor(panel.gateway);
  const rows = await backdoor.run("select request_hash from idempotency_keys where key = 'panel:kept'");
  await backdoor.close();
  const unkeyed = sha256Hex(`POST /api/user ${JSON.stringify(body)}`);
  expect(rows).toEqual([{ request_hash: expect.stringMatching(/^[0-9a-f]{64}$/) }]);
  expect(rows[0]?.request_hash).not.toBe(unkeyed);
});
