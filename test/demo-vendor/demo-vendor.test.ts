import { afterEach, describe, expect, test } from 'bun:test';
import { createDemoVendor, type DemoVendorOptions } from '../../src/app/demo-vendor/index.ts';
import { drawScene } from '../../src/app/demo-vendor/serve-video.ts';
import { type Clock, sha256Hex, systemClock } from '../../src/kernel/index.ts';

/** A clock that only the test moves; sleeping takes no time. */
function standingClock() {
  let now = 1_790_000_000_000;
  const slept: number[] = [];
  const clock: Clock = {
    nowMs: () => now,
    unix: () => Math.floor(now / 1000),
    monotonicMs: () => now,
    sleep: async (ms) => void slept.push(ms),
  };
  const advance = (ms: number) => {
    now += ms;
  };
  return { clock, slept, advance };
}

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function start(options: Partial<DemoVendorOptions> = {}) {
  const time = standingClock();
  const vendor = createDemoVendor({ clock: time.clock, durationMs: 10_000, ...options });
  const { url, stop } = await vendor.start(0);
  stops.push(stop);
  const call = (path: string, init: RequestInit = {}) =>
    fetch(`${url}${path}`, { ...init, headers: { authorization: 'Bearer key', ...(init.headers as object) } });
  const order = async (prompt: string, fields: object = {}) =>
    call('/v1/jobs', {
      method: 'POST',
      body: JSON.stringify({ model: 'm', prompt, ...fields }),
      headers: { 'content-type': 'application/json' },
    });
  // biome-ignore lint/suspicious/noExplicitAny: JSON of a test
  const json = async (response: Response | Promise<Response>): Promise<any> => (await response).json();
  return { url, call, order, json, ...time };
}

describe('jobs', () => {
  test('a job is queued, running, succeeded, depending on the time', async () => {
    const { order, call, json, advance } = await start();
    const made = await json(order('a cat', { seconds: 8, resolution: '1080p', reference_id: 'ref' }));
    expect(made).toMatchObject({
      status: 'queued',
      progress: 0,
      seconds: 8,
      resolution: '1080p',
      reference_id: 'ref',
      prompt: 'a cat',
    });
    advance(4200);
    expect(await json(call(`/v1/jobs/${made.id}`))).toMatchObject({ status: 'running', progress: 42 });
    expect((await call(`/v1/jobs/${made.id}/content`)).status).toBe(409);
    advance(5800);
    expect(await json(call(`/v1/jobs/${made.id}`))).toMatchObject({
      status: 'succeeded',
      progress: 100,
      usage: { seconds: 8, resolution: '1080p' },
      content_path: `/v1/jobs/${made.id}/content`,
    });
  });

  test('invalid jobs are refused', async () => {
    const { call, json } = await start();
    const post = (body: BodyInit, headers = {}) => call('/v1/jobs', { method: 'POST', body, headers });
    for (const body of [
      '{',
      '[]',
      '"x"',
      'null',
      '{}',
      '{"model":"m"}',
      '{"model":"m","prompt":""}',
      '{"model":1,"prompt":"x"}',
      '{"model":"m","prompt":"x","seconds":0}',
      '{"model":"m","prompt":"x","seconds":61}',
      '{"model":"m","prompt":"x","seconds":"x"}',
      '{"model":"m","prompt":"x","resolution":"8K"}',
      '{"model":"m","prompt":"x","image":5}',
      '{"model":"m","prompt":"x","image":"data:image/png;base64,"}',
    ]) {
      const response = await post(body);
      expect([body, response.status]).toEqual([body, 400]);
      expect((await json(response)).error.code).toBe('invalid_request');
    }
    expect((await post('x', { 'content-type': 'multipart/form-data; boundary=y' })).status).toBe(400);
  });

  test('images arrive as a file, as Base64 and as a data URL', async () => {
    const { call, order, json } = await start();
    const bytes = crypto.getRandomValues(new Uint8Array(5000));
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: 'm', prompt: 'a cat', seconds: '6' })) form.set(name, value);
    form.set('image', new Blob([bytes], { type: 'image/png' }), 'cat.png');
    const expected = { bytes: 5000, sha256: sha256Hex(bytes) };
    expect(await json(call('/v1/jobs', { method: 'POST', body: form }))).toMatchObject({ seconds: 6, image: expected });
    const base64 = Buffer.from(bytes).toString('base64');
    expect(await json(order('a cat', { image: base64 }))).toMatchObject({ image: expected });
    expect(await json(order('a cat', { image: `data:image/png;base64,${base64}` }))).toMatchObject({ image: expected });
  });

  test('keys, paths and methods', async () => {
    const { url, call } = await start();
    for (const authorization of ['', 'Bearer', 'Bearer ', 'Basic x', 'Bearer invalid-key', 'Bearer a b']) {
      expect((await fetch(`${url}/v1/jobs/x`, { headers: { authorization } })).status).toBe(401);
    }
    const own = await start({ key: 'right' });
    expect((await fetch(`${own.url}/v1/jobs/x`, { headers: { authorization: 'Bearer wrong' } })).status).toBe(401);
    expect((await fetch(`${own.url}/v1/jobs/x`, { headers: { authorization: 'Bearer right' } })).status).toBe(404);
    expect((await call('/v1/jobs/job_nothing')).status).toBe(404);
    expect((await call('/elsewhere')).status).toBe(404);
    expect((await call('/v1/jobs/x', { method: 'DELETE' })).status).toBe(405);
    expect((await call('/v1/jobs', { method: 'PUT' })).headers.get('allow')).toBe('GET, POST');
  });

  test('rate limit with Retry-After', async () => {
    const { call, advance } = await start({ requestsPerSecond: 2 });
    const statuses = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await call('/v1/jobs/x')).status);
    expect(statuses).toEqual([404, 404, 429, 429]);
    expect((await call('/v1/jobs/x')).headers.get('retry-after')).toBe('1');
    advance(1000);
    expect((await call('/v1/jobs/x')).status).toBe(404);
  });

  test('memory exhaustion: the oldest finished jobs are dropped, running ones stay', async () => {
    const { order, call, json, advance } = await start({ maxJobs: 3 });
    const running = await json(order('long [duration=1000]'));
    const finished = await json(order('done [instant]'));
    const last = await json(order('a'));
    const next = await json(order('b'));
    expect((await call(`/v1/jobs/${finished.id}`)).status).toBe(404);
    for (const { id } of [running, last, next]) expect((await call(`/v1/jobs/${id}`)).status).toBe(200);
    expect((await order('c')).status).toBe(503);
    advance(10_000);
    expect((await order('d')).status).toBe(200);
    expect((await json(call('/stats'))).jobs_kept).toBe(3);
  });
});

describe('scripts', () => {
  const statuses = async (vendor: Awaited<ReturnType<typeof start>>, id: string, times: number) => {
    const seen = [];
    for (let i = 0; i < times; i += 1) seen.push((await vendor.call(`/v1/jobs/${id}`)).status);
    return seen;
  };

  test('in the prompt, in the field, several at once; unknown ones are words', async () => {
    const { order, json } = await start();
    expect((await json(order('done [instant]'))).status).toBe('succeeded');
    expect((await json(order('done', { script: '[instant][fail]' }))).status).toBe('failed');
    expect((await json(order('a [red] car'))).status).toBe('queued');
  });

  test('fail, duration, slow, seconds', async () => {
    const { order, call, json, advance } = await start();
    const fails = await json(order('x [fail] [duration=2]'));
    const slow = await json(order('x [slow]'));
    const other = await json(order('x [seconds=7]'));
    advance(2000);
    expect(await json(call(`/v1/jobs/${fails.id}`))).toMatchObject({
      status: 'failed',
      error: { code: 'generation_failed' },
    });
    advance(8000);
    expect((await json(call(`/v1/jobs/${slow.id}`))).progress).toBe(10);
    expect((await json(call(`/v1/jobs/${other.id}`))).usage.seconds).toBe(7);
    advance(90_000);
    expect((await json(call(`/v1/jobs/${slow.id}`))).status).toBe('succeeded');
  });

  test('429, 500, garbage: three times, N times, always; 404 for good', async () => {
    const vendor = await start();
    const make = async (script: string) => (await vendor.json(vendor.order(`x ${script}`))).id;
    expect(await statuses(vendor, await make('[429]'), 5)).toEqual([429, 429, 429, 200, 200]);
    expect(await statuses(vendor, await make('[500=1]'), 3)).toEqual([500, 200, 200]);
    expect(await statuses(vendor, await make('[404]'), 5)).toEqual([404, 404, 404, 404, 404]);
    expect(await statuses(vendor, await make('[429=always]'), 30)).toEqual(Array(30).fill(429));
    const id = await make('[garbage=2]');
    const texts = [];
    for (let i = 0; i < 3; i += 1) texts.push((await (await vendor.call(`/v1/jobs/${id}`)).text()).slice(0, 6));
    expect(texts).toEqual(['<html>', '<html>', '{"id":']);
  });

  test('submit: refusals create no job, garbage answers do', async () => {
    const { order, call, json } = await start();
    for (const status of [400, 429, 500])
      expect((await order(`x [submit=${status}]`, { reference_id: 'r' })).status).toBe(status);
    expect(await json(call('/stats?reference_id=r'))).toEqual({ reference_id: 'r', creates: 3, jobs: [] });
    expect(await (await order('x [submit=garbage]', { reference_id: 'r' })).text()).toStartWith('<html>');
    expect(await json(call('/stats?reference_id=r'))).toMatchObject({ creates: 4, jobs: [{ polls: 0 }] });
  });

  test('delay postpones creation and polls', async () => {
    const { order, call, json, slept } = await start();
    const { id } = await json(order('x [delay=1.5]'));
    await call(`/v1/jobs/${id}`);
    await call(`/v1/jobs?ids=${id}`);
    expect(slept).toEqual([1500, 1500, 1500]);
  });

  test('batches: lost and unknown jobs are left out, faults show, one job can poison all', async () => {
    const { order, call, json } = await start();
    const make = async (script: string) => (await json(order(`x ${script}`))).id;
    const [fine, lost, odd, poison, limited] = await Promise.all(
      ['', '[404]', '[garbage]', '[batch=404]', '[429=1]'].map(make),
    );
    const batch = (...ids: unknown[]) => call(`/v1/jobs?ids=${ids.join(',')}`);
    const { jobs } = await json(batch(fine, lost, odd, 'job_nothing'));
    expect(jobs.map((job: { id: string; status: string }) => [job.id, job.status])).toEqual([
      [fine, 'queued'],
      [odd, 'wobbling'],
    ]);
    expect((await batch(fine, poison)).status).toBe(404);
    expect([(await batch(limited)).status, (await batch(limited)).status]).toEqual([429, 200]);
    expect((await batch()).status).toBe(400);
    expect((await batch(...Array(101).fill(fine))).status).toBe(400);
  });
});

describe('content', () => {
  const ready = async (script = '') => {
    const vendor = await start();
    const { id } = await vendor.json(vendor.order(`x [instant] ${script}`));
    const path = `/v1/jobs/${id}/content`;
    const bytes = new Uint8Array(await (await vendor.call(path)).arrayBuffer());
    return { ...vendor, path, bytes };
  };

  test('each job has its own MP4', async () => {
    const { call, path, bytes, order, json } = await ready();
    expect(Buffer.from(bytes.subarray(4, 12)).toString()).toBe('ftypisom');
    const { id } = await json(order('y [instant]'));
    const other = await (await call(`/v1/jobs/${id}/content`)).arrayBuffer();
    expect(sha256Hex(new Uint8Array(other))).not.toBe(sha256Hex(bytes));
    const again = await call(path);
    expect(again.headers.get('content-type')).toBe('video/mp4');
    expect(sha256Hex(new Uint8Array(await again.arrayBuffer()))).toBe(sha256Hex(bytes));
    // Every box of the file, by its length: the last one ends where the file does.
    const boxes = [];
    for (let at = 0; at < bytes.length; at += Buffer.from(bytes).readUInt32BE(at))
      boxes.push(Buffer.from(bytes.subarray(at + 4, at + 8)).toString());
    expect(boxes).toEqual(['ftyp', 'moov', 'mdat', 'free']);
  });

  test('shows the scene that its prompt names', () => {
    const digest = (prompt: string) => sha256Hex(drawScene(prompt));
    expect(digest('a boat at night')).toBe(digest('a boat at night'));
    expect(new Set(['a boat at night', 'a boat at noon', 'a city at night', ''].map(digest)).size).toBe(4);
  });

  test('HEAD, ranges, conditions', async () => {
    const { call, path, bytes } = await ready();
    const size = bytes.length;
    const head = await call(path, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length'), head.headers.get('accept-ranges')]).toEqual([
      200,
      String(size),
      'bytes',
    ]);
    const etag = head.headers.get('etag') ?? '';
    const cases: [headers: Record<string, string>, status: number, range: string | null, first: number, end: number][] =
      [
        [{ range: 'bytes=0-9' }, 206, `bytes 0-9/${size}`, 0, 10],
        [{ range: 'bytes=100-' }, 206, `bytes 100-${size - 1}/${size}`, 100, size],
        [{ range: 'bytes=-5' }, 206, `bytes ${size - 5}-${size - 1}/${size}`, size - 5, size],
        [{ range: `bytes=0-${size * 2}` }, 206, `bytes 0-${size - 1}/${size}`, 0, size],
        [{ range: `bytes=-${size * 2}` }, 206, `bytes 0-${size - 1}/${size}`, 0, size],
        [{ range: `bytes=${size}-` }, 416, `bytes */${size}`, 0, 0],
        [{ range: 'bytes=-0' }, 416, `bytes */${size}`, 0, 0],
        [{ range: 'bytes=5-2' }, 200, null, 0, size],
        [{ range: 'bytes=0-1,3-4' }, 200, null, 0, size],
        [{ range: 'lines=1-2' }, 200, null, 0, size],
        [{ range: 'bytes=0-9', 'if-range': etag }, 206, `bytes 0-9/${size}`, 0, 10],
        [{ range: 'bytes=0-9', 'if-range': '"other"' }, 200, null, 0, size],
        [{ 'if-none-match': etag }, 304, null, 0, 0],
        [{ 'if-none-match': '"other"' }, 200, null, 0, size],
      ];
    for (const [headers, status, range, first, end] of cases) {
      const response = await call(path, { headers });
      expect([headers, response.status, response.headers.get('content-range')]).toEqual([headers, status, range]);
      expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(bytes.subarray(first, end)))).toBe(true);
    }
  });

  test('padded to a size', async () => {
    const { bytes } = await ready('[bytes=1000000]');
    expect(bytes.length).toBe(1_000_000);
  });
});

describe('statistics', () => {
  test('counts what the vendor received', async () => {
    const { url, order, call, json } = await start();
    const { id } = await json(order('x [instant]', { reference_id: 'task_1' }));
    await order('x', { reference_id: 'task_1' });
    await order('x', { reference_id: 'task_2' });
    await order('x');
    await call(`/v1/jobs/${id}`);
    await call(`/v1/jobs?ids=${id}`);
    await call(`/v1/jobs/${id}/content`, { method: 'HEAD' });
    await call(`/v1/jobs/${id}/content`);
    await fetch(`${url}/v1/jobs/${id}`);
    expect(await json(fetch(`${url}/stats`))).toEqual({
      creates: 4,
      jobs: 4,
      polls: 1,
      batch_polls: 1,
      downloads: 1,
      unauthorized: 1,
      rate_limited: 0,
      full: 0,
      most_running: 0,
      jobs_kept: 4,
      references: 2,
      duplicate_references: { task_1: 2 },
    });
    expect(await json(fetch(`${url}/stats?reference_id=task_1`))).toMatchObject({
      creates: 2,
      jobs: [{ id, polls: 2, downloads: 1, status: 'succeeded' }, { polls: 0 }],
    });
    expect(await json(fetch(`${url}/stats?reference_id=nobody`))).toEqual({
      reference_id: 'nobody',
      creates: 0,
      jobs: [],
    });
  });

  test('ids of two runs differ', async () => {
    const make = async () => {
      const { order, json } = await start({ clock: systemClock });
      return (await json(order('x'))).id;
    };
    expect(await make()).not.toBe(await make());
  });
});
