/**
 * Two gateways on one PostgreSQL: an option that root sets on one applies on the other at once, and
 * secrets are stored encrypted.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openRaw } from '../../contract/open-raw.ts';
import { type Gateway, ROOT, setUp, startGateway } from '../../support/gateway.ts';
import { migratedDatabaseUrl } from '../../support/migrated-database.ts';
import { proofHeader } from '../../support/security-proof.ts';
import { until } from '../../support/until.ts';

const CLEAR = 'never-to-be-seen-again';

let databaseUrl: string;
let nodes: Gateway[];
let token: string;
let proof: Record<string, string> = {};

beforeAll(async () => {
  databaseUrl = await migratedDatabaseUrl();
  // Long enough that the periodic reload does not interfere.
  const options = { databaseUrl, env: { SYNC_FREQUENCY: '600' } };
  const first = await startGateway(options);
  nodes = [first, await startGateway(options)];
  await setUp(first);
  const login = await ask(0, '/api/user/login', { method: 'POST', body: { ...ROOT } });
  token = String(login.data.access_token);
  proof = await proofHeader({ url: first.url, token, password: ROOT.password });
});
afterAll(async () => {
  for (const node of nodes ?? []) await node.stop();
});

async function ask(node: number, path: string, { method = 'GET', body }: { method?: string; body?: unknown } = {}) {
  const response = await fetch(`http://127.0.0.1:${nodes[node]?.port}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...proof, ...(token ? { authorization: `Bearer ${token}` } : {}) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: answers are compared field by field
  return (await response.json()) as { success: boolean; data: any };
}

test('one change of several options appears in the status of both nodes', async () => {
  const options = [
    { key: 'SystemName', value: 'Ours' },
    { key: 'TelegramBotName', value: 'gate_bot' },
    { key: 'TelegramBotToken', value: CLEAR },
    { key: 'TelegramOAuthEnabled', value: 'true' },
  ];
  expect((await ask(0, '/api/option', { method: 'PUT', body: { options } })).success).toBe(true);
  const expected = {
    system_name: 'Ours',
    telegram_oauth: true,
    telegram_bot_name: 'gate_bot',
    register_enabled: false,
  };
  expect((await ask(0, '/api/status')).data).toMatchObject(expected);
  await until(async () => (await ask(1, '/api/status')).data.telegram_oauth === true);
  expect((await ask(1, '/api/status')).data).toMatchObject(expected);

  const listed = await ask(1, '/api/option');
  expect(JSON.stringify(listed)).not.toContain(CLEAR);
  expect(listed.data.find(({ key }: { key: string }) => key === 'TelegramBotToken')).toMatchObject({ value: '***' });
  const raw = openRaw({ databaseUrl, dataDir: '' });
  const stored = JSON.stringify([
    ...(await raw.rows('select * from options')),
    ...(await raw.rows('select * from audit_logs')),
  ]);
  await raw.close();
  expect(stored).toContain('option:TelegramBotToken');
  expect(stored).not.toContain(CLEAR);

  await ask(1, '/api/option', { method: 'PUT', body: { key: 'TelegramOAuthEnabled', value: 'false' } });
  await until(async () => (await ask(0, '/api/status')).data.telegram_oauth === false);
});
