/** The routes that plugins declare, from the request line to the presenter, on both databases. */

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { connect } from 'node:net';
import { RULE_DATABASES } from '../../support/databases.ts';
import { type Answer, ask, signIn } from '../../support/gateway.ts';
import { reservedBy } from '../../support/reserved-paths.ts';
import { until } from '../../support/until.ts';
import { type NativeGateway, startNativeGateway } from './native-harness.ts';

const NOT_FOUND = { code: 'task_not_found', message: 'Task not found.', httpStatus: 404, retryable: false };

for (const dialect of RULE_DATABASES) {
  describe(`native routes on ${dialect}`, () => {
    let at: NativeGateway;
    let task: { id: string };
    let other: { id: string };
    let stranger: string;
    beforeAll(async () => {
      at = await startNativeGateway(dialect);
      task = await at.submit();
      other = await at.submit(undefined, 'beta');
      stranger = await newUserKey(at);
    });
    afterAll(() => at?.stop());

    const vendorError = (body: unknown) => (body as { vendor: Record<string, unknown> }).vendor;
    const submitBody = (result: unknown) => ({ result });

    describe('what the decoder of a submission may return', () => {
      const intent = { kind: 'submit', model: 'acme-1' };
      type Row = [name: string, body: object, status: number, message: string];
      test.each<Row>([
        ['no object', submitBody('submit'), 400, 'plugin returned an invalid route result'],
        ['no kind', submitBody({ model: 'acme-1' }), 400, 'plugin returned an invalid route result'],
        ['another kind', submitBody({ kind: 'render' }), 400, 'plugin returned an invalid route result'],
        ['a renderer', submitBody({ ...intent, renderer: 'x' }), 400, 'plugin returned an invalid route result'],
        ['a query on a submit route', submitBody({ kind: 'query', taskIds: [] }), 400, 'invalid route result'],
        ['no model', submitBody({ kind: 'submit' }), 400, 'model must be a string that is not blank'],
        ['a blank model', submitBody({ kind: 'submit', model: ' ' }), 400, 'model must be a string that is not blank'],
        [
          'a model that nobody serves',
          submitBody({ kind: 'submit', model: 'x' }),
          400,
          'The plugin does not serve the model "x"',
        ],
        ['an action that is not text', submitBody({ ...intent, action: 7 }), 400, 'action must be a string'],
        ['its own words', { throw: 'The prompt is missing.' }, 400, 'The prompt is missing.'],
        [
          'origins that are not a list',
          submitBody({ ...intent, originTaskIds: 'x' }),
          400,
          'a list of at most 16 task ids',
        ],
        ['an origin that is not text', submitBody({ ...intent, originTaskIds: [7] }), 400, 'a list of at most 16'],
        ['a blank origin', submitBody({ ...intent, originTaskIds: [' '] }), 400, 'a list of at most 16 task ids'],
        ['a long origin', submitBody({ ...intent, originTaskIds: ['x'.repeat(129)] }), 400, 'a list of at most 16'],
        [
          'seventeen origins',
          submitBody({ ...intent, originTaskIds: Array.from({ length: 17 }, (_, i) => `t${i}`) }),
          400,
          'a list of at most 16 task ids',
        ],
      ])('%s', async (_name, body, status, message) => {
        const sent = at.jobs.length;
        const answer = await at.send('/acme/submit', body);
        expect(answer.status).toBe(status);
        expect(vendorError(answer.body)).toMatchObject({ code: 'invalid_request', httpStatus: status });
        expect(vendorError(answer.body).message).toContain(message);
        expect(at.jobs.length).toBe(sent);
      });

      test.each([
        ['of the result', { action: ' own ' }, 'own'],
        ['of the route where that is blank', { action: ' ' }, 'route_action'],
        ['of the route where there is none', {}, 'route_action'],
      ])('the action is that %s', async (_name, more, action) => {
        const { id, job } = await at.submit({ ...intent, ...more });
        expect(job.ctx.action).toBe(action);
        expect((await at.admin.call('GET', `/api/task/${id}`)).action).toBe(action);
      });

      test("without a requestBody the client's body is not used in its place", async () => {
        const { job } = await at.submit(intent);
        expect(job.ctx.requestBody).toBeNull();
        expect(job.ctx.body).toEqual({ kind: 'json', value: { result: intent } });
      });
    });

    describe('bodies', () => {
      const directive = JSON.stringify({});
      const form = new FormData();
      form.append('directive', directive);
      form.append('pic', new File(['bytes'], 'a.png', { type: 'image/png' }));
      form.append('pic', new File(['more'], 'b.png', { type: 'image/png' }));
      type Row = [kind: string, init: RequestInit, seen: object];
      test.each<Row>([
        [
          'json',
          { headers: { 'content-type': 'application/problem+json' }, body: directive },
          { kind: 'json', value: {} },
        ],
        ['form', { body: new URLSearchParams({ directive }) }, { kind: 'form', fields: { directive: [directive] } }],
        [
          'multipart',
          { body: form },
          {
            kind: 'multipart',
            fields: { directive: [directive] },
            files: [
              { ref: 'request_file:pic', field: 'pic', filename: 'a.png', mimeType: 'image/png', size: 5 },
              { ref: 'request_file:pic#1', field: 'pic', filename: 'b.png', mimeType: 'image/png', size: 4 },
            ],
          },
        ],
        ['none', {}, { kind: 'none' }],
      ])('%s reaches the decoder and the presenter, on submit and dynamic routes', async (_kind, init, seen) => {
        for (const path of ['/acme/submit', '/acme/any']) {
          const headers = { authorization: `Bearer ${at.key}`, ...(init.headers as object) };
          const response = await fetch(`${at.url}${path}?a=1&a=2`, { method: 'POST', ...init, headers });
          expect(response.status).toBe(200);
          const { ctx, given } = (await response.json()) as { ctx: object; given: { task_id: string } };
          expect(ctx).toEqual({ path, method: 'POST', params: {}, query: { a: ['1', '2'] }, body: seen });
          const job = at.jobs.find((one) => one.ctx.publicTaskId === given.task_id);
          expect(job?.seen).toEqual(seen);
        }
      });

      test.each([
        ['another type', 'text/plain', 'hi', 415, 'invalid_request'],
        ['broken JSON', 'application/json', '{', 400, 'invalid_request'],
      ])('%s is refused in the words of the vendor', async (_name, type, body, status, code) => {
        const answer = await at.send('/acme/submit', body, { headers: { 'content-type': type } });
        expect(answer.status).toBe(status);
        expect(vendorError(answer.body)).toMatchObject({ code, httpStatus: status });
        expect(answer.body).toMatchObject({ at: '/acme/submit', body: 'none' });
      });

      test('a query route accepts no body', async () => {
        const response = await at.send(`/acme/tasks/${task.id}`, {});
        expect([response.status, vendorError(response.body).message]).toEqual([415, 'This address accepts no body.']);
        expect((await at.send(`/acme/tasks/${task.id}`, undefined, { method: 'POST' })).status).toBe(200);
        const get = await at.send(`/acme/tasks/${task.id}`, undefined, {
          headers: { 'content-type': 'application/json' },
        });
        expect(get.status).toBe(200);
      });
    });

    describe("a route's own models are matched before any plugin code runs", () => {
      const throws = { throw: 'the decoder ran' };
      type Row = [name: string, body: BodyInit | undefined, message: string];
      test.each<Row>([
        ['missing', JSON.stringify(throws), 'model is required and must be a string.'],
        ['no text', JSON.stringify({ ...throws, model: 1 }), 'model is required and must be a string.'],
        ['unlisted', JSON.stringify({ ...throws, model: 'acme-2' }), 'The model "acme-2" is not served on this route.'],
        ['in a list', JSON.stringify([{ model: 'acme-1' }]), 'model is required and must be a string.'],
        ['without a body', undefined, 'model is required and must be a string.'],
        [
          'twice in a form',
          new URLSearchParams('model=acme-1&model=acme-2'),
          'model is required and must be a string.',
        ],
      ])('%s', async (_name, body, message) => {
        const json: Record<string, string> = typeof body === 'string' ? { 'content-type': 'application/json' } : {};
        const init = body === undefined ? {} : { body };
        const headers = { authorization: `Bearer ${at.key}`, ...json };
        const response = await fetch(`${at.url}/acme/narrow`, { method: 'POST', headers, ...init });
        expect([response.status, vendorError(await response.json()).message]).toEqual([400, message]);
      });

      test('a listed model passes, and the decoder may not change it', async () => {
        const directive = JSON.stringify({ result: { kind: 'submit', model: 'acme-2' } });
        const form = { authorization: `Bearer ${at.key}` };
        const body = new URLSearchParams({ model: 'acme-1', directive });
        const response = await fetch(`${at.url}/acme/narrow`, { method: 'POST', headers: form, body });
        expect(vendorError(await response.json()).message).toBe('The plugin does not serve the model "acme-2".');
        expect((await at.send('/acme/narrow', { model: 'acme-1' })).status).toBe(200);
      });
    });

    describe('what presenters get', () => {
      test('the view of the task, with the public id in place of the vendor id in its data', async () => {
        const { id, job } = await at.submit();
        const { status, body } = await at.send(`/acme/tasks/${id}`);
        expect(status).toBe(200);
        expect(body.ctx).toEqual({
          path: `/acme/tasks/${id}`,
          method: 'GET',
          params: { task_id: id },
          query: {},
          body: { kind: 'none' },
        });
        expect(body.given).toEqual({
          task_id: id,
          platform: 'acme',
          model: 'acme-1',
          status: expect.stringMatching(/^(SUBMITTED|IN_PROGRESS)$/),
          progress: expect.stringMatching(/^\d+%$/),
          fail_reason: '',
          created_at: expect.any(Number),
          updated_at: expect.any(Number),
          finished_at: 0,
          data: {
            id,
            task_id: id,
            inner: [{ taskId: id, url: `https://cdn.example/${job.id}`, name: job.id }],
          },
          properties: { origin_model_name: 'acme-1', upstream_model_name: 'acme-1', input: '' },
        });
      });

      test('a percent-encoded path parameter of another name', async () => {
        const answer = await at.send(`/acme/named/${task.id.replace('_', '%5F')}?q=%20`);
        expect(answer.body.ctx).toMatchObject({ params: { id: task.id }, query: { q: [' '] } });
        const file = await at.send('/acme/files/a%2Fb%20c/d/%C3%A4', {}, { method: 'PUT' });
        expect(file.body.ctx).toMatchObject({
          params: { name: 'a/b c', rest: 'd/ä' },
          path: '/acme/files/a%2Fb%20c/d/%C3%A4',
        });
      });

      test('a list for a dynamic query, in the order of the requested ids, repeats included', async () => {
        const second = (await at.submit()).id;
        const ids = async (taskIds: unknown) => {
          const { status, body } = await at.send('/acme/any', submitBody({ kind: 'query', taskIds }));
          const { given } = body as { given?: { task_id: string }[] };
          return status === 200 ? given?.map(({ task_id }) => task_id) : [status, vendorError(body).message];
        };
        expect(await ids([second, task.id, second])).toEqual([second, task.id, second]);
        expect(await ids([task.id])).toEqual([task.id]);
        expect(await ids([])).toEqual([]);
        expect(await ids([task.id, 'task_unknown'])).toEqual([404, 'Task not found.']);
        expect(await ids(['\0'])).toEqual([404, 'Task not found.']);
        expect(await ids([''])).toEqual([400, expect.stringContaining('taskIds must be a list of task ids')]);
        expect(await ids('x')).toEqual([400, expect.stringContaining('taskIds must be a list of task ids')]);
        expect(await ids(Array(101).fill(task.id))).toEqual([400, expect.stringContaining('at most 100 tasks')]);
        expect(await ids(Array(100).fill(task.id))).toHaveLength(100);
      });

      test('tasks that together exceed the limit of a hook are refused; fewer are shown', async () => {
        const large = (await at.submit({ kind: 'submit', model: 'acme-1', requestBody: { large: true } })).id;
        const ids = (count: number) => submitBody({ kind: 'query', taskIds: Array(count).fill(large) });
        const { status, body } = await at.send('/acme/any', ids(20));
        expect([status, vendorError(body).message]).toEqual([400, expect.stringContaining('Ask for fewer at once')]);
        expect((await at.send('/acme/any', ids(2))).status).toBe(200);
      });

      test('a dynamic route can submit', async () => {
        const { status, body } = await at.send('/acme/any', submitBody({ kind: 'submit', model: 'acme-2' }));
        expect([status, body.given]).toEqual([200, expect.objectContaining({ model: 'acme-2' })]);
      });
    });

    describe('failing presenters', () => {
      test('after a submission: the task stays and is billed, and the gateway answers in its own format', async () => {
        await at.admin.call('PUT', '/api/price', { plugin_key: 'acme', model: 'acme-2', expression: '0.01' });
        const result = { kind: 'submit', model: 'acme-2' };
        const { status, body } = await at.send('/acme/unpresentable', submitBody(result));
        expect([status, body]).toEqual([
          200,
          {
            id: expect.stringMatching(/^task_/),
            task_id: body.id,
            status: 'queued',
            model: 'acme-2',
            created_at: expect.any(Number),
            cost: { reserved: 0.01, charged: null, currency: 'USD', usd: 0.01 },
          },
        ]);
        const detail = await at.admin.call<{ ledger: { amount: number }[] }>('GET', `/api/task/${body.id}`);
        expect(detail.ledger.map(({ amount }) => amount)).toEqual([-5000]);
      });

      test('of a query: 400 with the message of the hook', async () => {
        const { status, body } = await at.send(`/acme/unpresentable/${task.id}`);
        expect(status).toBe(400);
        expect(vendorError(body)).toEqual({
          code: 'invalid_request',
          message: 'words of the presenter',
          httpStatus: 400,
          retryable: false,
          requestId: expect.any(String),
        });
      });

      test.each(['silent', 'clumsy'])('of errors (%s): the default format, the same status', async (how) => {
        const { status, body } = await at.send(`/acme/submit?${how}=1`, { throw: 'No.' });
        expect([status, body]).toEqual([
          400,
          { error: { message: 'No.', type: 'invalid_request_error', code: 'plugin_request_invalid', param: null } },
        ]);
      });

      test('no presenter at all: the default format', async () => {
        const { status, body } = await at.send('/beta/tasks/task_unknown');
        expect([status, body]).toMatchObject([404, { error: { code: 'task_not_found' } }]);
      });
    });

    describe('failures in the format of the vendor', () => {
      const vendorSays = (requestBody: object) => submitBody({ kind: 'submit', model: 'acme-1', requestBody });
      type Row = [
        name: string,
        ask: () => Promise<Answer>,
        status: number,
        error: { code: string; message?: string; retryable: boolean },
      ];
      test.each<Row>([
        [
          'no key',
          () => ask(`${at.url}/acme/submit`, { body: {} }),
          401,
          { code: 'authentication_error', retryable: false },
        ],
        [
          'a wrong key',
          () => at.send('/acme/submit', {}, { token: `sk-${'0'.repeat(48)}` }),
          401,
          { code: 'authentication_error', retryable: false },
        ],
        [
          'the vendor refuses',
          () => at.send('/acme/submit', vendorSays({ answer: 422 })),
          400,
          {
            code: 'invalid_request',
            message: 'The vendor responded with HTTP 422: "the vendor says no"',
            retryable: false,
          },
        ],
        [
          'the vendor is busy',
          () => at.send('/acme/submit', vendorSays({ answer: 429 })),
          429,
          { code: 'rate_limit_exceeded', retryable: true },
        ],
        [
          'the vendor fails',
          () => at.send('/acme/submit', vendorSays({ answer: 500 })),
          502,
          { code: 'server_error', message: 'Task request failed', retryable: false },
        ],
        [
          'an accepted job with an unreadable answer must not be bought again',
          () => at.send('/acme/submit', vendorSays({ garbage: true })),
          502,
          { code: 'server_error', message: 'Task request failed', retryable: false },
        ],
        [
          'no channel serves',
          () => at.send('/acme/submit', submitBody({ kind: 'submit', model: 'acme-3' })),
          503,
          { code: 'server_error', message: expect.stringContaining('acme-3'), retryable: true },
        ],
      ])('%s', async (_name, call, status, error) => {
        const answer = await call();
        expect([answer.status, vendorError(answer.body)]).toMatchObject([
          status,
          { httpStatus: status, requestId: answer.headers.get('x-request-id'), ...error },
        ]);
        expect(answer.headers.get('x-should-retry') === 'false').toBe(status >= 500 && !error.retryable);
        expect(answer.headers.get('content-type')).toStartWith('application/json');
      });
    });

    describe('tasks of other users', () => {
      test.each([
        ['a task that does not exist', () => at.send('/acme/tasks/task_unknown')],
        ["IDOR: somebody else's task", () => at.send(`/acme/tasks/${task.id}`, undefined, { token: stranger })],
        [
          "IDOR: somebody else's task in a list",
          () => at.send('/acme/any', submitBody({ kind: 'query', taskIds: [task.id] }), { token: stranger }),
        ],
        ["another plugin's task", () => at.send(`/acme/tasks/${other.id}`)],
        ['an encoded slash', () => at.send(`/acme/tasks/..%2F..%2Fapi%2Fuser`)],
        ['CRLF', () => at.send(`/acme/tasks/${task.id}%0d%0aset-cookie:%20a=b`)],
        ['NUL', () => at.send(`/acme/tasks/${task.id}%00`)],
        ['a very long id', () => at.send(`/acme/tasks/${'x'.repeat(3000)}`)],
      ])('%s is not found', async (_name, call) => {
        const { status, body, headers } = await call();
        expect([status, vendorError(body)]).toMatchObject([404, NOT_FOUND]);
        expect(headers.get('set-cookie')).toBeNull();
      });
    });

    describe('tasks that refer to earlier ones', () => {
      const continues = (...originTaskIds: unknown[]) => ({ kind: 'submit', model: 'acme-1', originTaskIds });
      const refusal = async (result: object, token?: string) => {
        const { status, body } = await at.send('/acme/submit?silent=1', submitBody(result), token ? { token } : {});
        return [status, (body.error as { code?: string } | undefined)?.code];
      };

      test('driver hooks get the vendor ids, presenters and decoders do not', async () => {
        const first = await at.submit();
        const second = await at.submit();
        const { status, body } = await at.send(
          '/acme/submit',
          submitBody(continues(` ${first.id} `, second.id, first.id)),
        );
        expect(status).toBe(200);
        const { task_id: id } = body.given as { task_id: string };
        const seen = at.jobs.find(({ ctx }) => ctx.publicTaskId === id)?.ctx;
        expect(seen?.originTaskId).toBe(first.job.id);
        expect(seen?.originTasks).toMatchObject([
          { taskId: first.id, upstreamTaskId: first.job.id, action: 'route_action', data: { id: first.job.id } },
          { taskId: second.id, upstreamTaskId: second.job.id },
        ]);
        expect(Object.keys((seen?.originTasks as object[] | undefined)?.[0] ?? {}).sort()).toEqual([
          'action',
          'data',
          'status',
          'taskId',
          'upstreamTaskId',
        ]);
        expect(JSON.stringify(body)).not.toContain('originTasks"');
        expect(JSON.stringify(body.given)).not.toContain(`"${first.job.id}"`);
        expect(first.job.ctx).not.toHaveProperty('originTasks');
        expect(first.job.ctx).not.toHaveProperty('originTaskId');
      });

      test('IDOR: unknown tasks and tasks of other users are not found, with the same message', async () => {
        expect(await refusal(continues('task_unknown'))).toEqual([400, 'origin_task_not_found']);
        expect(await refusal(continues(task.id), stranger)).toEqual([400, 'origin_task_not_found']);
        expect(await refusal(continues('a\0b'))).toEqual([400, 'origin_task_not_found']);
        expect(await refusal(continues(1))).toEqual([400, 'invalid_origin_task_ids']);
        expect(await refusal(continues(other.id))).toEqual([400, 'origin_task_platform_mismatch']);
      });

      test('videos refer to them by the same rules, and their renderer does not see them', async () => {
        const first = await at.submit();
        const create = (origins: unknown) => at.send('/v1/videos', { model: 'acme-1', origins });
        const created = await create([first.id]);
        expect(created.status).toBe(200);
        const seen = at.jobs.find(({ ctx }) => ctx.publicTaskId === created.body.id)?.ctx;
        expect(seen?.originTasks).toMatchObject([{ taskId: first.id, upstreamTaskId: first.job.id }]);
        const { metadata } = (await at.send(`/v1/videos/${created.body.id}`)).body;
        expect(JSON.stringify(metadata)).not.toContain(first.job.id);
        expect(await create([other.id])).toMatchObject({
          status: 400,
          body: { error: { code: 'origin_task_platform_mismatch' } },
        });
      });

      test('a remix reaches no plugin whose decoder does not build on its video', async () => {
        const first = await at.submit();
        const remix = (id: string, body: object) => at.send(`/v1/videos/${id}/remix`, body);
        const sent = at.jobs.length;
        expect(await remix(first.id, { prompt: 'x' })).toMatchObject({
          status: 400,
          body: { error: { code: 'remix_unsupported' } },
        });
        expect((await remix('task_unknown', { prompt: 'x' })).status).toBe(404);
        expect(at.jobs.length).toBe(sent);
        expect((await remix(first.id, { origins: [first.id] })).status).toBe(200);
        expect(at.jobs.length).toBe(sent + 1);
        const edit = { video: { id: first.id }, origins: [first.id] };
        expect((await at.send('/v1/videos/edits', edit)).status).toBe(200);
        expect(at.jobs.length).toBe(sent + 2);
      });

      test('only the channel of the earlier task is used, even if it refuses', async () => {
        const apart = await at.addChannel({ name: 'apart', priority: 9 });
        const first = await at.submit();
        await at.admin.call('PUT', `/api/channel/${apart}`, { priority: -9 });
        expect(await refusal(continues(first.id, task.id))).toEqual([400, 'origin_task_channel_conflict']);
        const { body } = await at.send('/acme/submit', submitBody(continues(first.id)));
        const { task_id: id } = body.given as { task_id: string };
        expect((await at.admin.call('GET', `/api/task/${id}`)).channel_id).toBe(apart);
        const sent = at.jobs.length;
        const busy = await at.send(
          '/acme/submit',
          submitBody({ ...continues(first.id), requestBody: { answer: 429 } }),
        );
        expect([busy.status, at.jobs.length]).toEqual([429, sent + 1]);
        await at.admin.call('PUT', `/api/channel/${apart}`, { status: 2 });
        expect(await refusal(continues(first.id))).toEqual([400, 'origin_task_channel_disabled']);
        await at.admin.call('DELETE', `/api/channel/${apart}`);
        expect(await refusal(continues(first.id))).toEqual([400, 'origin_task_channel_disabled']);
      });
    });

    describe('methods', () => {
      test.each([
        ['DELETE', '/acme/submit', 'POST'],
        ['GET', '/acme/submit', 'POST'],
        ['HEAD', '/acme/start', 'GET'],
        ['HEAD', '/acme/any', 'GET, POST'],
        ['PUT', '/acme/tasks/x', 'GET, POST, HEAD'],
      ])('%s %s is 405 and says what is allowed', async (method, path, allow) => {
        const sent = at.jobs.length;
        const response = await fetch(`${at.url}${path}`, { method, headers: { authorization: `Bearer ${at.key}` } });
        expect([response.status, response.headers.get('allow')]).toEqual([405, allow]);
        expect(response.headers.get('access-control-allow-origin')).toBe('*');
        expect(at.jobs.length).toBe(sent);
      });

      test('an unknown path and a wrong method are refused in the format of the vendor', async () => {
        const ask = async (method: string, path: string, headers = { authorization: `Bearer ${at.key}` }) => {
          const response = await fetch(`${at.url}${path}`, { method, headers });
          return [response.status, (await response.json()) as unknown];
        };
        const unknown = [404, { vendor: { httpStatus: 404, retryable: false }, at: '/acme/unknown/path' }];
        expect(await ask('GET', '/acme/unknown/path')).toMatchObject(unknown);
        expect(await ask('POST', '/acme/unknown/path', { authorization: '' })).toMatchObject(unknown);
        expect(await ask('DELETE', '/acme/submit')).toMatchObject([405, { vendor: { httpStatus: 405 } }]);
        expect(await ask('GET', '/acmetoo')).toMatchObject([404, {}]);
      });

      test('HEAD on a query route is GET without the body', async () => {
        const init = { headers: { authorization: `Bearer ${at.key}` } };
        const read = async () => (await fetch(`${at.url}/acme/named/${task.id}`, init)).text();
        // The task may change between two requests.
        const before = await read();
        const head = await fetch(`${at.url}/acme/named/${task.id}`, { ...init, method: 'HEAD' });
        const get = await read();
        expect([head.status, await head.text()]).toEqual([200, '']);
        expect([before.length, get.length]).toContain(Number(head.headers.get('content-length')));
        expect(get).toContain('"method":"GET"');
      });

      test('pages of other sites may call them', async () => {
        const asks = {
          origin: 'https://site.example',
          'access-control-request-headers': 'authorization,x-stainless-os',
        };
        const preflight = await fetch(`${at.url}/acme/submit`, { method: 'OPTIONS', headers: asks });
        expect(preflight.status).toBe(204);
        expect(Object.fromEntries(preflight.headers)).toMatchObject({
          'access-control-allow-origin': '*',
          'access-control-allow-methods': 'POST',
          'access-control-allow-headers': 'authorization,x-stainless-os',
        });
        const { headers } = await at.send('/acme/submit', {}, { headers: asks });
        expect(headers.get('access-control-allow-origin')).toBe('*');
      });
    });

    describe('API keys', () => {
      test("a key's model list applies to the submitted model, whatever the body names", async () => {
        const token = await at.admin.createKey({ models: ['acme-2'] });
        const directive = (model: string) => ({ model: 'acme-2', result: { kind: 'submit', model } });
        for (const path of ['/acme/submit', '/acme/any']) {
          const refused = await at.send(path, directive('acme-1'), { token });
          expect([refused.status, vendorError(refused.body).code]).toEqual([403, 'permission_denied']);
          expect((await at.send(path, directive('acme-2'), { token })).status).toBe(200);
        }
      });

      test('a key without budget cannot submit, not even by GET or a dynamic route', async () => {
        const token = await at.admin.createKey({ unlimited_quota: false, quota: 0 });
        expect((await at.send(`/acme/tasks/${task.id}`, undefined, { token })).status).toBe(200);
        const query = submitBody({ kind: 'query', taskIds: [task.id] });
        expect((await at.send('/acme/any', query, { token })).status).toBe(200);
        const sent = at.jobs.length;
        expect((await at.send('/acme/any', {}, { token })).status).toBe(401);
        expect((await at.send('/acme/submit', {}, { token })).status).toBe(401);
        expect((await at.send('/acme/start', undefined, { token })).status).toBe(401);
        expect(at.jobs.length).toBe(sent);
      });

      test('an order beyond the budget of its key is 429 in the words of the plugin', async () => {
        await at.admin.call('PUT', '/api/price', { plugin_key: 'acme', model: 'acme-2', expression: '0.01' });
        const token = await at.admin.createKey({ budget: { amount: 4999, period: 'day' } });
        const sent = at.jobs.length;
        const { status, body } = await at.send('/acme/submit', submitBody({ kind: 'submit', model: 'acme-2' }), {
          token,
        });
        expect([status, vendorError(body)]).toMatchObject([
          429,
          {
            code: 'rate_limit_exceeded',
            retryable: false,
            message: expect.stringContaining('0.009998 USD per day'),
          },
        ]);
        expect(at.jobs.length).toBe(sent);
        await at.admin.call('DELETE', '/api/price?plugin_key=acme&model=acme-2');
      });

      test("a key's address list applies", async () => {
        const token = await at.admin.createKey({ allow_ips: ['203.0.113.0/24'] });
        const { status, body } = await at.send(`/acme/tasks/${task.id}`, undefined, { token });
        expect([status, vendorError(body).code]).toEqual([403, 'permission_denied']);
      });
    });

    test('with an Idempotency-Key a repeat buys nothing, and the presenter shows the same task', async () => {
      const headers = { 'idempotency-key': 'native-once' };
      const sent = at.jobs.length;
      const first = await at.send('/acme/submit', {}, { headers });
      const second = await at.send('/acme/submit', {}, { headers });
      const readId = ({ body }: typeof first) => (body.given as { task_id: string }).task_id;
      expect([second.status, readId(second), at.jobs.length]).toEqual([200, readId(first), sent + 1]);
      expect(second.headers.get('idempotent-replayed')).toBe('true');
    });

    test('a log line and the metrics name the route, not the path', async () => {
      const { headers } = await at.send(`/acme/tasks/${task.id}`);
      const requestId = headers.get('x-request-id') ?? '';
      const line = await until('the request is logged', () =>
        at
          .log()
          .split('\n')
          .find((one) => one.includes(requestId) && one.includes('"request"')),
      );
      expect(line).toContain('/acme/tasks/:task_id');
      expect(line).not.toContain(task.id);
      const metrics = await (await fetch(`${at.url}/metrics`)).text();
      expect(metrics).toContain('route="/acme/tasks/:task_id"');
      expect(metrics).not.toContain(task.id);
    });

    describe('one interpretation of an address', () => {
      const raw = (line: string, host = 'localhost') =>
        new Promise<string>((resolve, reject) => {
          let answer = '';
          const socket = connect(at.port, '127.0.0.1', () => {
            const head = `host: ${host}\r\nauthorization: Bearer ${at.key}\r\nconnection: close\r\n\r\n`;
            socket.write(`${line} HTTP/1.1\r\n${head}`);
          });
          socket.on('data', (chunk) => {
            answer += chunk;
          });
          socket.on('error', reject);
          socket.on('close', () => resolve(answer));
        });

      test.each([
        'GET /acme/tasks/TASK#/x',
        'GET /acme/tasks/TASK?a#/x',
        'GET /acme/named/x#/../TASK',
        'GET //acme/tasks/TASK',
        'GET /acme/tasks/TASK/',
        'GET /ACME/tasks/TASK',
        'GET /acme/tasks//TASK',
        'GET /v1/%74asks/TASK',
        'POST /acme/slash',
        'POST /acme/submit/',
      ])('%s is nothing', async (line) => {
        const sent = at.jobs.length;
        expect(await raw(line.replace('TASK', task.id))).toStartWith('HTTP/1.1 404');
        expect(at.jobs.length).toBe(sent);
      });

      test.each(['a', 'tg', 'abc', '[::1]', 'gateway.local:3000'])(
        'behind the host %s the path is the same',
        async (host) => {
          const answer = await raw(`GET /acme/tasks/${task.id}`, host);
          expect(answer).toStartWith('HTTP/1.1 200');
          expect(answer).toContain(`"path":"/acme/tasks/${task.id}"`);
        },
      );

      test.each(['GET /x/../acme/tasks/TASK', 'GET /x/%2e%2e/acme/./tasks/TASK', 'GET /acme\\tasks/TASK'])(
        '%s is read as the path that the plugin gets',
        async (line) => {
          expect(await raw(line.replace('TASK', task.id))).toContain(`"path":"/acme/tasks/${task.id}"`);
        },
      );

      test.each(['%FF', '%', '%E0%A4%A', '%zz'])('a broken escape "%s" is refused with a message', async (broken) => {
        const answer = await raw(`GET /acme/tasks/${broken}`);
        expect(answer).toStartWith('HTTP/1.1 400');
        expect(answer).toContain('bad_address');
      });
    });

    test('shadowing: no plugin may declare a path of the gateway', async () => {
      const { paths } = (await at.send('/api/openapi.json')).body as { paths: Record<string, unknown> };
      const addresses = Object.keys(paths).map((path) => path.replaceAll(/\{(\w+)\}/g, ':$1'));
      expect(addresses).toContain('/v1/videos/:task_id');
      expect(addresses.filter((address) => !reservedBy(address))).toEqual([]);
    });

    describe('plugins that change during a request', () => {
      test('a narrowed plugin submits only its remaining models', async () => {
        const ask = async () => (await at.send('/acme/submit', submitBody({ kind: 'submit', model: 'acme-2' }))).status;
        await at.admin.call('PUT', '/api/plugin/task/acme/models', { models: ['acme-1'] });
        expect(await ask()).toBe(400);
        await at.admin.call('PUT', '/api/plugin/task/acme/models', { models: null });
        expect(await ask()).toBe(200);
      });

      test('a plugin that is disabled during a request finishes it, and has no routes afterwards', async () => {
        const held = Promise.withResolvers<void>();
        at.hold(held.promise);
        const sent = at.jobs.length;
        const submitting = at.send('/acme/submit', {});
        await until('the vendor got the request', () => at.jobs.length > sent);
        await at.admin.call('POST', '/api/plugin/task/acme/status?force=true&cascade=true', { enabled: false });
        held.resolve();
        const { status, body } = await submitting;
        expect([status, body.ctx]).toMatchObject([200, { path: '/acme/submit' }]);
        at.hold(undefined);
        const gone = await at.send('/acme/submit', {});
        expect([gone.status, gone.body]).toMatchObject([404, { error: { code: 'not_found' } }]);
        await at.admin.call('POST', '/api/plugin/task/acme/status', { enabled: true });
        expect((await at.send(`/acme/tasks/${task.id}`)).status).toBe(200);
      });
    });
  });
}

/** An API key of another user. */
async function newUserKey(at: NativeGateway): Promise<string> {
  await at.admin.createUser({ username: 'someone', role: 10 });
  return (await signIn(at.url, { username: 'someone' })).createKey();
}
