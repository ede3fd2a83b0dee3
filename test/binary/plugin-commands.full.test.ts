/** The commands for plugin authors, on the compiled binary. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keepCommandRunning } from '../support/keep-command-running.ts';
import { type CommandResult, runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const ROOT = new URL('../..', import.meta.url).pathname;
const folder = temporaryFolder();
const at = (name: string): string => join(folder, name);
const read = (name: string): string => readFileSync(at(name), 'utf8');

/** `taskgate plugin …` in the folder, with nothing in its environment. */
const plugin = (...argv: string[]): Promise<CommandResult> => runCommand(['plugin', ...argv], { cwd: folder });

type Event = Record<string, unknown>;
const keepRunning = (argv: readonly string[], options: { stdin?: string; env?: Record<string, string> } = {}) =>
  keepCommandRunning(['plugin', ...argv], { cwd: folder, ...options });

beforeAll(async () => {
  expect((await plugin('new', "Paper's Films")).code).toBe(0);
});

describe('plugin new', () => {
  test('writes a plugin that passes lint and its own test, with a case for every hook', async () => {
    expect(readdirSync(folder).sort()).toEqual([
      'jsconfig.json',
      'paper-s-films.fixture.json',
      'paper-s-films.js',
      'taskgate-plugin-types',
    ]);
    expect(readdirSync(at('taskgate-plugin-types')).sort()).toEqual(
      ['package.json', 'index.d.ts', 'globals.d.ts', 'v1.d.ts', 'v1.schema.json'].sort(),
    );
    expect(await plugin('lint', 'paper-s-films.js')).toMatchObject({
      code: 0,
      out: `paper-s-films.js: paper-s-films@1.0.0 is valid
  sends requests to 127.0.0.1:4010
  reads the channel's key
  reads headers of the client's request
  offers the models paper-s-films-video
  supports the protocols proto_video
`,
    });
    const { code, out } = await plugin('test', 'paper-s-films.js', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ ok: true, uncovered: [], skipped: 0, faults: [] });
  });

  test('its types pass the type checker, which refuses a wrong one and misspelt names', async () => {
    const tsc = join(ROOT, 'node_modules/.bin/tsc');
    const check = async (): Promise<string> =>
      (await Bun.$`${tsc} -p ${at('jsconfig.json')}`.nothrow().quiet()).stdout.toString();
    expect(await check()).toBe('');
    const right = read('paper-s-films.js');
    for (const [from, to, said] of [
      ["method: 'POST'", 'method: 1', "Type 'number' is not assignable"],
      ['parseTaskResult', 'parseTaskReslt', "'parseTaskReslt' does not exist"],
      ['ctx.apiKey', 'ctx.apiKy', "'apiKy' does not exist"],
      ['export function', 'utils.sha25("x");\nexport function', "'sha25' does not exist"],
    ] as const) {
      expect(right).toContain(from);
      writeFileSync(at('wrong.js'), right.replaceAll(from, to));
      const faults = await check();
      expect(faults).toContain('wrong.js(');
      expect(faults).toContain(said);
      expect(faults).not.toContain('paper-s-films.js(');
    }
    await Bun.file(at('wrong.js')).delete();
  });

  test('overwrites no file, and reuses an identical declaration file', async () => {
    writeFileSync(at('paper-s-films.js'), `${read('paper-s-films.js')}// mine\n`);
    const again = await plugin('new', "Paper's Films");
    expect(again).toMatchObject({ code: 1, out: '' });
    expect(again.err).toContain('paper-s-films.js already exists');
    expect(read('paper-s-films.js')).toEndWith('// mine\n');
    const other = await plugin('new', 'Écran', '--json');
    expect(JSON.parse(other.out)).toMatchObject({
      ok: true,
      key: 'ecran',
      written: ['ecran.js', 'ecran.fixture.json'],
    });
    mkdirSync(at('older/taskgate-plugin-types'), { recursive: true });
    writeFileSync(at('older/taskgate-plugin-types/v1.d.ts'), 'export {};\n');
    const older = await plugin('new', 'x', '--dir', 'older');
    expect([older.code, readdirSync(at('older'))]).toEqual([1, ['taskgate-plugin-types']]);
  });

  test('a name that makes no key, or a reserved one, is wrong usage', async () => {
    for (const name of ['', '可灵', 'Runtime', 'x'.repeat(31), 'a\u2028b']) {
      const { code, err } = await plugin('new', name, '--dir', 'none');
      expect([name, code]).toEqual([name, 2]);
      expect(err).toContain('taskgate plugin new --help');
    }
    expect(existsSync(at('none'))).toBe(false);
  });
});

describe('plugin lint', () => {
  test('reports the faults of several files with position, rule and hint', async () => {
    writeFileSync(
      at('broken.js'),
      read('ecran.js').replace("key: 'ecran'", "key: 'É'").replace("'per_task'", "'sometimes'"),
    );
    writeFileSync(at('async.js'), "\n  const x = async () => require('fs');\n");
    const { code, out } = await plugin('lint', 'ecran.js', 'broken.js', 'async.js');
    expect(code).toBe(1);
    const lines = out.split('\n');
    expect(lines[0]).toBe('ecran.js: ecran@1.0.0 is valid');
    const key =
      read('broken.js')
        .split('\n')
        .findIndex((line) => line.includes("key: 'É'")) + 1;
    expect(lines.find((line) => line.endsWith('[key.format]'))).toStartWith(
      `broken.js:${key}:3: /key: must consist of`,
    );
    expect(out).toMatch(/broken\.js:\d+:3: \/fetchMode: .+ \[fetchMode.value\]\n/);
    expect(out).toContain('async.js:2:13: source: async functions are not allowed [source.async]\n    A plugin is one');
    expect(out).toContain('async.js:2:25: source: require() is not allowed [source.require]\n');
    const { files, ok } = JSON.parse((await plugin('lint', 'ecran.js', 'broken.js', '--json')).out);
    expect([ok, files[0]]).toMatchObject([false, { file: 'ecran.js', ok: true, key: 'ecran', version: '1.0.0' }]);
    expect(files[1].faults).toContainEqual(
      expect.objectContaining({ path: '/key', rule: 'key.format', line: key, column: 3 }),
    );
  });

  test('a warning exits 0; a missing file does not', async () => {
    writeFileSync(at('priced.js'), read('ecran.js').replace('author:', "description: 'Only $5', author:"));
    const warned = await plugin('lint', 'priced.js');
    expect(warned.code).toBe(0);
    expect(warned.out).toMatch(/^priced\.js:\d+:\d+: warning: \/description.*\[text\.price\]\n/);
    const absent = await plugin('lint', 'absent.js');
    expect(absent).toMatchObject({ code: 1, err: 'taskgate: absent.js cannot be read (ENOENT)\n' });
  });
});

describe('plugin test', () => {
  const cases = [
    {
      name: 'order',
      hook: 'extractUsage',
      args: [{ requestBody: { prompt: 'a', seconds: 8 } }],
      expected: { seconds: 9 },
    },
    { name: 'open', hook: 'listArtifacts', args: [{ status: 'SUCCESS' }] },
    { name: 'volatile', hook: 'chance', args: [] },
    { name: 'throws', hook: 'buildSubmitRequest', args: [{}] },
  ];
  beforeAll(() => {
    writeFileSync(at('try.js'), `${read('ecran.js')}export function chance() { return utils.uuid(); }\n`);
    writeFileSync(
      at('try.fixture.json'),
      `{"cases":[\r\n    ${cases.map((one) => JSON.stringify(one)).join(',\r\n    ')}\r\n]}\r\n`,
    );
  });

  test('a mismatch is shown line by line, and hooks without a case are named', async () => {
    const { code, out } = await plugin('test', 'try.js');
    expect(code).toBe(1);
    expect(out).toContain(
      'FAIL  order: result mismatch\n      - expected\n      + actual\n        {\n      -   "seconds": 9\n      +   "seconds": 8\n        }\n',
    );
    expect(out).toContain('FAIL  throws: Please give a prompt.');
    expect(out).toContain('note: 2 cases without "expected" only must not fail; --update writes it\n');
    expect(out).toContain(
      'note: no case covers protocols.proto_video.decodeRequest, protocols.proto_video.render, parse',
    );
    expect(out).toEndWith('2 of 4 cases passed, 2 failed\n');
  });

  test('--filter runs the matching cases, and says when none match', async () => {
    expect(await plugin('test', 'try.js', '--filter', 'OPEN')).toMatchObject({ code: 0 });
    const none = await plugin('test', 'try.js', '--filter', 'nothing');
    expect(none).toMatchObject({ code: 1 });
    expect(none.out).toEndWith('no case has "nothing" in its name\n0 of 0 cases passed; --filter left out 4\n');
  });

  test('--update adds missing results and changes nothing else', async () => {
    const before = read('try.fixture.json');
    const { code, out } = await plugin('test', 'try.js', '--update');
    expect(code).toBe(1);
    expect(out).toContain('note: "volatile" gives a different result each time');
    const expected = [{ key: 'video', type: 'video', mimeType: 'video/mp4' }];
    expect(read('try.fixture.json')).toBe(
      before.replace('"args":[{"status":"SUCCESS"}]', `$&, "expected": ${JSON.stringify(expected)}`),
    );
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    const again = JSON.parse((await plugin('test', 'try.js', '--update', '--json')).out);
    expect([again.written, again.volatile]).toEqual([[], ['volatile']]);
  });

  test('--watch runs again after every save and ends with the last verdict', async () => {
    writeFileSync(at('watch.js'), read('ecran.js'));
    const fixture = (seconds: number): string =>
      JSON.stringify({ cases: [{ ...cases[0], name: `want ${seconds}`, expected: { seconds } }] });
    writeFileSync(at('watch.fixture.json'), fixture(8));
    const watching = keepRunning(['test', 'watch.js', '--watch']);
    await watching.wait('the first run', ({ ok }) => ok === true);
    // Saved again and again, also while a run is under way: the last one is what counts.
    for (let seconds = 20; seconds < 60; seconds++) {
      writeFileSync(at('watch.fixture.json'), fixture(seconds));
      await Bun.sleep(5);
    }
    writeFileSync(at('watch.fixture.json'), '{ half a file');
    await watching.wait('the broken file', ({ error }) => error === 'watch.fixture.json is not JSON');
    writeFileSync(at('watch.fixture.json'), fixture(60));
    await watching.wait(
      'the last save',
      ({ ok, cases: run }) => ok === false && JSON.stringify(run ?? []).includes('want 60'),
    );
    writeFileSync(
      at('watch.js'),
      read('ecran.js').replace('return { seconds: readOrder(ctx.requestBody).seconds };', 'return { seconds: 60 };'),
    );
    const runs = watching.events().length;
    await until('the plugin is run again', () =>
      watching
        .events()
        .slice(runs)
        .some(({ ok }) => ok === true),
    );
    expect(await watching.interrupt()).toMatchObject({ code: 0, err: '' });
  });

  test('without a fixture beside it the plugin needs --fixture', async () => {
    const { code, err } = await plugin('test', 'broken.js');
    expect(code).toBe(2);
    expect(err).toContain('there is no broken.fixture.json: name the file with the cases with --fixture FIXTURE');
  });
});

test('plugin bench measures every hook', async () => {
  const { code, out } = await plugin('bench', 'ecran.js', '--seconds', '0.2', '--json');
  const report = JSON.parse(out) as { ok: boolean; hooks: Record<string, number>[]; slow: string[]; limitMs: number };
  expect([code, report.ok, report.limitMs]).toEqual([0, true, 5000]);
  expect(report.hooks).toHaveLength(10);
  for (const {
    p50 = -1,
    p95 = -1,
    max = -1,
    calls = 0,
    callsPerSecond = 0,
    bytesIn = 0,
    bytesOut = 0,
  } of report.hooks) {
    expect(p50 >= 0 && p50 <= p95 && p95 <= max).toBe(true);
    expect(Math.min(calls, callsPerSecond, bytesIn, bytesOut)).toBeGreaterThan(0);
  }
  expect((await plugin('bench', 'ecran.js', '--seconds', '0')).code).toBe(2);
});

describe('plugin dev', () => {
  const submit = (
    address: unknown,
    key: unknown,
    { model, prompt = 'a boat [instant]' }: { model: string; prompt?: string },
  ) =>
    fetch(`${address}/v1/videos`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, prompt }),
    });
  let dev: ReturnType<typeof keepRunning>;
  let ready: Event;
  const scratch = temporaryFolder();
  const source = (): string => read('dev.js');

  beforeAll(async () => {
    writeFileSync(
      at('dev.js'),
      read('ecran.js').replace('const { prompt,', "console.log('order', utils.unixNow());\n  const { prompt,"),
    );
    // Settings of another gateway in the environment are ignored.
    const env = {
      TMPDIR: scratch,
      PORT: '1',
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      DATA_DIR: '/nowhere',
    };
    dev = keepRunning(['dev', 'dev.js', '--port', '0', '--record', 'seen.fixture.json'], { env });
    ready = await dev.wait('it is ready', ({ event }) => event === 'ready');
  });
  afterAll(() => dev?.interrupt());

  test('a task runs against the demo vendor, and every hook call is printed without credentials', async () => {
    expect(ready).toMatchObject({ ok: true, key: 'ecran', vendor: { demo: true } });
    expect(String(ready.submit)).toContain(`curl -s ${ready.address}/v1/videos`);
    const answer = await submit(ready.address, ready.api_key, { model: 'ecran-video' });
    expect(answer.status).toBe(200);
    const { id } = (await answer.json()) as { id: string };
    const headers = { authorization: `Bearer ${ready.api_key}` };
    const video = await until('the video is done', async () => {
      const response = await fetch(`${ready.address}/v1/videos/${id}/content`, { headers });
      return response.status === 200 && response;
    });
    expect(video.headers.get('content-type')).toBe('video/mp4');
    const sent = await dev.wait('the request is built', ({ hook }) => hook === 'buildSubmitRequest');
    expect(sent).toMatchObject({ console: [expect.stringMatching(/^order \d+$/)] });
    expect(sent.result).toMatchObject({ headers: { Authorization: 'Bearer [redacted]' } });
    await dev.wait('the content is asked for', ({ hook }) => hook === 'buildContentRequest');
  });

  test('a saved file serves at once; a broken one is reported while the last good one serves on', async () => {
    writeFileSync(at('dev.js'), `${source()}\nawait 1;\n`);
    const broken = await dev.wait('the broken save', ({ event, ok }) => event === 'reloaded' && ok === false);
    expect(broken.faults).toMatchObject([{ rule: 'source.await', line: expect.any(Number) }]);
    expect((await submit(ready.address, ready.api_key, { model: 'ecran-video' })).status).toBe(200);
    // Key and models change too: the channel follows.
    writeFileSync(at('dev.js'), source().replace('\nawait 1;\n', '').replaceAll('ecran', 'screen'));
    await dev.wait('the new key', ({ event, key }) => event === 'reloaded' && key === 'screen');
    expect((await submit(ready.address, ready.api_key, { model: 'screen-video' })).status).toBe(200);
    expect((await submit(ready.address, ready.api_key, { model: 'ecran-video' })).status).toBe(404);
  });

  test('the recorded fixture passes and holds no credential, and the temporary data is gone', async () => {
    expect(readdirSync(scratch)).toHaveLength(1);
    const { code, err } = await dev.interrupt();
    expect([code, err]).toEqual([0, '']);
    expect(readdirSync(scratch)).toEqual([]);
    expect(dev.events().at(-1)).toMatchObject({ event: 'recorded', file: 'seen.fixture.json' });
    writeFileSync(at('dev.js'), source().replaceAll('screen', 'ecran'));
    const run = await plugin('test', 'dev.js', '--fixture', 'seen.fixture.json', '--json');
    const report = JSON.parse(run.out) as { ok: boolean; total: number };
    expect(report).toMatchObject({ ok: true, faults: [] });
    expect(report.total).toBeGreaterThan(5);
    expect(read('seen.fixture.json')).not.toContain(String(ready.api_key));
  });

  test("the vendor's key is read from standard input and appears nowhere", async () => {
    const seen: string[] = [];
    const vendor = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request) {
        seen.push(request.headers.get('authorization') ?? '');
        const signed = 'https://cdn.example.com/v.mp4?X-Signature=abcdef123456&id=7';
        return Response.json(
          { id: 'job_1', status: 'succeeded', access_token: 'tok-0123456789abcdef', url: signed },
          { headers: { 'set-cookie': 'sid=cookie-of-the-vendor' } },
        );
      },
    });
    const key = 'vendor-key-0123456789';
    const own = keepRunning(
      [
        'dev',
        'ecran.js',
        '--port',
        '0',
        '--base-url',
        `http://127.0.0.1:${vendor.port}`,
        '--key-stdin',
        '--record',
        'vendor.fixture.json',
      ],
      { stdin: `${key}\n`, env: { TMPDIR: scratch } },
    );
    try {
      const { address, api_key } = await own.wait('it is ready', ({ event }) => event === 'ready');
      expect((await submit(address, api_key, { model: 'ecran-video' })).status).toBe(200);
      await own.wait('the poll is read', ({ hook }) => hook === 'parseTaskResult');
      expect(await own.interrupt()).toMatchObject({ code: 0 });
    } finally {
      await own.interrupt();
      await vendor.stop(true);
    }
    expect(seen[0]).toBe(`Bearer ${key}`);
    for (const secret of [key, 'tok-0123456789abcdef', 'abcdef123456', 'cookie-of-the-vendor']) {
      expect(own.text()).not.toContain(secret);
      expect(read('vendor.fixture.json')).not.toContain(secret);
    }
    expect(await plugin('test', 'ecran.js', '--fixture', 'vendor.fixture.json')).toMatchObject({ code: 0 });
    const refused = await plugin('dev', 'ecran.js', '--base-url', 'http://127.0.0.1:1');
    expect([refused.code, refused.err.includes('--key-stdin')]).toEqual([2, true]);
    for (const address of ['ftp://127.0.0.1', 'api.example.com']) {
      const { code, err } = await plugin('dev', 'ecran.js', '--base-url', address);
      expect([code, err.includes(`--base-url: read "${address}"`)]).toEqual([2, true]);
    }
  });

  test('it changes no other folder, and does not start with a broken plugin', async () => {
    const foreign = await plugin('dev', 'ecran.js', '--port', '0', '--data-dir', '.');
    expect(foreign).toMatchObject({ code: 1 });
    expect(foreign.err).toContain('is not empty and was not created by "plugin dev"');
    const broken = await plugin('dev', 'broken.js', '--port', '0', '--data-dir', 'unused');
    expect([broken.code, existsSync(at('unused'))]).toEqual([1, false]);
    expect(broken.out).toContain('[key.format]');
  });
});
