/**
 * Bad input on the compiled binary: every answer is clear, nothing is lost. After each table every
 * balance is the sum of its ledger lines and the callers have what they had.
 */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Backdoor, GIVE_WALLETS, openBackdoor } from '../support/backdoor.ts';
import { RULE_DATABASE_NAMES } from '../support/databases.ts';
import { freePort } from '../support/free-port.ts';
import {
  type Administrator,
  type Answer,
  ask,
  type Gateway,
  letNothingWait,
  setUp,
  startGateway,
  startVendor,
  type VendorProcess,
} from '../support/gateway.ts';
import { submit, waitForEnd } from '../support/main-job.ts';
import { migratedDatabaseUrl } from '../support/migrated-database.ts';
import { runBeside } from '../support/run-command.ts';
import { until } from '../support/until.ts';

const TWENTY_MB = 20 * 1024 * 1024;
const VENDOR_KEY = 'vendor-key-nobody-may-see-7319';
const REFUSED_KEY = 'invalid-vendor-key-4711';
const demo = readFileSync(new URL('../../src/plugins/factory/demo.js', import.meta.url), 'utf8');

type Refusal = { status: number; code: string; says?: string | RegExp };

for (const dialect of RULE_DATABASE_NAMES) {
  describe(dialect, () => {
    let gateway: Gateway;
    let vendor: VendorProcess;
    let admin: Administrator;
    let backdoor: Backdoor;
    let key: string;
    let balance: number;
    let hostile: Server;
    let hostileUrl: string;

    beforeAll(async () => {
      vendor = await startVendor();
      hostile = createServer((request, response) => answerHostile(request.url ?? '', response));
      await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve));
      hostileUrl = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
      gateway = await startGateway({
        databaseUrl: dialect === 'PostgreSQL' ? await migratedDatabaseUrl() : '',
        env: {
          TASK_POLL_INTERVAL_SECONDS: '1',
          TASK_POLL_MAX_FAILURES: '3',
          // Longer than a busy machine takes to fill a plugin's memory.
          SANDBOX_TIMEOUT_MILLISECONDS: '20000',
          LOG_LEVEL: 'debug',
        },
      });
      backdoor = openBackdoor(gateway);
      admin = await setUp(gateway);
      await letNothingWait(admin);
      key = await admin.createKey();
      await admin.createChannel(vendor.url, { key: VENDOR_KEY });
      await admin.call('PUT', '/api/price', {
        plugin_key: 'demo',
        model: 'demo-video',
        expression: '0.02 * u("seconds")',
      });
      balance = await admin.quota();
    });
    afterAll(async () => {
      await backdoor?.close();
      await gateway?.stop();
      await vendor?.stop();
      hostile?.closeAllConnections();
      hostile?.close();
    });

    /**
     * The ledger adds up, the balance is unchanged, and the gateway lives and has logged no
     * unexpected error.
     */
    async function expectNothingLost(): Promise<void> {
      const examined = await runBeside(gateway, ['doctor', '--json']);
      expect([examined.code, examined.code === 0 ? '' : examined.out]).toEqual([0, '']);
      expect(await admin.quota()).toBe(balance);
      await until('all parts are ready', async () => (await ask(`${gateway.url}/readyz`)).status === 200);
      expect(gateway.log()).not.toContain('request failed unexpectedly');
      expect(gateway.log()).not.toContain(VENDOR_KEY);
      expect(gateway.log()).not.toContain(REFUSED_KEY);
    }

    const countTasks = async () => Number((await backdoor.run('SELECT count(*) AS n FROM tasks'))[0]?.n);
    const countOrders = async () => (await vendor.stats()).creates as number;
    const newestTask = async () =>
      (await backdoor.run('SELECT task_id, status, fail_reason FROM tasks ORDER BY id DESC LIMIT 1'))[0] as {
        task_id: string;
        status: string;
        fail_reason: string;
      };

    /** Creates a channel for a new model, which is mapped to the vendor's demo model. */
    const channelFor = (model: string, baseUrl: string, fields: Record<string, unknown> = {}) =>
      admin.createChannel(baseUrl, {
        name: model,
        models: [model],
        model_mapping: { [model]: 'demo-video' },
        ...fields,
      });

    /** Priced like the demo model, so that there is something to refund. */
    const priced = (model: string) =>
      admin.call('PUT', '/api/price', { plugin_key: 'demo', model, expression: '0.02 * u("seconds")' });

    function expectPanelRefusal({ status, body }: Answer, wanted: Refusal): void {
      expect({ status, code: body.code, success: body.success }).toEqual({
        status: wanted.status,
        code: wanted.code,
        success: false,
      });
      if (wanted.says) expect(String(body.message)).toMatch(wanted.says);
      expect(String(body.message)).not.toBe('');
    }

    function expectOpenAiRefusal({ status, body }: Answer, wanted: Refusal): void {
      const error = body.error as { message: string; type: string; code: string; param: string | null };
      expect({ status, code: error?.code, keys: Object.keys(error ?? {}).sort() }).toEqual({
        status: wanted.status,
        code: wanted.code,
        keys: ['code', 'message', 'param', 'type'],
      });
      if (wanted.says) expect(error.message).toMatch(wanted.says);
      expect(error.message).not.toBe('');
    }

    describe('bodies on panel routes', () => {
      const json = { 'content-type': 'application/json' };
      const valid = { name: 'x', type: 61, key: 'k', models: ['m'], task_plugin_key: 'demo' };
      const table: [
        name: string,
        body: BodyInit | Record<string, unknown>,
        headers: Record<string, string>,
        Refusal,
      ][] = [
        ['broken JSON', '{"name": ', json, { status: 400, code: 'BAD_JSON' }],
        ['text after the JSON', '{} {}', json, { status: 400, code: 'BAD_JSON' }],
        ['no UTF-8', new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), json, { status: 400, code: 'BAD_JSON' }],
        ['an empty body', '', json, { status: 400, code: 'BAD_JSON', says: /empty/ }],
        ['an array', '[]', json, { status: 400, code: 'VALIDATION_FAILED' }],
        ['null', 'null', json, { status: 400, code: 'VALIDATION_FAILED' }],
        ['a bare text', '"x"', json, { status: 400, code: 'VALIDATION_FAILED' }],
        ['a wrong type', { ...valid, type: '61' }, json, { status: 400, code: 'VALIDATION_FAILED', says: /"type"/ }],
        ['a wrong item', { ...valid, models: [1] }, json, { status: 400, code: 'VALIDATION_FAILED', says: /models/ }],
        ['a missing field', { name: 'x' }, json, { status: 400, code: 'VALIDATION_FAILED', says: /missing/ }],
        [
          'an unknown field',
          { ...valid, colour: 'red' },
          json,
          { status: 400, code: 'VALIDATION_FAILED', says: /"colour"/ },
        ],
        [
          '__proto__',
          `${JSON.stringify(valid).slice(0, -1)},"__proto__":{"role":100}}`,
          json,
          { status: 400, code: 'VALIDATION_FAILED', says: /__proto__/ },
        ],
        ['no address', { ...valid, base_url: 'ftp://x' }, json, { status: 400, code: 'CHANNEL_INVALID' }],
        ['no plugin', { ...valid, task_plugin_key: 'nobody' }, json, { status: 400, code: 'CHANNEL_INVALID' }],
        [
          'a form',
          'name=x',
          { 'content-type': 'application/x-www-form-urlencoded' },
          { status: 415, code: 'UNSUPPORTED_MEDIA' },
        ],
        ['no content type', new Uint8Array([0x7b, 0x7d]), {}, { status: 415, code: 'UNSUPPORTED_MEDIA' }],
        [
          'a compressed body',
          Bun.gzipSync('{}'),
          { ...json, 'content-encoding': 'gzip' },
          { status: 415, code: 'UNSUPPORTED_MEDIA' },
        ],
        ['a hundred thousand brackets', '['.repeat(100_000), json, { status: 400, code: 'BAD_JSON' }],
        [
          'a hundred thousand levels',
          `{"name":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
          json,
          { status: 400, code: 'BAD_JSON', says: /64 levels/ },
        ],
      ];
      for (const [name, body, headers, wanted] of table) {
        test(name, async () => {
          const answer = await send('POST', '/api/channel', {
            body,
            headers: {
              ...headers,
              authorization: `Bearer ${admin.token}`,
            },
          });
          expectPanelRefusal(answer, wanted);
        });
      }

      for (const kind of ['declared', 'chunked'] as const) {
        test(`20 MB, ${kind}`, async () => {
          const headers = { ...json, authorization: `Bearer ${admin.token}` };
          const answer = await send('POST', '/api/channel', { body: large(kind), headers });
          expectPanelRefusal(answer, { status: 413, code: 'TOO_LARGE', says: /256 kB/ });
        });

        test(`20 MB without signing in, ${kind}`, async () => {
          // A declared length is refused before authentication.
          const refused =
            kind === 'declared' ? { status: 413, code: 'TOO_LARGE' } : { status: 401, code: 'AUTH_UNAUTHORIZED' };
          expectPanelRefusal(await send('POST', '/api/channel', { body: large(kind), headers: json }), refused);
          expectPanelRefusal(await send('POST', '/api/user/login', { body: large(kind), headers: json }), {
            status: 413,
            code: 'TOO_LARGE',
            says: /64 kB/,
          });
        });
      }

      test('made no channel and lost nothing', async () => {
        expect((await admin.call<{ total: number }>('GET', '/api/channel')).total).toBe(1);
        await expectNothingLost();
      });
    });

    describe('bodies and parameters on /v1', () => {
      const json = { 'content-type': 'application/json' };
      const prompt = 'a cat [duration=0]';
      type Row = [
        name: string,
        path: string,
        body: BodyInit | Record<string, unknown>,
        headers: Record<string, string>,
        Refusal,
      ];
      const demoTask = '/v1/tasks/demo';
      const table: Row[] = [
        ['broken JSON', demoTask, '{"model": ', json, { status: 400, code: 'bad_json' }],
        ['no UTF-8', demoTask, new Uint8Array([0x22, 0xc3, 0x28, 0x22]), json, { status: 400, code: 'bad_json' }],
        ['an empty body', demoTask, '', json, { status: 400, code: 'body_required' }],
        ['an array', demoTask, '[]', json, { status: 400, code: 'model_required' }],
        ['no model', demoTask, { prompt }, json, { status: 400, code: 'model_required' }],
        ['a number as model', demoTask, { model: 7, prompt }, json, { status: 400, code: 'model_required' }],
        ['blanks as model', demoTask, { model: '  ', prompt }, json, { status: 400, code: 'model_required' }],
        [
          'a model that is not the plugin’s',
          demoTask,
          { model: 'nobody-1', prompt },
          json,
          { status: 404, code: 'model_not_found', says: /"nobody-1"/ },
        ],
        [
          'no prompt',
          demoTask,
          { model: 'demo-video' },
          json,
          { status: 400, code: 'plugin_request_invalid', says: /prompt/ },
        ],
        [
          'a wrong type',
          demoTask,
          { model: 'demo-video', prompt, seconds: 'long' },
          json,
          { status: 400, code: 'plugin_request_invalid', says: /1 to 60/ },
        ],
        [
          'a negative quantity',
          demoTask,
          { model: 'demo-video', prompt, seconds: -5 },
          json,
          { status: 400, code: 'plugin_request_invalid', says: /1 to 60/ },
        ],
        [
          'an endless quantity',
          demoTask,
          `{"model":"demo-video","prompt":"x","seconds":1e999}`,
          json,
          { status: 400, code: 'plugin_request_invalid' },
        ],
        [
          'an unknown plugin',
          '/v1/tasks/nobody',
          { model: 'demo-video', prompt },
          json,
          { status: 400, code: 'plugin_not_found', says: /"nobody"/ },
        ],
        [
          'a plugin key of the prototype',
          '/v1/tasks/__proto__',
          { model: 'demo-video', prompt },
          json,
          { status: 400, code: 'plugin_not_found' },
        ],
        [
          'a form',
          demoTask,
          'model=demo-video',
          { 'content-type': 'application/x-www-form-urlencoded' },
          { status: 415, code: 'unsupported_media' },
        ],
        ['a text', demoTask, 'x', { 'content-type': 'text/plain' }, { status: 415, code: 'unsupported_media' }],
        [
          'a compressed body',
          demoTask,
          Bun.gzipSync('{}'),
          { ...json, 'content-encoding': 'gzip' },
          { status: 415, code: 'unsupported_media' },
        ],
        ['a hundred thousand brackets', demoTask, '['.repeat(100_000), json, { status: 400, code: 'bad_json' }],
        [
          'a hundred thousand levels',
          demoTask,
          `{"model":"demo-video","prompt":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
          json,
          { status: 400, code: 'bad_json', says: /64 levels/ },
        ],
        [
          'a model that no plugin claims',
          '/v1/videos',
          { model: 'nobody-1', prompt },
          json,
          { status: 404, code: 'model_not_found', says: /"nobody-1"/ },
        ],
        [
          'a broken form',
          '/v1/videos',
          '--x\r\nnonsense',
          { 'content-type': 'multipart/form-data; boundary=x' },
          { status: 400, code: 'bad_body' },
        ],
        [
          'a form without boundary',
          '/v1/videos',
          'x',
          { 'content-type': 'multipart/form-data' },
          { status: 400, code: 'bad_body' },
        ],
        [
          'an empty prompt',
          '/v1/videos',
          { model: 'demo-video', prompt: ' ' },
          json,
          { status: 400, code: 'plugin_request_invalid' },
        ],
      ];
      for (const [name, path, body, headers, wanted] of table) {
        test(`${path}: ${name}`, async () => {
          const [tasks, orders] = [await countTasks(), await countOrders()];
          expectOpenAiRefusal(
            await send('POST', path, { body, headers: { ...headers, authorization: `Bearer ${key}` } }),
            wanted,
          );
          expect([await countTasks(), await countOrders()]).toEqual([tasks, orders]);
        });
      }

      for (const kind of ['declared', 'chunked'] as const) {
        for (const path of [demoTask, '/v1/videos']) {
          test(`${path}: 20 MB, ${kind}`, async () => {
            const answer = await send('POST', path, {
              body: large(kind),
              headers: { ...json, authorization: `Bearer ${key}` },
            });
            expectOpenAiRefusal(answer, { status: 413, code: 'too_large', says: /16 MB/ });
          });
        }
      }

      const paths: [method: string, path: string, Refusal][] = [
        ['GET', '/v1/tasks/task_00000000000000000000000000000000', { status: 404, code: 'task_not_found' }],
        ['GET', '/v1/tasks/..%2f..%2fetc', { status: 404, code: 'task_not_found' }],
        ['GET', '/v1/tasks/%00', { status: 404, code: 'task_not_found' }],
        ['GET', '/v1/videos/nobody', { status: 404, code: 'not_found' }],
        ['GET', '/v1/videos/nobody/content', { status: 404, code: 'not_found' }],
        ['GET', '/v1/tasks/nobody/artifacts/x/content', { status: 404, code: 'task_not_found' }],
        ['GET', '/v1/nothing', { status: 404, code: 'not_found' }],
        ['PATCH', '/v1/videos', { status: 405, code: 'method_not_allowed' }],
      ];
      for (const [method, path, wanted] of paths) {
        test(`${method} ${path}`, async () => {
          expectOpenAiRefusal(await ask(`${gateway.url}${path}`, { method, token: key }), wanted);
        });
      }

      test('a NUL and half a surrogate pair are accepted in a prompt', async () => {
        const submitted = await submit(gateway.url, key, {
          model: 'demo-video-pro',
          prompt: 'a \u0000 cat \ud800 [duration=0]',
        });
        expect(submitted.status).toBe(200);
        expect((await waitForEnd(gateway.url, key, String(submitted.body.id))).status).toBe('SUCCESS');
      });

      test('lost nothing', expectNothingLost);
    });

    describe('plugins that are refused', () => {
      const readManifest = (change: (source: string) => string): string =>
        change(demo.replace(/key: 'demo'/, "key: 'bad'"));
      type Row = [
        name: string,
        source: () => string,
        fault: { path: string | RegExp; line?: number; message?: RegExp },
      ];
      const own = (source: string) =>
        source
          .replaceAll('demo-video', 'bad-video')
          .replaceAll("'/demo/", "'/bad/")
          .replace("protocols: ['proto_video'],", "protocols: ['proto_video'],");
      const table: Row[] = [
        [
          'does not parse',
          () => 'export const meta = {\n  key: ;\n}',
          { path: 'source', line: 2, message: /Unexpected token/ },
        ],
        ['is no JavaScript at all', () => '<html>', { path: 'source', line: 1 }],
        ['has an empty manifest', () => 'export const meta = {};', { path: /^\// }],
        ['has no manifest', () => 'export function buildSubmitRequest() {}', { path: '', message: /meta is missing/ }],
        [
          'has a wrong version',
          () => readManifest((s) => own(s).replace("version: '1.0.0'", "version: 'one'")),
          { path: '/version' },
        ],
        [
          'has a wrong method',
          () => readManifest((s) => own(s).replace("method: 'POST'", "method: 'STEAL'")),
          { path: '/routes/0/method' },
        ],
        [
          'has an unknown field',
          () => readManifest((s) => own(s).replace("icon: 'text:DV'", "colour: 'red'")),
          { path: /colour|^\/?$/, message: /colour|unknown|additional/i },
        ],
        [
          'has async code',
          () => readManifest((s) => `${own(s)}\nasync function later() {}\n`),
          { path: 'source', line: demoLines() + 2 },
        ],
        ['loads another file', () => `import fs from 'node:fs';\n${readManifest(own)}`, { path: 'source', line: 1 }],
        [
          'names a hook that it does not export',
          () =>
            readManifest((s) => own(s).replace('export function buildSubmitRequest', 'function buildSubmitRequest')),
          { path: 'exports/buildSubmitRequest' },
        ],
        [
          'throws when it is loaded',
          () => readManifest((s) => `${own(s)}\nthrow new Error('not today');\n`),
          { path: /./, message: /not today/ },
        ],
        [
          'fills the memory when it is loaded',
          () => readManifest((s) => `${own(s)}\nconst a = []; for (;;) a.push(new Array(1e6).fill('x'));\n`),
          { path: /./, message: /memory/i },
        ],
        [
          'is larger than 1 MiB',
          () => `${readManifest(own)}\n// ${'x'.repeat(1024 * 1024)}`,
          { path: 'source', message: /1 MiB|1048576|1,048,576|large/i },
        ],
      ];
      function demoLines(): number {
        return demo.split('\n').length - 1;
      }
      let before: unknown;
      beforeAll(async () => {
        before = await live();
      });
      const live = async () => {
        const status = await admin.call<{ current_generation: number }>('GET', '/api/plugin/task/runtime/status');
        const plugins = await admin.call<{ key: string; version: string; source_hash: string }[]>(
          'GET',
          '/api/plugin/task',
        );
        return [
          status.current_generation,
          plugins.map(({ key: name, version, source_hash }) => [name, version, source_hash]),
        ];
      };
      const upload = (source: string) =>
        ask(`${gateway.url}/api/plugin/task`, { token: admin.token, body: { source } });

      for (const [name, source, wanted] of table) {
        test(name, async () => {
          const answer = await upload(source());
          expectPanelRefusal(answer, { status: 422, code: 'PLUGIN_INVALID' });
          const faults = (answer.body.details as { errors: { path: string; line?: number; message: string }[] }).errors;
          const texts = JSON.stringify(faults);
          const found = faults.find(({ path }) =>
            typeof wanted.path === 'string' ? path === wanted.path : wanted.path.test(path),
          );
          if (!found) throw new Error(`no fault at ${wanted.path}: ${texts}`);
          if (wanted.line !== undefined) expect([found.line, texts]).toEqual([wanted.line, texts]);
          if (wanted.message) expect(`${found.path} ${found.message}`).toMatch(wanted.message);
          expect(await live()).toEqual(before as never);
        });
      }

      test('claims the models and routes of another', async () => {
        const copy = demo.replace(/key: 'demo'/, "key: 'bad'");
        const answer = await upload(copy);
        expectPanelRefusal(answer, { status: 409, code: 'PLUGIN_CONFLICT' });
        expect(answer.body.details).toMatchObject({ with: 'demo' });
        expect(await live()).toEqual(before as never);
        const route = await upload(copy.replaceAll('demo-video', 'bad-video'));
        expectPanelRefusal(route, { status: 409, code: 'PLUGIN_CONFLICT' });
        expect(JSON.stringify(route.body.details)).toContain('/demo/v1/videos');
        expect(await live()).toEqual(before as never);
      });

      test('is a version that exists with another source', async () => {
        const source = own(demo.replace(/key: 'demo'/, "key: 'good'"))
          .replaceAll('bad-', 'good-')
          .replaceAll("'/bad/", "'/good/");
        await admin.call('POST', '/api/plugin/task', { source });
        const serving = await live();
        const answer = await upload(`${source}\n// changed\n`);
        expectPanelRefusal(answer, { status: 409, code: 'PLUGIN_VERSION_EXISTS' });
        expect(answer.body.details).toMatchObject({ key: 'good', version: '1.0.0' });
        expect(await live()).toEqual(serving);
        const wrongHash = await ask(`${gateway.url}/api/plugin/task`, {
          token: admin.token,
          body: { source: source.replace("version: '1.0.0'", "version: '1.0.1'"), sourceSha256: 'f'.repeat(64) },
        });
        expectPanelRefusal(wrongHash, { status: 422, code: 'PLUGIN_INVALID' });
        expect(await live()).toEqual(serving);
      });

      test('the serving plugin went on and nothing was lost', async () => {
        const submitted = await submit(gateway.url, key, { model: 'demo-video-pro', prompt: 'a cat [instant]' });
        expect(submitted.status).toBe(200);
        expect((await waitForEnd(gateway.url, key, String(submitted.body.id))).status).toBe('SUCCESS');
        await expectNothingLost();
      });
    });

    describe('a vendor that refuses or fails the submission', () => {
      const table: [directive: string, Refusal & { sent: number; retry?: boolean; retryAfter?: string }][] = [
        ['[submit=garbage]', { status: 400, code: 'plugin_submit_response_failed', sent: 1, retry: false }],
        ['[submit=400]', { status: 400, code: 'vendor_rejected', says: /not allowed/, sent: 1 }],
        ['[submit=429]', { status: 429, code: 'vendor_busy', sent: 1, retryAfter: '1' }],
        ['[submit=500]', { status: 502, code: 'vendor_failed', says: /500/, sent: 1, retry: false }],
      ];
      for (const [directive, wanted] of table) {
        test(directive, async () => {
          const [tasks, orders] = [await countTasks(), await countOrders()];
          const answer = await submit(gateway.url, key, { prompt: `a cat ${directive}`, seconds: 5 });
          expectOpenAiRefusal(answer, wanted);
          expect(answer.headers.get('x-should-retry')).toBe(wanted.retry === false ? 'false' : null);
          expect(answer.headers.get('retry-after')).toBe(wanted.retryAfter ?? null);
          expect([await countTasks(), await countOrders()]).toEqual([tasks + 1, orders + wanted.sent]);
          await expectRefunded();
        });
      }

      async function expectRefunded(): Promise<void> {
        const task = await newestTask();
        expect(task.status).toBe('FAILURE');
        expect(task.fail_reason).not.toBe('');
        const { ledger } = await admin.call<{ ledger: { kind: string; amount: number }[] }>(
          'GET',
          `/api/task/${task.task_id}`,
        );
        expect(ledger.map(({ amount }) => Math.sign(amount)).sort()).toEqual([-1, 1]);
        expect(ledger.reduce((sum, { amount }) => sum + amount, 0)).toBe(0);
        expect(await admin.quota()).toBe(balance);
      }

      test('a wrong key of the channel', async () => {
        await channelFor('wrong-key', vendor.url, { key: REFUSED_KEY });
        await priced('wrong-key');
        const answer = await submit(gateway.url, key, { model: 'wrong-key', seconds: 5 });
        expectOpenAiRefusal(answer, { status: 502, code: 'vendor_failed', says: /the channel's key/ });
        expect(JSON.stringify(answer.body)).not.toContain(REFUSED_KEY);
        await expectRefunded();
      });

      test('nobody listens at the vendor’s address', async () => {
        await channelFor('closed-port', `http://127.0.0.1:${await freePort()}`);
        await priced('closed-port');
        const answer = await submit(gateway.url, key, { model: 'closed-port', seconds: 5 });
        expectOpenAiRefusal(answer, { status: 502, code: 'vendor_unreachable' });
        expect(answer.headers.get('x-should-retry')).toBe('true');
        await expectRefunded();
      });

      const hostileTable: [kind: string, Refusal & { retry: string | null }][] = [
        ['empty', { status: 400, code: 'plugin_submit_response_failed', retry: 'false' }],
        ['binary', { status: 400, code: 'plugin_submit_response_failed', retry: 'false' }],
        ['array', { status: 400, code: 'plugin_submit_response_failed', retry: 'false' }],
        ['cut-off', { status: 502, code: 'vendor_failed', retry: 'false' }],
        ['no-length-cut', { status: 502, code: 'vendor_unreachable', retry: 'false' }],
        ['not-http', { status: 502, code: 'vendor_unreachable', retry: 'false' }],
        ['redirect', { status: 502, code: 'vendor_failed', retry: 'false' }],
        ['echoes-key', { status: 400, code: 'vendor_rejected', retry: null }],
        ['deep', { status: 502, code: 'vendor_failed', retry: 'false' }],
        ['huge-header', { status: 502, code: 'vendor_unreachable', retry: 'false' }],
        ['long-id', { status: 502, code: 'plugin_submit_response_invalid', retry: 'false' }],
      ];
      for (const [kind, wanted] of hostileTable) {
        test(`a vendor’s answer: ${kind}`, async () => {
          await channelFor(kind, `${hostileUrl}/${kind}`, { key: VENDOR_KEY });
          await priced(kind);
          const answer = await submit(gateway.url, key, { model: kind, seconds: 5 });
          expectOpenAiRefusal(answer, wanted);
          expect(answer.headers.get('x-should-retry')).toBe(wanted.retry);
          expect(JSON.stringify(answer.body)).not.toContain(VENDOR_KEY);
          await expectRefunded();
        });
      }

      test('lost nothing', expectNothingLost);
    });

    describe('a vendor that answers polls badly', () => {
      const ended = async (prompt: string) => {
        const submitted = await submit(gateway.url, key, { prompt: `a cat ${prompt}`, seconds: 5 });
        expect(submitted.status).toBe(200);
        const id = String(submitted.body.id);
        const task = await waitForEnd(gateway.url, key, id);
        type Event = { kind: string; class: string; http_status: number };
        const detail = await admin.call<{ timeline: Event[] }>('GET', `/api/task/${id}`);
        return { task, id, timeline: detail.timeline };
      };

      test('garbage twice is counted and recovers', async () => {
        const { task, timeline } = await ended('[garbage=2] [duration=0.2]');
        expect(task.status).toBe('SUCCESS');
        expect(timeline.map((event) => event.class)).toContain('unrecognized');
        balance -= 50_000;
        expect(await admin.quota()).toBe(balance);
      });

      test('500 twice is counted and recovers', async () => {
        const { task, timeline } = await ended('[500=2] [duration=0.2]');
        expect(task.status).toBe('SUCCESS');
        expect(timeline.map((event) => event.class)).toContain('transient');
        balance -= 50_000;
        expect(await admin.quota()).toBe(balance);
      });

      const endings: [directives: string, failureClass: string][] = [
        ['[garbage=always] [duration=600]', 'unrecognized'],
        ['[500=always] [duration=600]', 'transient'],
        ['[404] [duration=600]', 'not_found'],
      ];
      for (const [directives, failureClass] of endings) {
        test(`${directives} ends as FAILURE with a refund`, async () => {
          const { task, id, timeline } = await ended(directives);
          expect(task.status).toBe('FAILURE');
          expect(task.fail_reason).not.toBe('');
          expect(timeline.map((event) => event.class)).toContain(failureClass);
          expect(await admin.quota()).toBe(balance);
          expect((await vendor.stats(id)).creates).toBe(1);
        });
      }

      test('lost nothing', expectNothingLost);
    });

    describe('callers without permission or money', () => {
      const stranger = `sk-${'S'.repeat(48)}`;
      let poor: string;

      beforeAll(async () => {
        await backdoor.run(
          "INSERT INTO users (username, role, status, created_at) VALUES ('stranger', 1, 1, 1) RETURNING id",
        );
        await backdoor.run(GIVE_WALLETS);
        poor = await readKey('stranger', stranger);
      });

      async function readKey(username: string, clearText: string): Promise<string> {
        const hash = createHash('sha256').update(clearText).digest('hex');
        const unlimited = dialect === 'PostgreSQL' ? 'true' : '1';
        await backdoor.run(
          `INSERT INTO api_keys (user_id, wallet_id, name, key_hash, prefix, status, unlimited_quota, quota, models, allow_ips, created_at) SELECT id, (SELECT w.id FROM wallets w WHERE w.user_id = users.id), 'k', '${hash}', 'sk-', 1, ${unlimited}, 0, '[]', '[]', 1 FROM users WHERE username = '${username}' RETURNING id`,
        );
        return clearText;
      }

      const made = async (fields: Record<string, unknown>) =>
        admin.call<{ id: number; key: string }>('POST', '/api/token', { name: 'x', unlimited_quota: true, ...fields });

      const keys: [name: string, key: () => Promise<string>, Refusal][] = [
        ['no key', async () => '', { status: 401, code: 'api_key_missing' }],
        ['an unknown key', async () => `sk-${'x'.repeat(48)}`, { status: 401, code: 'api_key_invalid' }],
        ['no key at all', async () => 'nonsense', { status: 401, code: 'api_key_invalid' }],
        ['an access token of the panel', async () => admin.token, { status: 401, code: 'api_key_invalid' }],
        [
          'an exhausted key',
          async () => (await made({ unlimited_quota: false, quota: 0 })).key,
          { status: 401, code: 'api_key_exhausted' },
        ],
        [
          'an expired key',
          async () => {
            const { id, key: text } = await made({});
            await backdoor.run(`UPDATE api_keys SET expires_at = 1000 WHERE id = ${id} RETURNING id`);
            return text;
          },
          { status: 401, code: 'api_key_expired' },
        ],
        [
          'a disabled key',
          async () => {
            const { id, key: text } = await made({});
            await admin.call('PUT', `/api/token/${id}`, { status: 2 });
            return text;
          },
          { status: 401, code: 'api_key_disabled' },
        ],
        [
          'a deleted key',
          async () => {
            const { id, key: text } = await made({});
            await admin.call('DELETE', `/api/token/${id}`);
            return text;
          },
          { status: 401, code: 'api_key_invalid' },
        ],
        [
          'a key for another model',
          async () => (await made({ models: ['demo-video-pro'] })).key,
          { status: 403, code: 'api_key_model_not_allowed' },
        ],
        [
          'a key for another address',
          async () => (await made({ allow_ips: ['203.0.113.0/24'] })).key,
          { status: 403, code: 'api_key_ip_not_allowed' },
        ],
        [
          'a key with too small a budget',
          async () => (await made({ unlimited_quota: false, quota: 10 })).key,
          { status: 429, code: 'insufficient_key_quota' },
        ],
        ['a user without money', async () => poor, { status: 429, code: 'insufficient_quota' }],
      ];
      for (const [name, make, wanted] of keys) {
        test(name, async () => {
          const used = await make();
          const [tasks, orders] = [await countTasks(), await countOrders()];
          for (const path of ['/v1/tasks/demo', '/v1/videos']) {
            const answer = await ask(`${gateway.url}${path}`, {
              ...(used === '' ? {} : { token: used }),
              body: { model: 'demo-video', prompt: 'a cat', seconds: 5 },
            });
            expectOpenAiRefusal(answer, wanted);
            expect(JSON.stringify(answer.body)).not.toContain(used === '' ? '\0' : used);
          }
          expect([await countTasks(), await countOrders()]).toEqual([tasks, orders]);
        });
      }

      test('more than the whole balance', async () => {
        await admin.call('PUT', '/api/price', {
          plugin_key: 'demo',
          model: 'demo-video-pro',
          expression: '1000 * u("seconds")',
        });
        const [tasks, orders] = [await countTasks(), await countOrders()];
        const answer = await submit(gateway.url, key, { model: 'demo-video-pro', seconds: 5 });
        expectOpenAiRefusal(answer, { status: 429, code: 'insufficient_quota' });
        expect([await countTasks(), await countOrders()]).toEqual([tasks, orders]);
        await admin.call('DELETE', '/api/price?plugin_key=demo&model=demo-video-pro');
      });

      test('a model without a price', async () => {
        const answer = await submit(gateway.url, poor, { model: 'demo-video-pro' });
        expectOpenAiRefusal(answer, { status: 400, code: 'model_price_error', says: /demo-video-pro/ });
      });

      test('a disabled user', async () => {
        await backdoor.run("UPDATE users SET status = 2 WHERE username = 'stranger' RETURNING id");
        expectOpenAiRefusal(await submit(gateway.url, poor, {}), { status: 401, code: 'api_key_user_disabled' });
      });

      test('lost nothing', expectNothingLost);
    });

    async function send(
      method: string,
      path: string,
      { body, headers }: { body: BodyInit | Record<string, unknown>; headers: Record<string, string> },
    ): Promise<Answer> {
      const isPlain = Object.getPrototypeOf(body) === Object.prototype;
      const response = await fetch(`${gateway.url}${path}`, {
        method,
        headers,
        body: isPlain ? JSON.stringify(body) : (body as BodyInit),
      });
      return {
        status: response.status,
        body: (await response.json()) as Record<string, unknown>,
        headers: response.headers,
      };
    }
  });
}

/** An endless plugin takes a processor until the time limit, so this gateway has a short one. */
test('a plugin that never ends when it is loaded is refused, and changes nothing', async () => {
  const gateway = await startGateway({ env: { SANDBOX_TIMEOUT_MILLISECONDS: '1000' } });
  try {
    const admin = await setUp(gateway);
    const plugins = () => admin.call<unknown>('GET', '/api/plugin/task');
    const before = await plugins();
    const source = `${demo.replace(/key: 'demo'/, "key: 'bad'")}\nfor (;;) {}\n`;
    const answer = await ask(`${gateway.url}/api/plugin/task`, { token: admin.token, body: { source } });
    expect([answer.status, answer.body.code]).toEqual([422, 'PLUGIN_INVALID']);
    expect(JSON.stringify(answer.body.details)).toMatch(/1000 ms/);
    expect(await plugins()).toEqual(before);
  } finally {
    await gateway.stop();
  }
});

/** A JSON body of 20 MB, with its length or piece by piece without. */
function large(kind: 'declared' | 'chunked'): BodyInit {
  if (kind === 'declared') return `{"name":"${'x'.repeat(TWENTY_MB)}"}`;
  const piece = new TextEncoder().encode('x'.repeat(64 * 1024));
  let left = TWENTY_MB;
  return new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(new TextEncoder().encode('{"name":"')),
    pull(controller) {
      left -= piece.byteLength;
      if (left > 0) controller.enqueue(piece);
      else controller.close();
    },
  });
}

/** A vendor whose first path segment says how its answers go wrong. */
function answerHostile(path: string, response: import('node:http').ServerResponse): void {
  const kind = path.split('/')[1];
  const json = (text: string, status = 200) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(text);
  switch (kind) {
    case 'empty':
      return void response.writeHead(200).end();
    case 'binary':
      return void response.writeHead(200).end(Buffer.from([0, 255, 254, 1, 2, 3]));
    case 'array':
      return void json('[1,2,3]');
    case 'cut-off':
      response.writeHead(200, { 'content-length': '1000' });
      response.write('{"id":"job_1"');
      return void setTimeout(() => response.destroy(), 50);
    case 'no-length-cut':
      return void response.socket?.destroy();
    case 'not-http':
      return void response.socket?.end('SSH-2.0-OpenSSH_9.9\r\n\r\n');
    case 'redirect':
      return void response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end();
    case 'echoes-key':
      return void json(JSON.stringify({ error: { message: `the key ${VENDOR_KEY} may not do this` } }), 422);
    case 'deep':
      return void json(`${'['.repeat(50_000)}${']'.repeat(50_000)}`);
    case 'huge-header':
      return void response.writeHead(200, { 'x-much': 'x'.repeat(200_000) }).end('{}');
    default:
      return void json(JSON.stringify({ id: 'j'.repeat(100_000), status: 'queued', progress: 0 }));
  }
}
