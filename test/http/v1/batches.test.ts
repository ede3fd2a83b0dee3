/** Batches over HTTP, by OpenAI's own client too. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import OpenAI, { toFile } from 'openai';
import { ask } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';
import { type ArtifactGateway, startArtifactGateway } from './artifact-harness.ts';

let world: ArtifactGateway;
beforeAll(async () => {
  world = await startArtifactGateway();
});
afterAll(() => world.stop());

const body = { model: 'acme-1', prompt: 'a boat' };
type Batch = { id: string; status: string; items: { status: string; task_id: string; custom_id: string }[] };

const ended = (id: string) =>
  until(async () => {
    const batch = (await world.get(`/v1/batches/${id}`, { token: world.key })).json as unknown as Batch;
    return !['validating', 'in_progress', 'cancelling'].includes(batch.status) && batch;
  });

test('requests in the body become tasks, once for one Idempotency-Key, and each tells its outcome', async () => {
  const order = () =>
    ask(`${world.url}/v1/batches`, {
      token: world.key,
      headers: { 'idempotency-key': 'batch 1' },
      body: {
        requests: [
          { plugin: 'acme', custom_id: 'one', body },
          { url: '/v1/videos', body },
        ],
      },
    });
  const [first, again] = [await order(), await order()];
  expect([first.status, again.status, again.body.id]).toEqual([200, 200, first.body.id]);
  const batch = await ended(String(first.body.id));
  expect([batch.status, batch.items.map(({ custom_id }) => custom_id)]).toEqual(['completed', ['one', 'request-2']]);
  const listed = (await world.get('/v1/batches?limit=1', { token: world.key })).json;
  expect(listed).toMatchObject({ object: 'list', data: [{ id: batch.id }], has_more: false });
  for (const { task_id } of batch.items)
    expect((await world.get(`/v1/tasks/${task_id}`, { token: world.key })).status).toBe(200);
});

test("OpenAI's client uploads a file, makes a batch of it and reads the results", async () => {
  const client = new OpenAI({ baseURL: `${world.url}/v1`, apiKey: world.key });
  const line = (custom_id: string, model = 'acme-1') =>
    JSON.stringify({ custom_id, method: 'POST', url: '/v1/videos', body: { ...body, model } });
  const content = `${line('a')}\n${line('b')}\n${line('c', 'no-such-model')}\n`;
  const file = await client.files.create({ file: await toFile(Buffer.from(content), 'in.jsonl'), purpose: 'batch' });
  expect(file).toMatchObject({ object: 'file', bytes: content.length, filename: 'in.jsonl' });
  expect(await (await client.files.content(file.id)).text()).toBe(content);
  const { id } = await client.batches.create({
    ...{ input_file_id: file.id, completion_window: '24h', metadata: { for: 'a test' } },
    endpoint: '/v1/videos',
  });
  await ended(id);
  const batch = await client.batches.retrieve(id);
  expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 3, completed: 2, failed: 1 } });
  const results = (await (await client.files.content(batch.output_file_id ?? '')).text()).trim().split('\n');
  expect(results.map((each) => JSON.parse(each))).toMatchObject([
    { custom_id: 'a', response: { status_code: 200, body: { object: 'video', status: 'completed' } }, error: null },
    { custom_id: 'b' },
  ]);
  const failures = await (await client.files.content(batch.error_file_id ?? '')).text();
  expect(JSON.parse(failures)).toMatchObject({ custom_id: 'c', response: null, error: { code: 'model_not_found' } });
  expect((await client.files.retrieve(batch.output_file_id ?? '')).purpose).toBe('batch_output');
  const kept = await client.files.delete(batch.output_file_id ?? '').catch((error) => error);
  expect([kept.status, kept.message]).toEqual([400, expect.stringContaining('delete its tasks')]);
  expect(await client.files.delete(file.id)).toMatchObject({ id: file.id, deleted: true });
  const gone = await client.batches.cancel(id).catch((error) => error);
  expect(gone.status).toBe(409);
});

test('a list of files is a page of those with the purpose that is asked for', async () => {
  const client = new OpenAI({ baseURL: `${world.url}/v1`, apiKey: world.key });
  const ids: string[] = [];
  for (const name of ['one', 'two', 'three']) {
    const content = `${JSON.stringify({ custom_id: name, method: 'POST', url: '/v1/videos', body })}\n`;
    ids.push((await client.files.create({ file: await toFile(Buffer.from(content), name), purpose: 'batch' })).id);
  }
  const first = await client.files.list({ limit: 2, order: 'asc' });
  const [earliest] = ids;
  expect([first.data.map(({ id }) => id), first.has_more]).toEqual([ids.slice(0, 2), true]);
  const rest: string[] = [];
  for await (const { id } of client.files.list({ limit: 1, order: 'asc', after: earliest })) rest.push(id);
  expect(rest).toEqual(ids.slice(1));
  expect((await client.files.list({ limit: 10_000 })).data.map(({ id }) => id)).toEqual(ids.toReversed());
  expect((await client.files.list({ purpose: 'batch_output' })).data).toEqual([]);
  const foreign = await client.files.list({ after: 'file-none' }).catch((error) => error);
  expect([foreign.status, foreign.code]).toEqual([400, 'page_not_found']);
  const deleted: string[] = [];
  for await (const { id } of client.files.list({ limit: 1 })) {
    await client.files.delete(id);
    deleted.push(id);
  }
  expect(deleted).toEqual(ids.toReversed());
});

test('a file stays as long as its client asks for, within 30 days', async () => {
  const client = new OpenAI({ baseURL: `${world.url}/v1`, apiKey: world.key, maxRetries: 0 });
  const upload = async (life: object) =>
    client.files.create({
      file: await toFile(Buffer.from(JSON.stringify({ url: '/v1/videos', body })), 'in.jsonl'),
      ...{ purpose: 'batch', expires_after: life as OpenAI.FileCreateParams.ExpiresAfter },
    });
  for (const seconds of [3600, 2_592_000]) {
    const file = await upload({ anchor: 'created_at', seconds });
    expect((file.expires_at ?? 0) - file.created_at).toBe(seconds);
  }
  for (const life of [
    { anchor: 'created_at', seconds: 3599 },
    { anchor: 'created_at', seconds: 2_592_001 },
    { anchor: 'last_active_at', seconds: 3600 },
    { seconds: 3600 },
  ]) {
    const refused = await upload(life).catch((error) => error);
    expect([life, refused.status, refused.code, refused.param]).toEqual([life, 400, 'batch_invalid', 'expires_after']);
  }
});

test('another user finds neither batch nor file; faults name the line', async () => {
  const lines = await ask(`${world.url}/v1/batches`, {
    token: world.key,
    headers: { 'content-type': 'application/jsonl' },
    body: `${JSON.stringify({ plugin: 'acme', body })}\nnot json`,
  });
  expect([lines.status, JSON.stringify(lines.body)]).toEqual([400, expect.stringContaining('line 2')]);
  for (const path of ['/v1/batches/batch_1', '/v1/files/file-1', '/v1/files/file-out-1/content', '/v1/files/..%2f'])
    expect((await world.get(path, { token: world.key })).status).toBe(404);
  expect((await world.get('/v1/batches/batch_1')).status).toBe(401);
});

test('lines that are nested to exhaust the parser are refused before they are parsed', async () => {
  const nested = `{"url":"/v1/videos","body":{"model":"acme-1","x":${'['.repeat(100_000)}${']'.repeat(100_000)}}}\n`;
  const said = await fetch(`${world.url}/v1/batches`, {
    method: 'POST',
    headers: { authorization: `Bearer ${world.key}`, 'content-type': 'application/jsonl' },
    body: nested,
  });
  expect([said.status, await said.text()]).toEqual([400, expect.stringContaining('64 levels')]);
});

test('a key whose budget is used up sends nothing, and cancels and deletes what it began', async () => {
  const used = await world.admin.call<{ key: string }>('POST', '/api/token', {
    ...{ name: 'used up', unlimited_quota: false, quota: 0 },
  });
  const codes = async (method: string, path: string) => {
    const { status, body: answer } = await ask(`${world.url}${path}`, {
      ...{ method, token: used.key },
      ...(method === 'POST' && !path.endsWith('/cancel') && { body: { requests: [{ plugin: 'acme', body }] } }),
    });
    return [status, (answer.error as { code?: string } | undefined)?.code];
  };
  for (const path of ['/v1/batches', '/v1/tasks/acme'])
    expect(await codes('POST', path)).toEqual([401, 'api_key_exhausted']);
  const missing = ['/v1/batches/batch_1/cancel', '/v1/tasks/task_1/cancel', '/v1/responses/resp_1/cancel'];
  for (const path of missing) expect([path, (await codes('POST', path))[0]]).toEqual([path, 404]);
  for (const path of ['/v1/tasks/task_1', '/v1/videos/video_1', '/v1/files/file-1'])
    expect([path, (await codes('DELETE', path))[0]]).toEqual([path, 404]);
});
