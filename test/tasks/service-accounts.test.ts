import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { parseJson } from '../../src/kernel/index.ts';
import { describeEachStore, type OpenedStore } from '../contract/each-store.ts';
import { startSandbox } from '../plugins/support.ts';
import { addCaller, type Engine, ended, jsonRequest, startEngine } from './harness.ts';

/** It tells the vendor all that its hooks know of the credential. */
const SOURCE = `
export const meta = {
  apiVersion: 1, key: 'vertexlike', name: 'Vertex-like', version: '1.0.0', author: { name: 'Tests' },
  models: ['cloud-video'], fetchMode: 'per_task', auth: { type: 'oauth2_jwt' },
};
const headers = (ctx) => ({ Authorization: ctx.authHeader, 'X-Seen': JSON.stringify(ctx) });
export function buildSubmitRequest(ctx) {
  if (ctx.authError) throw new Error(ctx.authError);
  return { url: ctx.baseUrl + '/v1/projects/' + ctx.auth.projectId + '/jobs', headers: headers(ctx), body: {} };
}
export const parseSubmitResponse = (ctx, response) => ({ taskId: response.body.name });
export const buildQueryRequest = (ctx) => ({ url: ctx.baseUrl + '/v1/jobs/' + ctx.taskId, headers: headers(ctx) });
export const parseTaskResult = (ctx, body) => ({ status: body.done ? 'SUCCESS' : 'IN_PROGRESS' });
export const listArtifacts = () => [{ key: 'video', type: 'video' }];
export const buildContentRequest = (ctx) => ({ url: ctx.baseUrl + '/v1/files/' + ctx.upstreamTaskId, headers: headers(ctx) });
`;

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});

const sandbox = startSandbox();
afterAll(() => sandbox.close());

/** A vendor with its token server. */
function startCloud() {
  const cloud = {
    url: '',
    tokens: 0,
    tokenStatus: 200,
    requests: [] as { path: string; authorization: string | null; seen: string }[],
    stop: () => Promise.resolve(),
  };
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      const { pathname: path } = new URL(request.url);
      if (path === '/token') {
        cloud.tokens += 1;
        const body = { access_token: `ya29.token-${cloud.tokens}`, expires_in: 3600 };
        return Response.json(cloud.tokenStatus === 200 ? body : { error: 'invalid_grant' }, {
          status: cloud.tokenStatus,
        });
      }
      const authorization = request.headers.get('authorization');
      cloud.requests.push({ path, authorization, seen: request.headers.get('x-seen') ?? '' });
      if (!authorization?.startsWith('Bearer ya29.token-')) return new Response('who are you', { status: 401 });
      if (path.startsWith('/v1/projects/')) return Response.json({ name: 'operation-1' });
      if (path.startsWith('/v1/files/')) return new Response('film', { headers: { 'content-type': 'video/mp4' } });
      return Response.json({ done: true });
    },
  });
  cloud.url = `http://127.0.0.1:${server.port}`;
  cloud.stop = () => server.stop(true);
  return cloud;
}

const describeChannel = (opened: () => OpenedStore) => {
  let engine: Engine;
  let cloud: ReturnType<typeof startCloud>;

  beforeAll(async () => {
    cloud = startCloud();
    engine = await startEngine(opened().store, sandbox);
    await engine.plugins.upload({ source: SOURCE });
    await engine.billing.prices.save({ pluginKey: '*', model: 'cloud-video', expression: '0.01' });
    const key = JSON.stringify({
      type: 'service_account',
      project_id: 'project-7',
      private_key: privateKey,
      client_email: 'robot@project.example',
      token_uri: `${cloud.url}/token`,
    });
    const bound = { models: ['cloud-video'], taskPluginKey: 'vertexlike', baseUrl: cloud.url, key };
    await engine.addChannel({ ...bound, name: 'cloud' });
    await engine.tasks.start();
  });
  afterAll(async () => {
    await engine.stop();
    await cloud.stop();
  });

  const submit = async () =>
    engine.tasks.submitGeneric(
      await addCaller(opened().store),
      'request',
      'vertexlike',
      jsonRequest({ model: 'cloud-video' }),
    );

  test('submits, polls and downloads with one token, and its hooks never see the key', async () => {
    const task = await ended(opened().store, (await submit()).taskId);
    expect(task.status).toBe('SUCCESS');
    const content = await engine.tasks.content(task, null, {
      requestId: 'request',
      method: 'GET',
      headers: {},
      signal: new AbortController().signal,
    });
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

  test('a key that the token server refuses: the plugin says so before anything is billed', async () => {
    const key = JSON.stringify({
      private_key: privateKey,
      client_email: 'x@y.example',
      token_uri: `${cloud.url}/token`,
    });
    const channels = await opened().store.channels.all();
    await engine.channels.update(channels.find(({ name }) => name === 'cloud')?.id ?? 0, { key }, { mayMoveKey: true });
    cloud.tokenStatus = 400;
    const sent = cloud.requests.length;
    await expect(submit()).rejects.toMatchObject({
      code: 'tasks.plugin_request_invalid',
      message: 'The token server answered 400 (invalid_grant).',
    });
    expect(cloud.requests).toHaveLength(sent);
  });
};

// A describe of its own: the engine ends before its store is closed.
describeEachStore('a channel of a service account', (opened) =>
  describe('with its token server', () => describeChannel(opened)),
);
