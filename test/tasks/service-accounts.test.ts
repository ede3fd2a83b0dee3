import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseJson } from '../../src/kernel/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { RULE_DATABASES } from '../support/databases.ts';
import { CLOUD_PLUGIN, type Cloud, startCloud } from '../support/service-account-cloud.ts';
import { addCaller, type Engine, ended, jsonRequest, startEngine } from './harness.ts';

const sandbox = startSandbox();
afterAll(() => sandbox.close());

const describeChannel = (opened: () => OpenedStore) => {
  let engine: Engine;
  let cloud: Cloud;

  beforeAll(async () => {
    cloud = startCloud();
    engine = await startEngine(opened().store, sandbox);
    await engine.plugins.upload({ source: CLOUD_PLUGIN });
    await engine.billing.prices.save({ pluginKey: '*', model: 'cloud-video', expression: '0.01' });
    const key = cloud.key();
    const bound = { models: ['cloud-video'], taskPluginKey: 'vertexlike', baseUrl: cloud.url, key };
    await engine.addChannel({ ...bound, name: 'cloud' });
    await engine.start();
  });
  afterAll(async () => {
    await engine.stop();
    await cloud.stop();
  });

  const submit = async () =>
    engine.surfaces.submitGeneric(await addCaller(opened().store), {
      requestId: 'request',
      pluginKey: 'vertexlike',
      request: jsonRequest({ model: 'cloud-video' }),
    });

  test('submits, polls and downloads with one token, and its hooks never see the key', async () => {
    const task = await ended(opened().store, (await submit()).taskId);
    expect(task.status).toBe('SUCCESS');
    const content = await engine.results.content(
      task,
      { variant: 'video' },
      {
        requestId: 'request',
        method: 'GET',
        headers: {},
        signal: new AbortController().signal,
      },
    );
    expect(await new Response(content.body as BodyInit).text()).toBe('film');
    expect(cloud.tokens).toBe(1);
    expect(cloud.requests.map(({ path }) => path)).toEqual([
      '/v1/projects/project-7/jobs',
      '/v1/jobs/operation-1',
      '/v1/files/operation-1',
    ]);
    for (const { authorization, seen } of cloud.requests) {
      expect(authorization).toBe('Bearer ya29.token-1');
      expect(parseJson(seen)).toMatchObject({
        authHeader: 'Bearer ya29.token-1',
        auth: { authHeader: 'Bearer ya29.token-1', projectId: 'project-7' },
      });
      expect(seen).not.toContain('PRIVATE KEY');
      expect(seen).not.toContain('"apiKey"');
    }
    expect(JSON.stringify(engine.warnings)).not.toContain('ya29');
  });

  test('a key that the token server refuses fails in the plugin before anything is billed', async () => {
    const key = cloud.key({ project_id: undefined });
    const channels = await opened().store.channels.all();
    await engine.channels.update(channels.find(({ name }) => name === 'cloud')?.id ?? 0, { key }, { mayMoveKey: true });
    cloud.tokenStatus = 400;
    const sent = cloud.requests.length;
    await expect(submit()).rejects.toMatchObject({
      code: 'tasks.plugin_request_invalid',
      message: 'The token server responded: 400 (invalid_grant).',
    });
    expect(cloud.requests).toHaveLength(sent);
  });
};

// A nested suite, so that the engine stops before its store is closed.
describeEachStore(
  'a channel of a service account',
  (opened) => describe('with its token server', () => describeChannel(opened)),
  { databases: RULE_DATABASES },
);
