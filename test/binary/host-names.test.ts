import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync } from 'node:fs';
import { type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { runBeside } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

describe('a gateway under a host name, in a folder that others may read', () => {
  let gateway: Gateway;
  beforeAll(async () => {
    const dataDir = temporaryFolder();
    chmodSync(dataDir, 0o755);
    gateway = await startGateway({ dataDir, env: { TRUSTED_HOSTS: 'gate.lan' } });
  });
  afterAll(() => gateway.stop());

  const ask = async (path: string, host: string) => {
    const answer = await fetch(`http://127.0.0.1:${gateway.port}${path}`, { headers: { host } });
    return { status: answer.status, text: await answer.text() };
  };

  test('DNS rebinding: the panel is closed under a name that is not its own; /v1 and /livez are not', async () => {
    for (const path of ['/', '/setup', '/api/status', '/api/user/login', '/api/openapi.json']) {
      expect([path, (await ask(path, `evil.example:${gateway.port}`)).status]).toEqual([path, 403]);
    }
    expect((await ask('/metrics', `evil.example:${gateway.port}`)).status).toBe(401);
    expect((await ask('/', 'evil.example')).text).toContain('TRUSTED_HOSTS=evil.example');
    for (const host of [`localhost:${gateway.port}`, `127.0.0.1:${gateway.port}`, 'gate.lan']) {
      expect((await ask('/api/status', host)).status).toBe(200);
    }
    expect((await ask('/livez', 'evil.example')).status).toBe(200);
    expect((await ask('/v1/tasks/none', 'evil.example')).status).toBe(401);
  });

  test('a new ServerAddress is served under its name at once', async () => {
    const root = await setUp(gateway);
    expect((await ask('/api/status', 'gate.example.com')).status).toBe(403);
    await root.call('PUT', '/api/option', { key: 'ServerAddress', value: 'https://gate.example.com' });
    expect((await ask('/api/status', 'gate.example.com')).status).toBe(200);
  });

  test('the start and doctor warn of the folder, and doctor lists the names', async () => {
    expect(gateway.log()).toContain('can be read by other users: chmod 700');
    const { code, out } = await runBeside(gateway, ['doctor']);
    expect(out).toMatch(/warning {2}data_dir: .*can be read by other users/);
    expect(out).toContain('the panel answers under localhost, IP addresses');
    expect(code).toBe(0);
  });
});
