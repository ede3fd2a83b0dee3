/**
 * Exports: what the list with the same filter holds, as CSV or JSON lines.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { AccessWatch, PanelPrincipal } from '../../../src/auth/index.ts';
import { taskRows } from '../../../src/http/panel-api/export/row-sources.ts';
import { createExportLimit, csvCell, streamDocument, streamExport } from '../../../src/http/panel-api/stream-export.ts';
import type { Tasks } from '../../../src/tasks/tasks.ts';
import { until } from '../../support/until.ts';
import { openPanel, type PanelCaller } from './panel-caller.ts';

let panel: PanelCaller;
const tokens = { root: '', admin: '', user: '' };
const ids = { user: 0 };
const TASKS = 450;

beforeAll(async () => {
  panel = await openPanel();
  tokens.root = (await panel.logIn('root')).token;
  panel.addUser('admin', 10);
  tokens.admin = (await panel.logIn('admin')).token;
  ids.user = panel.addUser('user', 1);
  tokens.user = (await panel.logIn('user')).token;
  const properties = `'{"input":"' || case when i = 1 then '=HYPERLINK(\\"x\\"), two' else 'a cat' end ||
    '","originModelName":"demo-video","upstreamModelName":"secret-name"}'`;
  panel.run(`insert into tasks (task_id, platform, user_id, "group", channel_id, action, status, progress, created_at, updated_at,
      submit_time, finish_time, quota, properties, execution, billing, upstream_task_id)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${TASKS})
    select 'task_' || i, 'demo', case when i = 7 then 1 else ${ids.user} end, 'default', 3, 'text_to_video', 'SUCCESS', '100%', 1000, 1,
      1000, 1060, 5000, ${properties}, '{"pluginVersion":"1.0.0"}', '{}', 'job_of_vendor_' || i from n`);
  panel.run(`insert into usage_logs (user_id, task_id, channel_id, plugin_key, model, kind, quota, detail, created_at)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${TASKS})
    select ${ids.user}, 'task_' || i, 3, 'demo', 'demo-video', 'settle', 5000, '{"price":"secret"}', 1000 + i from n`);
});
afterAll(() => panel.gateway.stop());

const at = (day: string): number => Date.parse(`${day}T12:00:00Z`) / 1000;

const read = async (path: string, token = tokens.user) => {
  const response = await fetch(`${panel.gateway.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  return { response, text: await response.text() };
};

describe('an export', () => {
  test('of tasks has every row of the list, once, in either format', async () => {
    const csv = await read('/api/task/export?format=csv');
    expect(csv.response.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(csv.response.headers.get('content-disposition')).toBe('attachment; filename="tasks.csv"');
    const lines = csv.text.trimEnd().split('\r\n');
    expect(lines).toHaveLength(TASKS);
    expect(lines[0]).toBe(
      'id,created,submitted,finished,status,model,plugin,action,prompt,fail_reason,usd,api_key_id,api_key',
    );
    expect(lines[1]).toStartWith(`task_${TASKS},1970-01-01T00:16:40.000Z,`);
    expect(new Set(lines).size).toBe(TASKS);
    const json = await read('/api/task/export?format=jsonl&order=asc&since=1000');
    const rows = json.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([rows.length, rows[0].id, rows.at(-1).id]).toEqual([TASKS - 1, 'task_1', `task_${TASKS}`]);
    expect(json.text).not.toMatch(/secret-name|user_id|channel|job_of_vendor/);
  });

  test("of tasks has the vendor's ids of the jobs for administrators", async () => {
    const { text } = await read('/api/task/export?format=csv&scope=all', tokens.admin);
    const [heading = '', row = ''] = text.split('\r\n');
    expect(row.split(',')[heading.split(',').indexOf('upstream_task_id')]).toBe(`job_of_vendor_${TASKS}`);
  });

  test('of tasks breaks off when the task at which it goes on is gone: no part looks whole', async () => {
    const feeds = [{ items: [], next: 'task_1' }, undefined];
    const lists = { feed: async () => feeds.shift() } as unknown as Tasks['lists'];
    const principal = { user: { role: 1 } } as PanelPrincipal;
    const { batches } = taskRows({ lists }, principal, { filter: {}, order: 'asc' });
    expect(await batches.next()).toEqual({ done: false, value: { rows: [] } });
    expect(batches.next()).rejects.toThrow('goes on is deleted');
  });

  test.each([
    ['/api/task/export?format=jsonl&scope=all', [403, 200, 200]],
    ['/api/user/export?format=jsonl', [403, 200, 200]],
    ['/api/audit/export?format=jsonl', [403, 403, 200]],
  ])('%s is for those who may see the list', async (path, expected) => {
    const statuses: number[] = [];
    for (const token of [tokens.user, tokens.admin, tokens.root])
      statuses.push((await read(path, token)).response.status);
    expect(statuses).toEqual(expected);
  });

  test('that is full ends with a row that says so, and the next one goes on there', async () => {
    const task = { properties: { originModelName: '', input: '' }, execution: {}, billing: {} };
    const last = Array.from({ length: 200 }, (_, i) => ({ ...task, taskId: `task_${i}` }));
    let fed = 0;
    const lists = {
      feed: async (_filter: unknown, { after }: { after?: string }) => {
        fed += 1;
        return { items: last, next: after === 'task_end' ? null : 'task_199' };
      },
    } as unknown as Tasks['lists'];
    const describe = { filter: {}, order: 'asc', cursor: undefined } as const;
    const source = taskRows({ lists }, { user: { role: 1 } } as PanelPrincipal, describe);
    const running = { access: { signal: new AbortController().signal } as AccessWatch, end: () => {} };
    const options = { running, onEnd: () => {}, onFailure: () => {} };
    const columns = [{ name: 'id', value: () => 'row' }];
    const response = streamExport({ ...source, columns }, { ...options, format: 'csv' });
    expect(response.headers.get('x-export-max-rows')).toBe('100000');
    const rows = (await response.text()).trimEnd().split('\r\n');
    expect([rows.length, fed]).toEqual([100_002, 500]);
    expect(rows.at(-1)).toBe(
      'cut after 100000 rows or a little before: export again with cursor=task_199 for those that follow',
    );

    const rest = await read('/api/task/export?format=jsonl&order=asc&cursor=task_440');
    expect(rest.text.trimEnd().split('\n')).toHaveLength(TASKS - 440);
    const usage = await read('/api/log/export?format=jsonl&cursor=11');
    expect(usage.text.trimEnd().split('\n')).toHaveLength(10);
  });

  test('of a month has what each account had, added and was charged', async () => {
    const lines = (entries: string) =>
      panel.run(`insert into ledger_entries (wallet_id, task_id, kind, attempt, amount, note, created_at, grant_key)
        select wallets.id, task, kind, 0, amount, '', at, grant_key from wallets, (${entries}) where user_id = ${ids.user}`);
    lines(`select 'task_before' as task, 'reserve' as kind, -1000 as amount, ${at('2024-01-31')} as at, null as grant_key
      union all select null, 'topup', 500000, ${at('2024-02-01')}, 'one'
      union all select 'task_of_month', 'reserve', -250000, ${at('2024-02-10')}, null
      union all select null, 'adjust', -5000, ${at('2024-02-20')}, 'two'
      union all select 'task_after', 'reserve', -7000, ${at('2024-03-01')}, null`);
    const { text } = await read('/api/user/statement/export?format=csv&month=2024-02', tokens.admin);
    const [heading = '', ...rows] = text.trimEnd().split('\r\n');
    expect(heading).toContain(
      'user_id,user,email,group,opening_usd,added_usd,adjusted_usd,tasks_usd,storage_usd,closing_usd',
    );
    const own =
      rows
        .find((row) => row.startsWith(`${ids.user},user,`))
        ?.split(',')
        .slice(-6)
        .map(Number) ?? [];
    const [opening = 0, added, adjusted, charged, storage, closing] = own;
    expect([added, adjusted, charged, storage]).toEqual([1, -0.01, -0.5, 0]);
    expect(closing).toBeCloseTo(opening + 1 - 0.01 - 0.5, 9);
    expect((await read('/api/user/statement/export?format=csv&month=2024-02')).response.status).toBe(403);
    const wrong = await read('/api/user/statement/export?format=csv&month=2024-02&zone=Mars', tokens.admin);
    expect(wrong.response.status).toBe(400);
  });

  test('of usage goes through all rows, and hides channel and price from users', async () => {
    const { text } = await read('/api/log/export?format=jsonl');
    expect(text.trimEnd().split('\n')).toHaveLength(TASKS);
    expect(text).not.toMatch(/secret|channel/);
    const { text: admins } = await read('/api/log/export?format=csv&since=1449', tokens.admin);
    expect(admins.trimEnd().split('\r\n')).toHaveLength(3);
    expect(admins).toContain('channel_id');
  });

  test('leaves a row in the audit log with its filter, and exports that row', async () => {
    await read('/api/task/export?format=csv&status=SUCCESS');
    const { text } = await read('/api/audit/export?format=jsonl&action=export.tasks', tokens.root);
    const [latest] = text.split('\n').map((line) => line !== '' && JSON.parse(line));
    expect(latest).toMatchObject({ username: 'user', detail: { format: 'csv', filter: { status: 'SUCCESS' } } });
  });

  test('asked for by HEAD is not read, however large it is, and holds no turn', async () => {
    const authorization = `Bearer ${tokens.user}`;
    for (const _ of [1, 2]) {
      const head = await fetch(`${panel.gateway.url}/api/task/export?format=csv`, {
        method: 'HEAD',
        headers: { authorization },
      });
      expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8']);
      // The length of the whole file is known to nobody who has not read it.
      expect(Number(head.headers.get('content-length') ?? 0)).toBe(0);
    }
    expect((await read('/api/task/export?format=csv')).response.status).toBe(200);
  });

  test('that finds nothing in many rows leaves other work its turns', async () => {
    let turns = 0;
    const counting = setInterval(() => {
      turns += 1;
    }, 0);
    const lists = {
      feed: async () => ({ items: [], next: turns < 5 ? 'task_1' : null }),
    } as unknown as Tasks['lists'];
    const { batches } = taskRows({ lists }, { user: { role: 1 } } as PanelPrincipal, { filter: {}, order: 'asc' });
    let read = 0;
    for (; read < 100_000 && !(await batches.next()).done; read += 1);
    clearInterval(counting);
    expect(turns).toBeGreaterThanOrEqual(5);
    expect(read).toBeLessThan(100_000);
  });

  test('without a row has its heading; an unknown format or filter is refused', async () => {
    expect((await read('/api/task/export?format=csv&model=none')).text).toStartWith('id,created,');
    expect((await read('/api/task/export?format=jsonl&model=none')).text).toBe('');
    for (const query of ['', '?format=xml', '?format=csv&page=1'])
      expect((await read(`/api/task/export${query}`)).response.status).toBe(400);
  });

  test.each([
    ['/api/task/export', '7'],
    ['/api/log/export', 'task_7'],
    ['/api/user/self/ledger/export', 'task_7'],
    ['/api/user/export', 'task_7'],
    ['/api/audit/export', 'task_7'],
  ])('of %s does not take the cursor of another list', async (path, cursor) => {
    const { response, text } = await read(`${path}?format=jsonl&cursor=${cursor}`, tokens.root);
    expect([response.status, text]).toEqual([400, expect.stringContaining('"cursor"')]);
  });

  test('runs once at a time for a user, and ends when its client leaves', async () => {
    const leaving = new AbortController();
    const held = await fetch(`${panel.gateway.url}/api/log/export?format=jsonl`, {
      headers: { authorization: `Bearer ${tokens.admin}` },
      signal: leaving.signal,
    });
    expect(held.status).toBe(200);
    leaving.abort();
    await until(
      'the next one may run',
      async () => (await read('/api/log/export?format=csv', tokens.admin)).response.status === 200,
    );
  });

  test('of one’s own account holds no turn after its proof was refused', async () => {
    const ask = () => panel.send('/api/user/self/export', { method: 'POST', token: tokens.user });
    for (const _ of [1, 2]) expect((await ask()).status).toBe(403);
    const headers = await panel.prove(tokens.user, 'account.export');
    const document = await panel.send('/api/user/self/export', { method: 'POST', token: tokens.user, headers });
    expect(document.json.tasks).toHaveLength(TASKS - 1);
  });
});

describe('slow readers', () => {
  const request = new Request('http://localhost/');
  const principal = (id: number, role: number) => ({ user: { id, role } }) as PanelPrincipal;
  const watch = (signal: AbortSignal): AccessWatch => ({ signal, hasEnded: () => false, stop: () => {} });
  const createLimit = () => createExportLimit({ watchAccess: (_, signal) => watch(signal) });

  test('users who hold all places of users leave administrators theirs', () => {
    const begin = createLimit();
    const held = [10, 11, 12, 13].map((id) => begin(principal(id, 1), request));
    expect(() => begin(principal(14, 1), request)).toThrow('You already have an export running');
    begin(principal(1, 100), request).end();
    held[0]?.end();
    held[0]?.end();
    begin(principal(14, 1), request);
    expect(() => begin(principal(15, 1), request)).toThrow('You already have an export running');
  });

  test('stolen session: a document breaks off once the access ends, and gives its place back', async () => {
    const revoked = new AbortController();
    let ended = 0;
    const pieces = (async function* () {
      for (;;) yield 'x'.repeat(1000);
    })();
    const end = () => {
      ended += 1;
    };
    const body = new Response(streamDocument(pieces, { access: watch(revoked.signal), end })).body;
    const reader = body?.getReader();
    expect((await reader?.read())?.value?.byteLength).toBeGreaterThan(0);
    revoked.abort();
    const readAll = async () => {
      while (!(await reader?.read())?.done);
    };
    await expect(readAll()).rejects.toThrow();
    expect(ended).toBe(1);
  });
});

test('formulas in cells: spreadsheets take them for text', () => {
  const cells = [
    '=1+1',
    '+1',
    '-1',
    '@x',
    ' =1',
    '\t=1',
    '|x',
    '＝1+1',
    '\u3000＠x',
    'a cat;\u3000＝1+1',
    'plain',
    'a "b", c',
    'two\nlines',
    'a cat;=1+1',
    'a cat\n"@x',
    'a;b - c',
    -1,
    0.5,
    null,
    undefined,
  ];
  expect(cells.map(csvCell)).toEqual([
    ...['"\'=1+1"', '"\'+1"', '"\'-1"', '"\'@x"', '"\' =1"', '"\'\t\'=1"', '"\'|x"', '"\'＝1+1"'],
    ...['"\'\u3000＠x"', '"a cat;\u3000\'＝1+1"'],
    ...['plain', '"a ""b"", c"', '"two\nlines"'],
    ...['"a cat;\'=1+1"', '"a cat\n""\'@x"', 'a;b - c', '-1', '0.5', '', ''],
  ]);
});
