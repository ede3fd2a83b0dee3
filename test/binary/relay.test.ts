import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import OpenAI, { toFile } from 'openai';
import { freePort } from '../support/free-port.ts';
import { type Administrator, ask, type Gateway, setUp, signIn, startGateway } from '../support/gateway.ts';
import { EVENTS, type RelayVendor, startRelayVendor, VIDEO } from '../support/relay-vendor.ts';
import { runBeside } from '../support/run-command.ts';
import { until } from '../support/until.ts';

/** 0.04 USD. */
const BILL = 20_000;
const SECOND = 50_000;

describe('the relay of the executable', () => {
  let gateway: Gateway;
  let options: Parameters<typeof startGateway>[0];
  let vendor: RelayVendor;
  let admin: Administrator;
  let key: string;
  let client: OpenAI;

  beforeAll(async () => {
    vendor = await startRelayVendor();
    options = { port: await freePort() };
    gateway = await startGateway(options);
    options.dataDir = gateway.dataDir;
    admin = await setUp(gateway);
    await admin.call('POST', '/api/channel', {
      name: 'relay',
      type: 1,
      key: vendor.key,
      base_url: vendor.url,
      models: ['gpt-x', 'vid-x', 'demo-video'],
      model_mapping: { 'gpt-x': 'gpt-real' },
    });
    await admin.call('PUT', '/api/price', { plugin_key: '*', model: 'gpt-x', expression: '0.04' });
    await admin.call('PUT', '/api/price', { plugin_key: '*', model: 'vid-x', expression: '0.1 * u("seconds")' });
    key = await admin.createKey();
    client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  });
  afterAll(async () => {
    await gateway?.stop();
    await vendor?.stop();
  });

  const paid = async (work: () => Promise<unknown>): Promise<number> => {
    const before = await admin.quota();
    await work();
    return before - (await admin.quota());
  };
  const readError = (promise: Promise<unknown>) =>
    promise.then(
      () => undefined,
      (error: unknown) => error,
    );

  test('a video has its price and our link, which needs no key, and not the vendor’s', async () => {
    const path = '/v1/video/generations';
    const order = { model: 'vid-x', prompt: 'linked', duration: 4, width: 1280, height: 720 };
    const made = await ask(`${gateway.url}${path}`, { token: key, body: order });
    const cost = { reserved: 0.4, charged: 0.4, currency: 'USD', usd: 0.4 };
    const flat = { model: 'vid-x', metadata: { duration: 4, width: 1280, height: 720 }, error: null, cost };
    expect([made.status, made.body]).toMatchObject([200, { ...flat, status: 'queued', url: null }]);
    const { body } = await ask(`${gateway.url}${path}/${made.body.id}`, { method: 'GET', token: key });
    expect(body).toMatchObject({ ...flat, status: 'completed', progress: 100 });
    const { body: video } = await ask(`${gateway.url}/v1/videos/${made.body.id}`, { method: 'GET', token: key });
    expect(video).toMatchObject({ content_url: body.url, url: body.url, seconds: '4', size: '1280x720', cost });
    const { pathname, search } = new URL(String(body.url));
    const fetched = (address: string, init: RequestInit = {}) => fetch(`${gateway.url}${address}`, init);
    const film = await fetched(pathname + search);
    expect([film.status, film.headers.get('content-type')]).toEqual([200, 'video/mp4']);
    expect(new Uint8Array(await film.arrayBuffer())).toEqual(VIDEO);
    const part = await fetched(pathname + search, { headers: { range: 'bytes=1-2' } });
    expect([part.status, new Uint8Array(await part.arrayBuffer())]).toEqual([206, VIDEO.slice(1, 3)]);
    expect((await fetched(pathname + search, { method: 'HEAD' })).status).toBe(200);
    // With a key the vendor's id leads to it, as ever.
    const byKey = await fetched(`/v1/videos/${made.body.id}/content`, { headers: { authorization: `Bearer ${key}` } });
    expect(byKey.status).toBe(200);
    const other = await ask(`${gateway.url}/v1/videos`, { token: key, body: { model: 'vid-x', seconds: '4' } });
    for (const address of [
      pathname,
      `${pathname}?access=${'a'.repeat(43)}`,
      `/v1/videos/${made.body.id}/content${search}`,
      `/v1/videos/${other.body.id}/content${search}`,
      `${pathname.replace('/videos/', '/tasks/').replace(/content$/, 'artifacts/video/content')}${search}`,
    ])
      expect([address, (await fetched(address)).status]).toEqual([address, address === pathname ? 401 : 404]);
    await ask(`${gateway.url}/v1/videos/${made.body.id}`, { method: 'DELETE', token: key });
    expect((await fetched(pathname + search)).status).toBe(404);
  });

  test('revocation and a disabled owner end the links of relayed videos', async () => {
    const id = await admin.createUser({ username: 'maker', quota: 10_000_000 });
    const maker = await signIn(gateway.url, { username: 'maker' });
    const token = await maker.createKey();
    const { body: made } = await ask(`${gateway.url}/v1/videos`, { token, body: { model: 'vid-x', seconds: '4' } });
    const readLink = async () => {
      const { body } = await ask(`${gateway.url}/v1/videos/${made.id}`, { method: 'GET', token });
      const { pathname, search } = new URL(String(body.url));
      return `${gateway.url}${pathname}${search}`;
    };
    const [first, status] = [await readLink(), async (link: string) => (await fetch(link)).status];
    expect(await status(first)).toBe(200);
    await maker.call('POST', '/api/user/links/revoke');
    const second = await readLink();
    expect([await status(first), await status(second)]).toEqual([404, 200]);
    await admin.call('POST', '/api/user/manage', { id, action: 'disable' });
    expect(await status(second)).toBe(404);
  });

  test('the official client makes, reads, streams, continues, cancels and deletes responses', async () => {
    const spent = await paid(async () => {
      const made = await client.responses.create({ model: 'gpt-x', input: 'hello' });
      expect(made).toMatchObject({ object: 'response', model: 'gpt-real', status: 'completed' });
      expect(await client.responses.retrieve(made.id)).toMatchObject({ id: made.id });
      // The vendor streams whenever its address has this flag.
      expect(await client.responses.retrieve(made.id, { stream: false })).toMatchObject({ id: made.id });
      const { data } = await client.responses.inputItems.list(made.id, { limit: 5 });
      expect(data).toMatchObject([{ role: 'user', content: 'hello' }]);
      expect(vendor.requests.at(-1)).toMatchObject({ path: `/v1/responses/${made.id}/input_items`, query: '?limit=5' });
      const types: string[] = [];
      const stream = await client.responses.create({
        model: 'gpt-x',
        input: 'go on',
        previous_response_id: made.id,
        stream: true,
      });
      for await (const event of stream) types.push(event.type);
      expect(types).toEqual([...EVENTS]);
      expect(vendor.requests.at(-1)?.body).toMatchObject({ model: 'gpt-real', previous_response_id: made.id });
      expect(await client.responses.cancel(made.id)).toMatchObject({ status: 'cancelled' });
      await client.responses.delete(made.id);
      expect(await readError(client.responses.retrieve(made.id))).toBeInstanceOf(OpenAI.NotFoundError);
    });
    expect(spent).toBe(2 * BILL);
  });

  test('the official client makes a video from a file, polls and downloads it', async () => {
    const model = 'vid-x' as OpenAI.VideoCreateParams['model'];
    const image = await toFile(new Uint8Array(100_000), 'start.png', { type: 'image/png' });
    const spent = await paid(async () => {
      const made = await client.videos.create({ model, prompt: 'a cat', seconds: '4', input_reference: image });
      expect(made).toMatchObject({ object: 'video', status: 'queued', model: 'vid-x' });
      expect(vendor.requests.at(-1)?.body).toMatchObject({ input_reference: 'start.png:image/png:100000' });
      expect(await client.videos.retrieve(made.id)).toMatchObject({ status: 'completed', progress: 100 });
      const content = await client.videos.downloadContent(made.id);
      expect(new Uint8Array(await content.arrayBuffer())).toEqual(VIDEO);

      const address = `${gateway.url}/v1/videos/${made.id}/content`;
      const authorization = `Bearer ${key}`;
      const part = await fetch(address, { headers: { authorization, range: 'bytes=5-9' } });
      expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 5-9/3000']);
      expect(part.headers.get('content-security-policy')).toContain('sandbox');
      const head = await fetch(address, { method: 'HEAD', headers: { authorization } });
      expect([head.status, head.headers.get('content-length')]).toEqual([200, '3000']);
      await client.videos.delete(made.id);
    });
    expect(spent).toBe(4 * SECOND);
  });

  test('the official client remixes a relayed video, billed as its original', async () => {
    const model = 'vid-x' as OpenAI.VideoCreateParams['model'];
    const made = await client.videos.create({ model, prompt: 'a cat', seconds: '4' });
    const spent = await paid(async () => {
      const remix = await client.videos.remix(made.id, { prompt: 'a dog' });
      expect(remix).toMatchObject({ remixed_from_video_id: made.id, seconds: '4' });
      expect(await client.videos.retrieve(remix.id)).toMatchObject({ status: 'completed' });
      expect(vendor.requests.find(({ path }) => path.endsWith('/remix'))?.body).toEqual({ prompt: 'a dog' });
    });
    expect(spent).toBe(4 * SECOND);
    const body = { prompt: 'a dog', model: 'gpt-x', seconds: 8 };
    const address = `${gateway.url}/v1/videos/${made.id}/remix`;
    expect(await paid(() => ask(address, { token: key, body }))).toBe(8 * SECOND);
    expect(vendor.requests.at(-1)?.body).toEqual({ prompt: 'a dog', seconds: 8 });
    const edit = { prompt: 'a fox', video: { id: made.id } };
    expect(await paid(() => ask(`${gateway.url}/v1/videos/edits`, { token: key, body: edit }))).toBe(4 * SECOND);
    expect(vendor.requests.at(-1)?.body).toEqual({ prompt: 'a fox' });
    for (const [path, shorter] of [
      ['edits', { ...edit, seconds: 1 }],
      [`${made.id}/remix`, { prompt: 'a fox', seconds: '1' }],
    ])
      expect(await paid(() => ask(`${gateway.url}/v1/videos/${path}`, { token: key, body: shorter }))).toBe(4 * SECOND);
    const narrow = await admin.createKey({ models: ['gpt-x'] });
    expect((await ask(address, { token: narrow, body })).status).toBe(403);
  });

  test('the official client remixes a video of a plugin that knows remixes', async () => {
    await admin.createChannel(vendor.url, { key: vendor.key, models: ['sora-2'], task_plugin_key: 'sora' });
    const price = '0.1 * u("seconds")';
    await admin.call('PUT', '/api/price', { plugin_key: 'sora', model: 'sora-2', expression: price });
    const made = await client.videos.create({ model: 'sora-2', prompt: 'a cat', seconds: '8' });
    const early = (await readError(client.videos.remix(made.id, { prompt: 'a dog' }))) as InstanceType<
      typeof OpenAI.APIError
    >;
    expect([early.status, early.message]).toEqual([400, expect.stringContaining('Only a finished video')]);
    await until(async () => (await client.videos.retrieve(made.id)).status === 'completed');
    const spent = await paid(async () => {
      const remix = await client.videos.remix(made.id, { prompt: 'a dog' });
      expect(remix).toMatchObject({ object: 'video', remixed_from_video_id: made.id, prompt: 'a dog' });
      expect(vendor.requests.filter(({ method }) => method === 'POST').at(-1)?.body).toEqual({ prompt: 'a dog' });
      await until(async () => (await client.videos.retrieve(remix.id)).status === 'completed');
    });
    expect(spent).toBe(8 * SECOND);
  });

  test('a plugin that declares the relay’s channel type has its own models there, and the relay the others', async () => {
    await admin.call('PUT', '/api/price', {
      plugin_key: 'sora',
      model: 'sora-2-pro',
      expression: '0.1 * u("seconds")',
    });
    const id = await admin.createChannel(vendor.url, {
      ...{ name: 'openai', type: 1, key: vendor.key, models: ['sora-2-pro', 'gpt-x'], task_plugin_key: undefined },
    });
    const spent = await paid(async () => {
      const made = await client.videos.create({ model: 'sora-2-pro', prompt: 'a cat', seconds: '8' });
      expect(made.id).toStartWith('task_');
      await until(async () => (await client.videos.retrieve(made.id)).status === 'completed');
    });
    expect(spent).toBe(8 * SECOND);
    const steps = await admin.call<{ steps: { name: string; ok: boolean }[] }>('POST', `/api/channel/${id}/test`);
    expect(steps.steps.map(({ name, ok }) => `${name} ${ok}`)).not.toContainEqual(expect.stringContaining('plugin'));
    expect(vendor.requests.at(-1)?.path).toBe('/v1/models');
    const said = await client.responses.create({ model: 'gpt-x', input: 'hello' });
    expect(said.status).toBe('completed');
    await admin.call('DELETE', `/api/channel/${id}`);
  });

  test('the official client reads, continues and deletes what a vendor named in any way', async () => {
    for (const id of ['a+b/c==', ' |é/../% ', `resp_${'bGl0ZWxsbQ=/'.repeat(25)}`]) {
      const named = `named ${JSON.stringify(id)}`;
      const made = await client.responses.create({ model: 'gpt-x', input: 'hello', user: named });
      expect(made.id).toBe(id);
      expect(await client.responses.retrieve(id)).toMatchObject({ id, status: 'completed' });
      expect((await client.responses.inputItems.list(id)).data).toMatchObject([{ content: 'hello' }]);
      await client.responses.create({ model: 'gpt-x', input: 'go on', previous_response_id: id });
      await client.responses.delete(id);
      const body = { model: 'vid-x', prompt: named, seconds: 2 };
      expect((await ask(`${gateway.url}/v1/videos`, { token: key, body })).body).toMatchObject({ id });
      expect(await client.videos.retrieve(id)).toMatchObject({ id });
      const content = await client.videos.downloadContent(id);
      expect((await content.arrayBuffer()).byteLength).toBe(VIDEO.byteLength);
      const remix = await client.videos.remix(id, { prompt: 'a' });
      expect(remix).toMatchObject({ remixed_from_video_id: id });
      await client.videos.delete(id);
    }
    const prompt = 'named 7615917337495251231';
    // The document says that ids are text: clients made from it could not use two types.
    const made = await Bun.fetch(`${gateway.url}/v1/videos`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'vid-x', prompt, seconds: 2 }),
    });
    expect(await made.text()).toContain('"id":7615917337495251231');
    const read = await ask(`${gateway.url}/v1/videos/7615917337495251231/content`, { token: key });
    expect(read.status).toBe(200);
  });

  test('the vendor’s errors have the client’s classes and show nothing of the channel', async () => {
    const rows: [play: string, kind: new (...args: never[]) => Error, status: number][] = [
      ['400', OpenAI.BadRequestError, 400],
      ['429', OpenAI.RateLimitError, 429],
      ['500', OpenAI.InternalServerError, 500],
      ['401', OpenAI.InternalServerError, 502],
    ];
    for (const [play, kind, status] of rows) {
      const body = { model: 'gpt-x', user: play };
      expect(await readError(client.responses.create(body))).toBeInstanceOf(kind);
      const answer = await ask(`${gateway.url}/v1/responses`, {
        token: key,
        body,
        headers: { 'x-request-id': 'mine-1' },
      });
      expect([answer.status, answer.headers.get('x-request-id')]).toEqual([status, 'mine-1']);
      for (const name of ['set-cookie', 'openai-organization']) expect(answer.headers.has(name)).toBe(false);
      expect(JSON.stringify(answer.body)).not.toContain('sk-vendor');
    }
    const shared = { model: 'gpt-x', input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] };
    const refused = await ask(`${gateway.url}/v1/responses`, { token: key, body: shared });
    expect([refused.status, (refused.body.error as { code: string }).code]).toEqual([400, 'relay_request_invalid']);
    const nobody = await ask(`${gateway.url}/v1/responses`, { token: key, body: { model: 'nobody-has-this' } });
    expect([nobody.status, (nobody.body.error as { code: string }).code]).toEqual([404, 'model_not_found']);
    expect(gateway.log()).not.toContain('sk-vendor');
  });

  test('a plugin’s model is relayed as long as the plugin has no channel', async () => {
    const body = { model: 'demo-video', prompt: 'a', seconds: 1 };
    const send = () => ask(`${gateway.url}/v1/videos`, { token: key, body });
    const listed = async () => (await client.models.list()).data.some(({ id }) => id === 'demo-video');
    expect(await listed()).toBe(true);
    const relayed = await send();
    expect([relayed.status, relayed.body.id]).toEqual([200, expect.stringMatching(/^video_v/)]);
  });

  test('another user can reach nothing of it', async () => {
    const made = await client.responses.create({ model: 'gpt-x', input: 'mine' });
    const video = await ask(`${gateway.url}/v1/videos`, { token: key, body: { model: 'vid-x', seconds: 1 } });
    await admin.createUser({ username: 'thief', quota: 1_000_000 });
    const thief = await signIn(gateway.url, { username: 'thief' });
    const stolen = await thief.createKey();
    const before = vendor.requests.length;
    const rows: [method: string, path: string, status: number, body?: object][] = [
      ['GET', `/v1/responses/${made.id}`, 404],
      ['GET', `/v1/responses/${made.id}?stream=true`, 404],
      ['POST', `/v1/responses/${made.id}/cancel`, 404],
      ['DELETE', `/v1/responses/${made.id}`, 404],
      ['GET', `/v1/videos/${video.body.id}`, 404],
      ['GET', `/v1/videos/${video.body.id}/content`, 404],
      ['DELETE', `/v1/videos/${video.body.id}`, 404],
      ['POST', `/v1/videos/${video.body.id}/remix`, 404, { prompt: 'a dog' }],
      ['GET', `/v1/responses/..%2Fresponses%2F${made.id}`, 404],
      ['POST', '/v1/responses', 400, { model: 'gpt-x', previous_response_id: made.id }],
    ];
    for (const [method, path, status, body] of rows) {
      const answer = await ask(`${gateway.url}${path}`, { method, token: stolen, ...(body ? { body } : {}) });
      expect([path, answer.status]).toEqual([path, status]);
    }
    expect(vendor.requests.length).toBe(before);
  });

  test('a relay killed before the answer is refunded, one killed during a stream is billed; the ledger adds up', async () => {
    const balance = await admin.quota();
    const seen = vendor.requests.length;
    const body = (user: string, stream = false) => ({ model: 'gpt-x', user, stream });
    const send = (value: object, headers: Record<string, string> = {}) =>
      fetch(`${gateway.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(value),
      });
    const keyed = { 'idempotency-key': 'killed' };
    const waiting = send(body('hang'), keyed).catch(() => undefined);
    const streaming = (await send(body('slow', true))).body?.getReader();
    const first = new TextDecoder().decode((await streaming?.read())?.value);
    await until('the vendor has both', () => vendor.requests.length === seen + 2);
    expect(await admin.quota()).toBe(balance - 2 * BILL);
    await gateway.kill();
    await waiting;
    await streaming?.cancel().catch(() => undefined);

    gateway = await startGateway(options);
    await until('the unanswered one is refunded', async () => (await admin.quota()) === balance - BILL);
    await gateway.logged('the vendor may have done the work');
    // The outcome is unknown: a repeat is not sent again.
    const again = await send(body('hang'), keyed);
    expect([again.status, again.headers.get('x-should-retry')]).toEqual([409, 'false']);
    expect(await again.json()).toMatchObject({ error: { code: 'idempotency_outcome_unknown' } });
    expect(vendor.requests).toHaveLength(seen + 2);
    const id = /"id":"(resp_\w+)"/.exec(first)?.[1] ?? '';
    expect((await ask(`${gateway.url}/v1/responses/${id}`, { token: key })).status).toBe(200);
    vendor.release();
    expect(await runBeside(gateway, ['doctor', '--json'])).toMatchObject({ code: 0 });
  });
});
