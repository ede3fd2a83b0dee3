/**
 * Serving plugins stay consistent while plugins change: requests during activations, and refused
 * uploads.
 */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { listChildren } from '../support/child-processes.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import { type Administrator, ask, type Gateway, letNothingWait, setUp, startGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

/** At least this many: requests continue until the last activation. */
const REQUESTS = IS_FULL_RUN ? 1000 : 60;
const ACTIVATIONS = IS_FULL_RUN ? 50 : 10;
/** What each version builds before the next one is activated, however slow the machine is. */
const BUILT_EACH = REQUESTS / ACTIVATIONS / 2;
const AT_ONCE = 16;
const MODEL = 'acme-1';

/**
 * Each hook marks its result with its version; the parser fails the task when versions were mixed.
 */
const source = (version: string, change: object = {}): string => {
  const meta = {
    ...{
      apiVersion: 1,
      key: 'acme',
      name: 'Acme',
      version,
      author: { name: 'A' },
      models: [MODEL],
      fetchMode: 'per_task',
    },
    protocols: ['proto_video'],
    ...change,
  };
  return `export const meta = ${JSON.stringify(meta)};
const version = ${JSON.stringify(version)};
export const protocols = { proto_video: {
  decodeRequest(ctx) { return { kind: 'submit', model: ctx.model, requestBody: { decoded: version } }; },
  render(ctx, task) { return { metadata: { by: String(task.data.by), rendered: version } }; },
} };
export function buildSubmitRequest(ctx) {
  return { url: ctx.baseUrl + '/jobs', body: { ...ctx.requestBody, built: version, id: ctx.publicTaskId } };
}
export function parseSubmitResponse(ctx, response) {
  const by = [response.body.decoded, response.body.built, version];
  const whole = by.every((one) => one === version);
  return {
    taskId: response.body.id,
    taskData: { by },
    immediate: { status: whole ? 'SUCCESS' : 'FAILURE', reason: whole ? '' : 'mixed: ' + by },
  };
}
export function buildQueryRequest(ctx) { return { url: ctx.baseUrl + '/jobs/' + ctx.taskId }; }
export function parseTaskResult(ctx, body) { return { status: 'UNKNOWN' }; }
`;
};

type Job = { decoded: string; built: string; id: string };
let jobs: Job[] = [];
let vendor: ReturnType<typeof Bun.serve>;
let gateway: Gateway;
let admin: Administrator;
let key: string;

beforeAll(async () => {
  vendor = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const job = (await request.json()) as Job;
      jobs.push(job);
      return Response.json(job);
    },
  });
  gateway = await startGateway();
  admin = await setUp(gateway);
  await letNothingWait(admin);
  for (const version of ['1.0.0', '2.0.0']) await admin.call('POST', '/api/plugin/task', { source: source(version) });
  await admin.createChannel(`http://127.0.0.1:${vendor.port}`, { models: [MODEL], task_plugin_key: 'acme' });
  key = await admin.createKey();
});
afterAll(async () => {
  await gateway?.stop();
  await vendor?.stop(true);
});

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    return false;
  }
}

const submit = () => ask(`${gateway.url}/v1/videos`, { token: key, body: { model: MODEL, prompt: 'a cat' } });
const activate = (version: string) => admin.call('POST', '/api/plugin/task/acme/activate', { version });

test(`requests during ${ACTIVATIONS} activations each finish on the version they began with, while sandbox processes are killed`, async () => {
  let begun = 0;
  let activated = 0;
  const answers: { status: number; body: Record<string, unknown> }[] = [];
  const work = async (): Promise<void> => {
    while (begun < REQUESTS || activated < ACTIVATIONS) {
      begun += 1;
      answers.push(await submit());
    }
  };
  let killed = 0;
  const switchVersions = async (): Promise<void> => {
    let serving = '1.0.0';
    for (let n = 1; n <= ACTIVATIONS; n++) {
      const since = jobs.length;
      const built = () => jobs.slice(since).filter((job) => job.built === serving).length;
      await until(`${serving} has built requests`, () => built() >= BUILT_EACH);
      serving = n % 2 === 0 ? '1.0.0' : '2.0.0';
      await activate(serving);
      activated = n;
      if (n % 10 !== 5) continue;
      // It may end by itself, or one may just be starting.
      await until('a sandbox process is killed', () => {
        const [pid] = listChildren(gateway.pid, '__sandbox');
        return pid !== undefined && kill(pid);
      });
      killed += 1;
    }
  };
  jobs = [];
  await Promise.all([switchVersions(), ...Array.from({ length: AT_ONCE }, work)]);

  const failed = answers.filter(({ status, body }) => status !== 200 || body.status !== 'completed');
  expect(failed).toEqual([]);
  expect(begun).toBeGreaterThanOrEqual(REQUESTS);
  expect([answers.length, jobs.length, killed]).toEqual([begun, begun, ACTIVATIONS / 10]);
  expect(jobs.filter(({ decoded, built }) => decoded !== built)).toEqual([]);
  for (const version of ['1.0.0', '2.0.0'])
    expect(jobs.filter(({ built }) => built === version).length).toBeGreaterThan(REQUESTS / 10);
  const { last_rebuild, plugin_errors } = await admin.call('GET', '/api/plugin/task/runtime/status');
  expect([last_rebuild, plugin_errors]).toEqual([expect.objectContaining({ status: 'success' }), {}]);
});

test('a refused upload changes nothing that serves', async () => {
  await activate('1.0.0');
  const live = async () => {
    const { current_generation, database_revision } = await admin.call('GET', '/api/plugin/task/runtime/status');
    const list = await admin.call<unknown>('GET', '/api/plugin/task');
    const versions = await admin.call<unknown>('GET', '/api/plugin/task/acme/versions');
    jobs = [];
    const { status, body } = await submit();
    return {
      current_generation,
      database_revision,
      list,
      versions,
      answer: [status, body.status],
      jobs: jobs.length,
      by: jobs[0]?.built,
    };
  };
  const before = await live();
  expect(before).toMatchObject({ answer: [200, 'completed'], jobs: 1, by: '1.0.0' });
  const refused: [what: string, body: object, status: number, code: string, says: string][] = [
    ['conflicting', { source: source('1.0.0', { key: 'rival' }) }, 409, 'PLUGIN_CONFLICT', 'acme'],
    ['broken', { source: `${source('3.0.0')}\nthis is not a module` }, 422, 'PLUGIN_INVALID', 'line'],
    ['throwing', { source: `${source('3.0.0')}\nthrow new Error('no');` }, 422, 'PLUGIN_INVALID', 'no'],
    ['oversized', { source: `${source('3.0.0')}//${'x'.repeat(1024 * 1024)}` }, 422, 'PLUGIN_INVALID', '1048576'],
    [
      'the same version with another source',
      { source: `${source('1.0.0')}// changed` },
      409,
      'PLUGIN_VERSION_EXISTS',
      '1.0.0',
    ],
    [
      'another hash than announced',
      { source: source('3.0.0'), sourceSha256: '0'.repeat(64) },
      422,
      'PLUGIN_INVALID',
      'SHA-256',
    ],
    ['a bad icon', { source: source('3.0.0'), icon: 'data:image/png;base64,AAAA' }, 422, 'PLUGIN_ICON_INVALID', 'PNG'],
  ];
  for (const [what, body, status, code, says] of refused) {
    const answer = await ask(`${gateway.url}/api/plugin/task`, { token: admin.token, body });
    expect([what, answer.status, answer.body.code]).toEqual([what, status, code]);
    expect(JSON.stringify(answer.body)).toContain(says);
  }
  expect(await live()).toEqual(before);
});
