import { describe, expect, test } from 'bun:test';
import type { RequestBody } from '../../src/files/types.ts';
import { type Clock, type Json, systemRandom } from '../../src/kernel/index.ts';
import type { LoadedPlugin } from '../../src/plugins/index.ts';
import { isLinkExpired } from '../../src/results/links/issue-artifact-links.ts';
import { artifactCapability, verifyCapability } from '../../src/results/links/sign-artifact-links.ts';
import type { ChannelRecord, TaskRecord } from '../../src/store/ports/index.ts';
import { NEW_TASK } from '../../src/store/repositories/tasks/insert-tasks.ts';
import { renderedVideo, videoObject } from '../../src/surfaces/videos/render-video.ts';
import { firstPollDelayMs, nextPollDelayMs } from '../../src/tasks/polling/poll-schedule.ts';
import { replacePrivateIds, taskView } from '../../src/tasks/state/describe-task.ts';
import { trimSnapshot } from '../../src/tasks/state/stored-result.ts';
import { readModel } from '../../src/tasks/submission/read-request.ts';
import type { ClientRequest } from '../../src/tasks/types.ts';
import { retryAfterMs } from '../../src/upstream/failures.ts';
import { pointsToSelf } from '../../src/vendors/content/redirect-policy.ts';
import { buildUpstreamRequest } from '../../src/vendors/request/build-upstream-request.ts';
import { createKeySecrets } from '../../src/vendors/resolve-credential.ts';
import { toAccount } from '../support/accounts.ts';

const task = (change: Partial<TaskRecord> = {}): TaskRecord => ({
  ...NEW_TASK,
  id: 1,
  taskId: 'task_public',
  platform: 'demo',
  userId: 1,
  walletId: 1,
  apiKeyId: 1,
  group: 'default',
  channelId: 1,
  action: 'text_to_video',
  status: 'IN_PROGRESS',
  progress: '42%',
  submitTime: 100,
  createdAt: 99,
  updatedAt: 101,
  quota: 0,
  properties: { input: 'a cat', originModelName: 'alias', upstreamModelName: 'real' },
  data: { id: 'vendor-1', nested: [{ task_id: 'vendor-1', url: 'https://x/vendor-1' }] },
  upstreamTaskId: 'vendor-1',
  leaseOwner: null,
  leaseUntilMs: 0,
  execution: { requestId: 'r', pluginKey: 'demo', pluginVersion: '1.0.0', generation: 1, surface: 'generic' },
  billing: { expression: null, priceKey: null, facts: {}, groupRatio: 1, usd: 0, model: 'alias', action: '' },
  callbackUrl: null,
  sourceHash: '',
  ...change,
});

test('bought twice: a submission is neither repeated nor redirected, a query is', () => {
  const plugin = { manifest: { allowedHosts: [] } } as unknown as LoadedPlugin;
  const channel = { baseUrl: 'https://vendor.example' } as ChannelRecord;
  const described = { url: 'https://vendor.example/jobs', method: 'GET', headers: {}, body: { kind: 'none' } } as const;
  const submit = { files: [], maxFileBytes: 1, timeoutMs: 1, isStream: false };
  const once = { mayRepeat: false, maxRedirects: 0 };
  expect(buildUpstreamRequest(plugin, { channel, described, submit })).toMatchObject({ ok: true, value: once });
  expect(buildUpstreamRequest(plugin, { channel, described })).toMatchObject({ ok: true, value: { mayRepeat: true } });
});

describe('the poll schedule', () => {
  test('the first poll comes after min(3 s, interval)', () => {
    expect(firstPollDelayMs(15_000)).toBe(3000);
    expect(firstPollDelayMs(1000)).toBe(1000);
  });
  for (const [ageMs, low, high] of [
    [0, 2700, 3300],
    [100_000, 9000, 11_000],
    [3_600_000, 13_500, 16_500],
  ] as const) {
    test(`at an age of ${ageMs} ms`, () => {
      for (let round = 0; round < 200; round += 1) {
        const delay = nextPollDelayMs({ ageMs, intervalMs: 15_000 }, systemRandom);
        expect(delay).toBeGreaterThanOrEqual(low);
        expect(delay).toBeLessThanOrEqual(high);
      }
    });
  }
  test('Retry-After can only make it longer, up to five minutes', () => {
    const young = { ageMs: 0, intervalMs: 15_000 };
    expect(nextPollDelayMs({ ...young, waitMs: 60_000 }, systemRandom)).toBe(60_000);
    expect(nextPollDelayMs({ ...young, waitMs: 3_600_000 }, systemRandom)).toBe(300_000);
    expect(nextPollDelayMs({ ...young, waitMs: 1 }, systemRandom)).toBeGreaterThan(2000);
  });
  test('Retry-After in seconds, as a date, and as nonsense', () => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    expect(retryAfterMs('7', now)).toBe(7000);
    expect(retryAfterMs('Thu, 01 Jan 2026 00:00:10 GMT', now)).toBe(10_000);
    expect(retryAfterMs('soon', now)).toBe(0);
    // Clients get the vendor's Retry-After too, but never more than five minutes of it.
    for (const long of ['301', '9'.repeat(400), 'Thu, 01 Jan 2099 00:00:00 GMT'])
      expect(retryAfterMs(long, now)).toBe(300_000);
    expect(retryAfterMs(undefined, now)).toBe(0);
  });
});

describe('the stored part of an answer', () => {
  test('long Base64 is cut, other text stays', () => {
    const media = 'QUJD'.repeat(8000);
    const prose = 'a long story. '.repeat(3000);
    expect(trimSnapshot({ media, prose, uri: `data:video/mp4;base64,${media}` })).toEqual({
      media: media.slice(0, 256),
      prose,
      uri: `data:video/mp4;base64,${media}`.slice(0, 256),
    });
  });
  test('a member named __proto__ stays data', () => {
    const value = JSON.parse('{"__proto__":{"polluted":true}}') as Json;
    expect(JSON.stringify(trimSnapshot(value))).toBe('{"__proto__":{"polluted":true}}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});

describe('the views of clients', () => {
  test('the vendor’s id is replaced only in id fields that equal it', () => {
    expect(taskView(task()).data).toEqual({
      id: 'task_public',
      nested: [{ task_id: 'task_public', url: 'https://x/vendor-1' }],
    });
    expect(replacePrivateIds({ id: 'other' }, 'vendor-1', 'p')).toEqual({ id: 'other' });
    expect(replacePrivateIds({ id: '' }, '', 'p')).toEqual({ id: '' });
    const others: Json = { request_id: 'v', operation_id: 'v', requestId: 'v', group_id: 'v' };
    expect(replacePrivateIds(others, 'v', 'p')).toEqual({ ...others, request_id: 'p', operation_id: 'p' });
    const numbers: Json = { id: 4711, n: 4711, items: [{ taskId: '4711' }, 4711, { task_id: 47 }] };
    const replaced: Json = { id: 'p', n: 4711, items: [{ taskId: 'p' }, 4711, { task_id: 47 }] };
    expect(replacePrivateIds(numbers, '4711', 'p')).toEqual(replaced);
  });
  test('NOT_START shows as queued', () => {
    expect(taskView(task({ status: 'NOT_START' })).status).toBe('QUEUED');
    expect(videoObject({ task: task({ status: 'NOT_START' }), link: undefined }).status).toBe('queued');
  });
  test('a rendered video keeps only members of the standard, and those of the gateway win', () => {
    const ended = task({ status: 'SUCCESS', finishTime: 120, progress: '100%' });
    const rendered = renderedVideo(
      { task: ended, link: 'https://gate/link' },
      {
        id: 'vendor-1',
        task_id: 'vendor-1',
        status: 'failed',
        seconds: 5,
        size: '1280x720',
        secret: 'x',
        error: { message: 'no' },
        metadata: { URL: 'https://vendor', Url: 'https://vendor', keep: 1 },
      },
    );
    expect(rendered).toEqual({
      id: 'task_public',
      object: 'video',
      model: 'alias',
      status: 'completed',
      progress: 100,
      created_at: 99,
      completed_at: 120,
      expires_at: null,
      remixed_from_video_id: null,
      error: null,
      prompt: 'a cat',
      seconds: '5',
      size: '1280x720',
      metadata: { keep: 1 },
      cost: expect.objectContaining({ currency: 'USD' }),
      content_url: 'https://gate/link',
      url: 'https://gate/link',
    });
  });
});

describe('artifact capabilities', () => {
  const artifact = { taskId: 'task_a', artifactKey: 'video' };
  const access = artifactCapability('secret', artifact);
  const terms = { expiresAt: 1_800_000_000, version: 3 };
  const limited = artifactCapability('secret', artifact, terms);
  const [, , signature] = limited.split('.');
  const moved = artifactCapability('secret', artifact, { ...terms, taskVersion: 2 });
  const [, , , movedSignature] = moved.split('.');

  test('without terms they are 43 characters of base64url, as in earlier versions', () => {
    expect(access).toBe('bsMhvS4-oAIP8y4sdoMIB918k1WpwP8JeRz-_xLx_cc');
    expect(verifyCapability(['secret'], artifact, access)).toEqual({ expiresAt: 0, version: 0 });
  });
  test('terms come before the signature', () => {
    expect(limited).toMatch(/^1800000000\.3\.[\w-]{43}$/);
    expect(verifyCapability(['secret'], artifact, limited)).toEqual(terms);
    expect(moved).toMatch(/^1800000000\.3\.2\.[\w-]{43}$/);
    expect(verifyCapability(['secret'], artifact, moved)).toEqual({ ...terms, taskVersion: 2 });
  });
  test('a previous secret still verifies', () => {
    for (const one of [access, limited]) expect(verifyCapability(['new', 'secret'], artifact, one)).toBeDefined();
  });
  test.each<[string, object, string]>([
    ['of another task', { taskId: 'task_b' }, access],
    ['of another artifact', { artifactKey: 'cover' }, access],
    ['moved across the boundary of its parts', { taskId: 'task_a\0video', artifactKey: '' }, access],
    ['cut short', {}, access.slice(0, 42)],
    ['empty', {}, ''],
    ['with a later end', {}, `1900000000.3.${signature}`],
    ['with another version', {}, `1800000000.4.${signature}`],
    ['without its terms', {}, `${signature}`],
    ['with another version of its task', {}, `1800000000.3.3.${movedSignature}`],
    ['without the version of its task', {}, `1800000000.3.${movedSignature}`],
    ['with a version of its task that was not signed', {}, `1800000000.3.0.${signature}`],
    ["with the terms of another task's link", { taskId: 'task_b' }, moved],
    ['with terms that were not signed', {}, `1800000000.3.${access}`],
    ['with empty terms', {}, `0.0.${access}`],
    ['with its end written otherwise', {}, `01800000000.3.${signature}`],
  ])('a capability %s is refused', (_name, change, presented) => {
    expect(verifyCapability(['secret'], { ...artifact, ...change }, presented)).toBeUndefined();
  });

  const day = 86_400;
  const isOver = (days: number, expiresAt: number, at: number) => {
    const deps = { clock: { unix: () => at } as Clock, links: { limits: { days } } };
    return isLinkExpired(deps, { expiresAt, version: 0 }, task({ finishTime: 1000 }));
  };
  test('a link expires when it says, whatever the setting is by then', () => {
    for (const days of [0, 7]) expect([isOver(days, 5000, 4999), isOver(days, 5000, 5000)]).toEqual([false, true]);
  });
  test("a link without an expiry never expires, or, with a setting, that long after its task's end", () => {
    expect(isOver(0, 0, 1000 + 10_000 * day)).toBe(false);
    expect([isOver(7, 0, 1000 + 7 * day - 1), isOver(7, 0, 1000 + 7 * day)]).toEqual([false, true]);
  });
});

test.each<[string, boolean]>([
  ['https://gate.example/prefix/v1/tasks/x', true],
  ['http://GATE.example./prefix/v1/tasks/x', true],
  ['https://gate.example:443/prefix//v1/videos/x', true],
  ['https://gate.example/prefi%78/v1/tasks/x', true],
  ['https://gate.example/v1/tasks/x', false],
  ['https://gate.example:8443/prefix/v1/tasks/x', false],
  ['https://gate.example.com/prefix/v1/tasks/x', false],
  ['https://gate.example/prefix/files/v1', false],
  ['http://127.8.9.1:3000/v1/tasks/x', true],
  ['http://[::1]:3000/v1/tasks/x', true],
  ['http://[::ffff:127.0.0.1]:3000/v1/tasks/x', true],
  ['http://2130706433:3000/v1/tasks/x', true],
  ['http://127.0.0.1:3001/v1/tasks/x', false],
])('download that points back to the gateway: %s %p', (url, here) => {
  const own = ['https://gate.example/prefix', 'http://localhost:3000', '', 'nonsense'];
  expect(pointsToSelf(own, new URL(url))).toBe(here);
});

test("the secrets of a channel's keys are computed once, and again for another channel or gateway", () => {
  const KEYS = ['vendor-key-0123456789', 'other-key-0123456789'];
  const channels = { key: () => KEYS[0] ?? '', secrets: () => KEYS };
  const account = toAccount({ id: 1 } as ChannelRecord);
  const find = createKeySecrets(channels);
  const first = find(account);
  for (const key of KEYS) expect(first.all).toContain(key);
  expect(find(toAccount(account.channel, { id: 2 }))).toBe(first);
  expect(find(toAccount({ id: 1 } as ChannelRecord))).not.toBe(first);
  expect(createKeySecrets(channels)(account)).not.toBe(first);
});

test('a form that names several models is refused: plugin and vendor could each take another', () => {
  const file = { ref: '', field: 'model', filename: 'f', mimeType: '', size: 0, stream: async function* () {} };
  const rows: [RequestBody, unknown][] = [
    [{ kind: 'multipart', fields: { model: ['a'] }, files: [] }, 'a'],
    [{ kind: 'multipart', fields: { model: ['a', 'b'] }, files: [] }, 'tasks.model_required'],
    [{ kind: 'multipart', fields: { model: ['a'] }, files: [file] }, 'tasks.model_required'],
    [{ kind: 'form', fields: { model: ['a', 'a'] } }, 'tasks.model_required'],
    [{ kind: 'json', value: { model: ['a'] } }, undefined],
  ];
  for (const [body, expected] of rows) {
    let outcome: unknown;
    try {
      outcome = readModel({ body } as ClientRequest);
    } catch (error) {
      outcome = (error as { code?: string }).code;
    }
    expect(outcome).toBe(expected);
  }
});
