/**
 * A plugin that lists no artifacts but gives its result's address: the gateway serves the result.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ask } from '../../support/gateway.ts';
import { until } from '../../support/until.ts';
import { type ArtifactGateway, FILE, startArtifactGateway, VENDOR_KEY } from './artifact-harness.ts';

/** Leaves out the artifact hooks; results come with the submission, or with a poll if `later`. */
const withoutArtifacts = (source: string): string =>
  source
    .slice(0, source.indexOf('export function listArtifacts'))
    .replace(
      /immediate: (\{[^}]+\}) \};/,
      '...(response.body.later ? {} : { immediate: readResult(response.body) }) };',
    )
    .replace('{ return { status: body.status }; }', '{ return readResult(body); }')
    .concat(
      "const readResult = (body) => ({ status: body.end || 'SUCCESS', url: body.video || undefined, remoteUrl: body.remote });",
    );

/** The same for a plugin that asks for many tasks at once. */
const inBatches = (source: string): string =>
  withoutArtifacts(source).concat(`
  export const buildBatchQueryRequest = (ctx) => ({ url: ctx.baseUrl + '/jobs/' + ctx.tasks[0].taskId });
  export const parseBatchResult = (ctx, body) => [{ taskId: ctx.tasks[0].taskId, ...readResult(body) }];`);

let world: ArtifactGateway;
let closed: ArtifactGateway;
beforeAll(async () => {
  [world, closed] = await Promise.all([
    startArtifactGateway({ UPSTREAM_ALLOW_PRIVATE: 'true', TASK_POLL_INTERVAL_SECONDS: '1' }),
    startArtifactGateway({ TASK_ARTIFACT_LINK_DAYS: '2' }),
  ]);
  for (const one of [world, closed]) await one.addPlugin('old', {}, withoutArtifacts);
  await world.addPlugin('batch', { fetchMode: 'batch' }, inBatches);
});
afterAll(() => Promise.all([world.stop(), closed.stop()]));

type Listed = { artifacts: unknown[]; legacy_content_url?: string; legacy_content_type?: string };
const list = async (at: ArtifactGateway, id: string) =>
  (await at.get(`/v1/tasks/${id}/artifacts`, { token: at.key })).json as Listed;
/** The link at the address that the test reaches. */
const readLink = async (at: ArtifactGateway, id: string): Promise<string> => {
  const { pathname, search } = new URL((await list(at, id)).legacy_content_url ?? '');
  return `${at.url}${pathname}${search}`;
};
const video = (id: string) => `/v1/videos/${id}/content`;

async function ended(id: string): Promise<void> {
  await until(async () => {
    const { json } = await world.get(`/v1/tasks/${id}`, { token: world.key });
    return json.status === 'SUCCESS';
  });
}

describe('a result that a plugin gives as url', () => {
  test('is the content of the video, by key and by a link, and the panel lists it', async () => {
    const id = await world.finished({ video: `${world.vendor.other}/file` }, 'old');
    expect(await list(world, id)).toEqual({
      artifacts: [],
      legacy_content_url: expect.stringContaining(`/v1/tasks/${id}/artifacts/result/content?access=`),
      legacy_content_type: 'video',
      task_id: id,
    } as Listed);
    for (const answer of [
      await world.get(video(id), { token: world.key }),
      await world.get(`${video(id)}?variant=video`, { token: world.key }),
      await world.get(await readLink(world, id)),
    ]) {
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'video/mp4']);
      expect(Buffer.compare(answer.bytes, FILE)).toBe(0);
    }
    const message = {
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
      params: { name: 'get_task', arguments: { id } },
    };
    const agent = await ask(`${world.url}/mcp`, { token: world.key, body: message });
    expect(JSON.stringify(agent.body)).toContain(`/v1/tasks/${id}/artifacts/result/content?access=`);
    const range = await world.get(video(id), { token: world.key, headers: { range: 'bytes=10-19' } });
    expect([range.status, range.bytes.length]).toEqual([206, 10]);
    const shown = await world.admin.call<{ artifacts: object[] }>('GET', `/api/task/${id}`);
    expect(shown.artifacts).toEqual([
      { key: 'result', type: 'video', content_url: (await list(world, id)).legacy_content_url },
    ]);
    expect(world.vendor.seen.some(({ headers }) => JSON.stringify(headers).includes(VENDOR_KEY))).toBe(false);
  });

  test('is remoteUrl where there is no url; a type is told by the address', async () => {
    const id = await world.finished({ remote: `${world.vendor.other}/cover.PNG?x=1` }, 'old');
    expect(await list(world, id)).toMatchObject({ legacy_content_type: 'image' });
    expect((await world.get(await readLink(world, id))).status).toBe(200);
  });

  test('is decoded where it is a data: URL', async () => {
    const url = `data:video/webm;base64,${Buffer.from('film').toString('base64')}`;
    const id = await world.finished({ video: url }, 'old');
    const answer = await world.get(video(id), { token: world.key });
    expect([answer.status, answer.text, answer.headers.get('content-type')]).toEqual([200, 'film', 'video/webm']);
  });

  test.each(['old', 'batch'])('is asked for again where it is too large to be stored: %s', async (plugin) => {
    // Bytes whose Base64 has slashes, which the vendor's JSON may escape.
    const film = Buffer.alloc(2 * 1024 * 1024, '?ÿ?>');
    const url = `data:video/mp4;base64,${film.toString('base64')}`;
    const id = await world.finished({ later: true, video: url }, plugin);
    await ended(id);
    const answer = await world.get(video(id), { token: world.key });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'video/mp4']);
    expect(Buffer.compare(answer.bytes, film)).toBe(0);
  });

  test('is none where the plugin gave no address, or the task was deleted', async () => {
    const id = await world.finished({}, 'old');
    expect(await list(world, id)).toEqual({ task_id: id, artifacts: [] } as object as Listed);
    expect((await world.get(video(id), { token: world.key })).code).toBe('artifact_not_found');

    const deleted = await world.finished({ video: `${world.vendor.other}/file` }, 'old');
    const link = await readLink(world, deleted);
    await world.get(`/v1/videos/${deleted}`, { token: world.key, method: 'DELETE' });
    expect((await world.get(link)).status).toBe(404);
    expect((await world.get(video(deleted), { token: world.key })).status).toBe(404);
  });
});

describe('SSRF through a result’s address', () => {
  test.each<[string, string]>([
    ['loopback', 'http://127.0.0.1:1/x'],
    ['a link-local address', 'http://169.254.169.254/latest/meta-data'],
    ['a private address', 'https://10.0.0.1/x'],
    ['another scheme', 'file:///etc/passwd'],
    ['credentials', 'https://user:password@example.com/x'],
    ['data that are not Base64', 'data:text/html,<script>alert(1)</script>'],
  ])('%s is refused', async (_, url) => {
    const id = await closed.finished({ video: url }, 'old');
    const answer = await closed.get(video(id), { token: closed.key });
    expect([answer.status, answer.code]).toEqual([502, 'artifact_request_rejected']);
  });

  test('a redirect to a private address is refused, and so is one back to the vendor', async () => {
    for (const target of [`${closed.vendor.other}/file`, 'http://169.254.169.254/']) {
      const id = await closed.finished(
        { video: `${closed.vendor.url}/redirect?to=${encodeURIComponent(target)}` },
        'old',
      );
      expect((await closed.get(video(id), { token: closed.key })).code).toBe('artifact_request_rejected');
    }
    const id = await closed.finished({ video: `${closed.vendor.url}/file` }, 'old');
    expect(await list(closed, id)).toMatchObject({ legacy_content_expires_at: expect.any(Number) });
    expect((await closed.get(video(id), { token: closed.key })).status).toBe(200);
  });

  test('a page of scripts gets no origin to run in', async () => {
    const page = Buffer.from('<script>alert(1)</script>').toString('base64');
    const id = await closed.finished({ video: `data:text/html;base64,${page}` }, 'old');
    const answer = await closed.get(await readLink(closed, id));
    expect(answer.headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
    expect(answer.headers.get('content-disposition')).toStartWith('attachment');
  });
});
