/**
 * A channel whose credential is a service account's key: the executable exchanges it for a token,
 * and the key stays where it is.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RULE_DATABASES } from '../support/databases.ts';
import { type Administrator, ask, type Gateway, setUp, startGateway } from '../support/gateway.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { CLOUD_PLUGIN, type Cloud, startCloud } from '../support/service-account-cloud.ts';
import { until } from '../support/until.ts';

for (const dialect of RULE_DATABASES) {
  describe(`a service account on the executable, on ${dialect}`, () => {
    let gateway: Gateway;
    let cloud: Cloud;
    let admin: Administrator;
    let token: string;
    let channelId: number;

    beforeAll(async () => {
      cloud = startCloud();
      const database = dialect === 'postgres' ? { databaseUrl: await migratedDatabaseUrl() } : {};
      gateway = await startGateway({ ...database, env: { DEBUG: 'true', LOG_LEVEL: 'debug' } });
      admin = await setUp(gateway);
      await admin.call('POST', '/api/plugin/task', { source: CLOUD_PLUGIN });
      await admin.call('PUT', '/api/price', { plugin_key: '*', model: 'cloud-video', expression: '0.01' });
      const channel = await admin.call<{ id: number }>('POST', '/api/channel', {
        ...{ name: 'cloud', type: 61, task_plugin_key: 'vertexlike', models: ['cloud-video'] },
        ...{ base_url: cloud.url, key: cloud.key() },
      });
      channelId = channel.id;
      token = await admin.createKey();
    });
    afterAll(async () => {
      await gateway?.kill();
      await cloud?.stop();
    });

    const submit = () =>
      ask(`${gateway.url}/v1/tasks/vertexlike`, { method: 'POST', token, body: { model: 'cloud-video' } });
    /** No answer shows the key, and no log a token. */
    const keepsSecrets = () => {
      const log = gateway.log();
      for (const line of [...cloud.secretLines, 'ya29.token']) expect(log).not.toContain(line);
      if (dialect !== 'sqlite') return;
      for (const name of readdirSync(gateway.dataDir).filter((entry) => entry.startsWith('taskgate.db'))) {
        const bytes = readFileSync(join(gateway.dataDir, name), 'latin1');
        for (const line of cloud.secretLines) expect([name, bytes.includes(line)]).toEqual([name, false]);
      }
    };

    test('gets a token with its signature, and calls the vendor with that alone', async () => {
      const submitted = await submit();
      expect([submitted.status, submitted.body.model]).toEqual([200, 'cloud-video']);
      const id = String(submitted.body.id);
      const task = `${gateway.url}/v1/tasks/${id}`;
      await until('the task has succeeded', async () => (await ask(task, { token })).body.status === 'SUCCESS');
      const film = await fetch(`${task}/artifacts/video/content`, { headers: { authorization: `Bearer ${token}` } });
      expect([film.status, await film.text()]).toEqual([200, 'film']);
      expect(cloud.tokens).toBe(1);
      expect(cloud.requests.map(({ path }) => path)).toEqual([
        '/v1/projects/project-7/jobs',
        '/v1/jobs/operation-1',
        '/v1/files/operation-1',
      ]);
      for (const { authorization, seen } of cloud.requests) {
        expect(authorization).toBe('Bearer ya29.token-1');
        expect(seen).not.toContain('PRIVATE KEY');
      }
      const shown = JSON.stringify([
        await admin.call('GET', '/api/channel'),
        await admin.call('GET', `/api/task/${id}`),
      ]);
      for (const line of cloud.secretLines) expect(shown).not.toContain(line);
      keepsSecrets();
    });

    test('a refused or malformed key is reported to the caller, and nothing of it is shown', async () => {
      cloud.tokenStatus = 400;
      const wrong = cloud.key({ project_id: 'another' });
      await admin.call('PUT', `/api/channel/${channelId}`, { key: wrong });
      const refused = await submit();
      expect([refused.status, JSON.stringify(refused.body)]).toEqual([400, expect.stringContaining('invalid_grant')]);
      await admin.call('PUT', `/api/channel/${channelId}`, { key: JSON.stringify({ private_key: wrong }) });
      const broken = await submit();
      expect(broken.status).toBe(400);
      const answers = JSON.stringify([refused.body, broken.body]);
      for (const line of cloud.secretLines) expect(answers).not.toContain(line);
      keepsSecrets();
    });
  });
}
