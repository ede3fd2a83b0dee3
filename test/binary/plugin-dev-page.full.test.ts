/** The page and the prices of `plugin dev`, and `plugin record`, on the compiled binary. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { launchBrowser, openPage } from '../support/browser.ts';
import { keepCommandRunning } from '../support/keep-command-running.ts';
import { type CommandResult, runCommand } from '../support/run-command.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';

const folder = temporaryFolder();
const at = (name: string): string => join(folder, name);
const read = (name: string): string => readFileSync(at(name), 'utf8');
const plugin = (...argv: string[]): Promise<CommandResult> => runCommand(['plugin', ...argv], { cwd: folder });

let dev: ReturnType<typeof keepCommandRunning>;
let address = '';
let key = '';
let page = '';
let browser: Browser | undefined;
const bearer = () => ({ authorization: `Bearer ${key}` });
const submit = (seconds: number, prompt = 'a boat [instant]') =>
  fetch(`${address}/v1/videos`, {
    method: 'POST',
    headers: { ...bearer(), 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'ecran-video', prompt, seconds }),
  });

beforeAll(async () => {
  expect((await plugin('new', 'Écran')).code).toBe(0);
  const money = ['--price', '0.01 * u("seconds")', '--user-quota', '100000'];
  dev = keepCommandRunning(['plugin', 'dev', 'ecran.js', '--port', '0', ...money], { cwd: folder });
  const ready = await dev.wait('it is ready', ({ event }) => event === 'ready');
  address = String(ready.address);
  key = String(ready.api_key);
  page = String(ready.page);
});
afterAll(async () => {
  await browser?.close();
  await dev?.interrupt();
});

test('a price and a balance decide which tasks are taken', async () => {
  expect((await submit(8)).status).toBe(200);
  expect(await dev.wait('the end of the task', ({ event }) => event === 'ended')).toMatchObject({
    status: 'SUCCESS',
    bill: { settled: 40_000 },
  });
  const refused = await submit(20);
  expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining('insufficient_quota')]);
});

test('the calls are for a caller with the API key, and hold no credential', async () => {
  expect((await fetch(`${address}/api/dev/calls`)).status).toBe(401);
  const view = await until('the task is billed', async () => {
    const answer = await fetch(`${address}/api/dev/calls`, { headers: bearer() });
    const found = (await answer.json()) as {
      calls: { hook: string; task: string | null; answer: unknown }[];
      tasks: { id: string; status: string; bill: { settled: number | null } }[];
    };
    return found.tasks.some(({ bill }) => bill.settled !== null) && found;
  });
  expect(view.tasks).toMatchObject([
    { status: 'SUCCESS', bill: { settled: 40_000, expression: '0.01 * u("seconds")' } },
  ]);
  const [task] = view.tasks;
  expect(view.calls.filter((call) => call.task === task?.id).map(({ hook }) => hook)).toContain('parseTaskResult');
  expect(view.calls.find(({ hook }) => hook === 'buildSubmitRequest')?.answer).toMatchObject({
    value: { headers: { Authorization: 'Bearer [redacted]' } },
  });
});

test('the page shows each call as it is made, with request, answer, console and bill, and what no longer fits', async () => {
  writeFileSync(
    at('ecran.js'),
    read('ecran.js')
      .replace('MAX_SECONDS = 60', 'MAX_SECONDS = 30')
      .replace('(_ctx, body) {', "$& console.log('reading');"),
  );
  const mismatches = await dev.wait('the mismatches', ({ event }) => event === 'mismatches');
  expect(mismatches).toMatchObject({
    cases: ['a video that is too long'],
    commands: ['taskgate plugin test ecran.js', 'taskgate plugin record ecran.js'],
  });
  browser = await launchBrowser();
  const watched = await openPage(browser, address);
  const { page: shown } = watched;
  await shown.goto(page);
  await shown.getByText('One case of ecran.fixture.json no longer fits: a video that is too long').waitFor();
  await shown.getByRole('button', { name: /SUCCESS 0.0800 USD charged/ }).click();
  expect(await shown.locator('summary:visible', { hasText: 'decodeRequest' }).count()).toBe(0);
  expect(await shown.getByLabel('Bill').innerText()).toContain('40000 (0.0800 USD)');
  await shown.getByRole('button', { name: /SUCCESS/ }).click();
  // Open pages get what is new.
  expect((await submit(1)).status).toBe(200);
  await shown.getByRole('button', { name: /0.0100 USD charged/ }).waitFor();
  const call = shown.locator('details', { hasText: 'parseTaskResult' }).first();
  await call.locator('summary').click();
  await call.getByRole('heading', { name: 'Console' }).waitFor();
  const text = await call.innerText();
  for (const part of [
    'Request',
    'Answer',
    'Bill',
    'reading',
    '"status": "SUCCESS"',
    '0.01 * u("seconds")',
    '5000 (0.0100 USD)',
  ]) {
    expect(text).toContain(part);
  }
  await shown.getByLabel('Hook').fill('render');
  expect(await shown.locator('summary:visible', { hasText: 'parseTaskResult' }).count()).toBe(0);
  expect(watched.complaints).toEqual([]);
});

test('a source that the price does not fit is not served, and warnings are shown after a save', async () => {
  const before = read('ecran.js');
  const changed = before
    .replace('usageSchema: { seconds:', 'usageSchema: { length:')
    .replace('MAX_SECONDS = 30', 'MAX_SECONDS = 2');
  writeFileSync(at('ecran.js'), changed);
  const refused = await dev.wait('the refusal', ({ event, ok }) => event === 'reloaded' && ok === false);
  expect(refused.error).toStartWith('--price 0.01 * u("seconds"): ');
  expect((await submit(5)).status).toBe(200);
  writeFileSync(at('ecran.js'), `${before}\nexport const digest = () => utils.sha265('');\n`);
  expect(await dev.wait('the warning', ({ event }) => event === 'warnings')).toMatchObject({
    warnings: [{ rule: 'name.unknown', message: expect.stringContaining('sha256') }],
  });
  writeFileSync(at('ecran.js'), before);
});

test('plugin record runs a task and adds its calls; recorded cases that no longer fit are replaced', async () => {
  const recording = await plugin(
    'record',
    'ecran.js',
    '--fixture',
    'seen.fixture.json',
    '--price',
    'u("seconds")',
    '--json',
  );
  expect([recording.code, JSON.parse(recording.out)]).toMatchObject([
    0,
    { ok: true, replaced: 0, task: { status: 'SUCCESS' } },
  ]);
  const passes = async () =>
    JSON.parse((await plugin('test', 'ecran.js', '--fixture', 'seen.fixture.json', '--json')).out);
  expect(await passes()).toMatchObject({ ok: true, uncovered: [] });
  expect(read('seen.fixture.json')).not.toContain('sk-');
  const own = JSON.parse(read('seen.fixture.json'));
  own.cases.unshift({ name: 'mine', hook: 'listArtifacts', args: [{ status: 'SUCCESS' }], expected: [] });
  writeFileSync(at('seen.fixture.json'), JSON.stringify(own, null, 2));
  writeFileSync(at('ecran.js'), read('ecran.js').replace('video/mp4', 'video/webm'));
  const again = JSON.parse((await plugin('record', 'ecran.js', '--fixture', 'seen.fixture.json', '--json')).out);
  expect(again).toMatchObject({ ok: true, replaced: 1 });
  const left = await passes();
  expect(left.cases.filter(({ ok }: { ok: boolean }) => !ok).map(({ name }: { name: string }) => name)).toEqual([
    'mine',
  ]);
  const wrong = await plugin('record', 'ecran.js', '--request', 'a boat');
  expect([wrong.code, wrong.err.includes('allowed: a JSON object')]).toEqual([2, true]);
});
