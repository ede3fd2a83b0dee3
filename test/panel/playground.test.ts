/**
 * The playground in the browser, with the compiled binary and the demo vendor; and its code
 * samples, executed.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page, Route } from 'playwright-core';
import { codeGenerators } from '../../src/panel/ui/code/generate-code.ts';
import { insecureHost } from '../support/browser.ts';
import { testInFullRun } from '../support/full-run.ts';
import { ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import {
  alert,
  findAxeViolations,
  findOverflow,
  heading,
  screens,
  signInAsRoot,
  signOut,
  usePanel,
  waitForNotice,
  waitForText,
  waitForValue,
} from './harness.ts';

let vendor: VendorProcess;

const panel = usePanel(
  async (root) => {
    vendor = await startVendor();
    await root.createChannel(vendor.url);
    const price = { plugin_key: 'demo', model: 'demo-video', expression: '0.02 * u("seconds")' };
    await root.call('PUT', '/api/price', price);
  },
  { TASK_POLL_INTERVAL_SECONDS: '1' },
);
afterAll(() => vendor?.stop());

async function open(path = '/playground?model=demo-video', options: Parameters<typeof panel.openAs>[2] = {}) {
  const watched = await panel.openAs(ROOT, path, options);
  await watched.page.getByRole('region', { name: 'Request', exact: true }).waitFor();
  return watched;
}

const prompt = (page: Page) => page.getByLabel('Prompt');
const model = (page: Page) => page.getByRole('combobox', { name: 'Model' });
const run = (page: Page) => page.getByRole('button', { name: /^Run( ·|$)/ });
const showJson = (page: Page) => page.getByText('JSON', { exact: true }).click();
const showForm = (page: Page) => page.getByText('Form', { exact: true }).click();
const editor = (page: Page) => page.getByLabel('Request JSON');
const readEditor = async (page: Page): Promise<unknown> => {
  const lines = editor(page).locator('.cm-line');
  await lines.first().waitFor();
  return JSON.parse((await lines.allTextContents()).join('\n'));
};
const openMore = (page: Page) => page.getByRole('button', { name: /^More settings/ }).click();
const chooseFile = async (page: Page, path: string): Promise<void> => {
  const choose = page.locator('input[type="file"]');
  if (!(await page.getByLabel('Field name').isVisible())) await openMore(page);
  await choose.setInputFiles(path);
};
const writeFile = (name: string, content: string): string => {
  const path = join(temporaryFolder(), name);
  writeFileSync(path, content);
  return path;
};
/** One pixel. */
const dotPng = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const dataUrl = (content: string): string => `data:image/png;base64,${Buffer.from(content).toString('base64')}`;

/**
 * Makes the page believe that the gateway was unreachable for a moment, so that it refetches
 * everything.
 */
async function forceRefetch(page: Page): Promise<void> {
  await page.route('**/api/status', (route) => route.abort(), { times: 1 });
  await page.evaluate(() => window.dispatchEvent(new Event('offline')));
}

type FileEvent = { event: 'drop' | 'paste'; at: string; name: string; type: string; text?: string };

/** Drops or pastes a file, and says whether the page kept the browser from handling it. */
const dispatchFile = (page: Page, given: FileEvent): Promise<boolean> =>
  page.evaluate(({ event, at, name, type, text }) => {
    const data = new DataTransfer();
    data.items.add(new File(['content'], name, { type }));
    if (text !== undefined) data.setData('text/plain', text);
    const init = { bubbles: true, cancelable: true };
    const raised =
      event === 'drop'
        ? new DragEvent('drop', { ...init, dataTransfer: data })
        : new ClipboardEvent('paste', { ...init, clipboardData: data });
    document.querySelector(at)?.dispatchEvent(raised);
    return raised.defaultPrevented;
  }, given);

type Refusal = { status: number; code: string; message: string; headers?: Record<string, string> };

const refuse = (route: Route, { status, code, message, headers = {} }: Refusal) =>
  route.fulfill({ status, headers, json: { success: false, code, message, request_id: 'req_1' } });

const watchedTask = (page: Page): string => new URL(page.url()).searchParams.get('task') ?? '';
const readTask = (id: string) => panel.root().call<Record<string, unknown>>('GET', `/api/task/${id}`);

describe('a request', () => {
  test('shows its price first, runs in place and plays its result', async () => {
    const { page, apiCalls } = await open('/playground?model=demo-video');
    // Before a prompt is typed.
    await page.getByRole('button', { name: 'Run · $0.08' }).waitFor();
    await waitForText(page, /"prompt": "A paper boat on a quiet lake at dawn"/);
    await page.getByRole('button', { name: 'City in the rain' }).click();
    await prompt(page).fill('a red kite [duration=1]');
    await page.getByRole('button', { name: 'Run · $0.16' }).waitFor();
    expect(apiCalls).not.toContain('POST /api/task');

    await run(page).click();
    const task = page.getByRole('region', { name: 'demo-video' });
    await task.locator('video').waitFor();
    await task.getByText(/^Finished in/).waitFor();
    expect(await readTask(watchedTask(page))).toMatchObject({
      request: { body: { prompt: 'a red kite [duration=1]', seconds: 8, resolution: '1080p' } },
    });

    await page.reload();
    await task.locator('video').waitFor();
    // The layout shifts when the video loads, and a button that moves between press and release is
    // not clicked.
    await task.getByRole('button', { name: 'More' }).press('Enter');
    await page.getByRole('menuitem', { name: 'View task details' }).press('Enter');
    await heading(page, 'a red kite [duration=1]').waitFor();
  });

  testInFullRun('on a phone, its result comes into sight', async () => {
    const { page } = await open('/playground?model=demo-video');
    await page.setViewportSize(screens.phone);
    await prompt(page).fill('a kite on a phone [duration=0.2]');
    await run(page).click();
    const task = page.getByRole('region', { name: 'demo-video' });
    await task.locator('video').waitFor();
    const { y } = (await task.boundingBox()) ?? { y: -1 };
    expect(y).toBeGreaterThanOrEqual(0);
    expect(y).toBeLessThan(200);
  });

  testInFullRun('is kept as a draft, takes a pasted image, and runs twice by Ctrl+Enter', async () => {
    const { page } = await open('/playground?model=demo-video');
    await prompt(page).fill('two kites [duration=0.2]');
    await until('the draft is kept', () =>
      page.evaluate(() => (localStorage.getItem('taskgate.drafts') ?? '').includes('two kites')),
    );
    await page.goto(`${panel.origin()}/models`);
    await page.goto(`${panel.origin()}/playground?model=demo-video`);
    await waitForValue(prompt(page), 'two kites [duration=0.2]');
    await page.evaluate(() => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File(['not a picture'], 'pasted.png', { type: 'image/png' }));
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    });
    await page.getByRole('img', { name: 'pasted.png' }).waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Remove pasted.png' }).click();
    // A browser opens a file that nobody takes in place of the page, and what was typed is gone.
    expect(await dispatchFile(page, { event: 'drop', at: 'aside', name: 'notes.txt', type: 'text/plain' })).toBe(true);
    await waitForText(page, 'notes.txt is not an image, video or audio file.');
    await dispatchFile(page, { event: 'drop', at: 'aside', name: 'clip.mp4', type: 'video/mp4' });
    await waitForText(page, 'demo-video has no empty field for clip.mp4.');
    // Office programs put a picture of the copied words beside them.
    const copied = { event: 'paste', at: 'textarea', name: 'words.png', type: 'image/png', text: 'words' } as const;
    expect(await dispatchFile(page, copied)).toBe(false);
    await page.getByRole('radiogroup', { name: 'Runs' }).getByText('2', { exact: true }).click();
    await page.getByRole('button', { name: 'Run · $0.16' }).waitFor();
    await page.keyboard.press('Control+Enter');
    await until('two tasks are shown', () => watchedTask(page).split(',').length === 2);
    await page.locator('video').nth(1).waitFor();
    await page.getByRole('navigation', { name: 'Your latest tasks' }).getByText('two kites').first().waitFor();
  });

  testInFullRun('its draft ends with the session that typed it', async () => {
    const { page } = await panel.open();
    await signInAsRoot(page, panel.origin());
    await page.goto(`${panel.origin()}/playground?model=demo-video`);
    await prompt(page).fill('a secret kite');
    const isKept = () => page.evaluate(() => JSON.stringify({ ...localStorage }).includes('a secret kite'));
    await until('the draft is kept', isKept);
    await page.reload();
    await waitForValue(prompt(page), 'a secret kite');
    await signOut(page);
    await page.getByRole('button', { name: 'Sign in', exact: true }).waitFor();
    expect(await isKept()).toBe(false);
  });

  testInFullRun('takes a dropped image, and goes four times to each of two models', async () => {
    const { page } = await open('/playground?model=demo-video');
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
    });
    await prompt(page).fill('side by side [duration=0.2]');
    await page.getByRole('region', { name: 'Request', exact: true }).evaluate((target, png) => {
      const bytes = Uint8Array.from(atob(png), (letter) => letter.charCodeAt(0));
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([bytes], 'dropped.png', { type: 'image/png' }));
      for (const kind of ['dragover', 'drop'])
        target.dispatchEvent(new DragEvent(kind, { dataTransfer, bubbles: true, cancelable: true }));
    }, dotPng);
    const preview = page.getByRole('img', { name: 'dropped.png' });
    await preview.waitFor();
    await until('the preview is drawn', () =>
      preview.evaluate((image) => (image as HTMLImageElement).naturalWidth > 0),
    );
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await page.getByRole('combobox', { name: 'Compare with' }).click();
    await page.getByRole('option', { name: /^demo-video-pro/ }).click();
    await page.getByRole('radiogroup', { name: 'Runs' }).getByText('4', { exact: true }).click();
    await waitForText(page, '8 tasks');
    await page.getByRole('button', { name: /^Run( ·|$)/, disabled: false }).waitFor();
    await page.keyboard.press('Control+Enter');
    await until('eight tasks are shown', () => watchedTask(page).split(',').length === 8);
    const bodies = await Promise.all(watchedTask(page).split(',').map(readTask));
    expect(bodies.map(({ model }) => model).toSorted()).toEqual([
      ...Array.from({ length: 4 }, () => 'demo-video'),
      ...Array.from({ length: 4 }, () => 'demo-video-pro'),
    ]);
    await page.locator('video').nth(7).waitFor();
    expect(refused).toEqual([]);
  });

  testInFullRun('is not offered at the price of the previous input', async () => {
    const { page } = await open('/playground?model=demo-video');
    await prompt(page).fill('a kite');
    await page.getByLabel('Duration').fill('12');
    await page.getByRole('button', { name: 'Run · $0.24' }).waitFor();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    await page.route('**/api/task/quote', async (route) => {
      await answered;
      await route.continue();
    });
    await page.getByLabel('Duration').fill('50');
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
    answer();
    await page.getByRole('button', { name: 'Run · $1.00' }).waitFor();
  });

  testInFullRun('repeated after an error is a new request', async () => {
    const { page } = await open('/playground?model=demo-video');
    const keys = new Set<string>();
    page.on('request', (request) => {
      const key = request.headers()['idempotency-key'];
      if (key !== undefined) keys.add(key);
    });
    await prompt(page).fill('a kite [submit=garbage]');
    await run(page).click();
    await alert(page).waitFor();
    await run(page).click();
    await until('it is sent once more', () => keys.size === 2);
  });

  testInFullRun('double charge: repeated after an unknown outcome is the same request', async () => {
    const { page } = await open('/playground?model=demo-video');
    const sent: (string | undefined)[] = [];
    await page.route('**/api/task', async (route) => {
      sent.push(route.request().headers()['idempotency-key']);
      const answer = await route.fetch();
      if (sent.length > 1) return route.fulfill({ response: answer });
      const json = { success: false, code: 'STORE_OUTCOME_UNKNOWN', message: 'Nobody knows.' };
      return route.fulfill({ status: 503, json });
    });
    await prompt(page).fill('one kite');
    await run(page).click();
    await alert(page).first().waitFor();
    await run(page).click();
    await until('it is sent once more', () => sent.length === 2);
    expect(sent[0]).toBe(sent[1] as string);
  });

  testInFullRun('double charge: changed and changed back after an unknown outcome is the same request', async () => {
    const { page } = await open('/playground?model=demo-video');
    const keys: string[] = [];
    const bodies: (string | null)[] = [];
    await page.route('**/api/task', (route) => {
      keys.push(route.request().headers()['idempotency-key'] ?? '');
      bodies.push(route.request().postData());
      return keys.length < 4
        ? refuse(route, { status: 503, code: 'STORE_OUTCOME_UNKNOWN', message: 'Nobody knows.' })
        : route.continue();
    });
    await prompt(page).fill('a red kite [duration=0.2]');
    await page.getByLabel('Duration').fill('4');
    for (const typed of ['', 'a blue kite [duration=0.2]', 'a red kite [duration=0.2]']) {
      await run(page).click();
      await alert(page).waitFor();
      await prompt(page).fill(typed);
      if (typed === '') await prompt(page).fill('a red kite [duration=0.2]');
    }
    await run(page).click();
    await page.getByRole('region', { name: 'demo-video' }).waitFor();
    await run(page).click();
    await until('all are sent', () => keys.length === 5);
    const [first, again, other, back, next] = keys;
    expect([again, back]).toEqual([first, first]);
    expect([bodies[1], bodies[3]]).toEqual([bodies[0] as string, bodies[0] as string]);
    expect(new Set([first, other, next]).size).toBe(3);
  });

  testInFullRun('is synchronized between form and JSON', async () => {
    const { page } = await open();
    await prompt(page).fill('a "quoted" cat');
    const seconds = page.getByLabel('Duration');
    for (const typed of ['0.5', '10.05']) {
      await seconds.fill('');
      await seconds.pressSequentially(typed);
      expect(await seconds.inputValue()).toBe(`${typed} sec`);
    }
    await seconds.fill('7');
    await page.getByRole('combobox', { name: 'Resolution' }).click();
    await page.getByRole('option', { name: '720p – High definition' }).click();
    await showJson(page);
    await editor(page).waitFor();
    expect(await readEditor(page)).toEqual({
      model: 'demo-video',
      prompt: 'a "quoted" cat',
      seconds: 7,
      resolution: '720p',
    });

    await editor(page).fill('{"model": "demo-video", "prompt": "a dog", "script": "fail"}');
    await showForm(page);
    expect(await prompt(page).inputValue()).toBe('a dog');
    expect(await page.getByLabel('Duration').inputValue()).toBe('');
    await page.getByText('script: "fail"').waitFor();
    await page.getByRole('button', { name: 'Remove script' }).click();
    await showJson(page);
    expect(await readEditor(page)).toEqual({ model: 'demo-video', prompt: 'a dog' });

    await editor(page).fill('{"model": ');
    await alert(page)
      .getByText(/^Invalid JSON/)
      .waitFor();
    expect(await run(page).isDisabled()).toBe(true);
    await editor(page).fill('[]');
    await alert(page)
      .getByText(/^The request must be a single JSON object/)
      .waitFor();
  });

  testInFullRun('with broken JSON shows the error in the form as well', async () => {
    const { page } = await open();
    await showJson(page);
    await editor(page).fill('{"model": ');
    await showForm(page);
    await prompt(page).waitFor();
    await waitForText(page, /^The JSON request is not valid\. Invalid JSON/);
    expect(await run(page).isDisabled()).toBe(true);
    await prompt(page).fill('mended');
    await page.getByText(/^The JSON request is not valid/).waitFor({ state: 'detached' });
    expect(await run(page).isDisabled()).toBe(false);
  });

  testInFullRun('that would be refused says so at its field, cannot run, and leaves the console empty', async () => {
    const { page } = await open('/playground?model=demo-video');
    const printed: string[] = [];
    page.on('console', (message) => printed.push(message.text()));
    await waitForText(page, 'Enter a prompt to run.');
    expect(await run(page).isDisabled()).toBe(true);
    await prompt(page).fill('   ');
    await until(
      'the fault is beside its field',
      async () => (await prompt(page).getAttribute('aria-invalid')) === 'true',
    );
    await waitForText(page, 'Please give a prompt.');
    expect(await run(page).isDisabled()).toBe(true);
    await prompt(page).fill('a kite');
    await page.getByRole('button', { name: /^Run ·/, disabled: false }).waitFor();
    await prompt(page).fill('too long');
    await page.getByLabel('Duration').fill('300');
    await waitForText(page, '1–60 s');
    await waitForText(page, 'Outside the allowed range.');
    await waitForText(page, 'Correct “Duration” first.');
    expect(await run(page).isDisabled()).toBe(true);
    expect(await prompt(page).inputValue()).toBe('too long');
    await openMore(page);
    await page.getByRole('textbox', { name: 'Width × height' }).fill('large');
    await waitForText(page, 'Use the format 1280x720.');
    expect(printed).toEqual([]);
  });

  testInFullRun('carries a file', async () => {
    const { page } = await open();
    await prompt(page).fill('from a picture [duration=0.2]');
    const path = join(temporaryFolder(), 'dot.png');
    writeFileSync(path, Buffer.from(dotPng, 'base64'));
    await openMore(page);
    await page.locator('input[type="file"]').setInputFiles(path);
    await page.getByText('image: "<file: dot.png>"').waitFor();
    await waitForText(page, /"image": "data:image\/png;base64,…"/);
    await run(page).click();
    await page.locator('video').waitFor();
    expect(await readTask(watchedTask(page))).toMatchObject({
      action: 'image_to_video',
      request: { body: { image: `data:image/png;base64,${dotPng}` } },
    });
  });

  testInFullRun('carries a file that was removed and chosen again', async () => {
    const { page } = await open();
    const path = writeFile('dot.png', 'a dot');
    const line = page.getByText('image: "<file: dot.png>"');
    await chooseFile(page, path);
    await line.waitFor();
    await page.getByRole('button', { name: 'Remove image' }).click();
    await line.waitFor({ state: 'detached' });
    await chooseFile(page, path);
    await line.waitFor();
  });

  testInFullRun('waits for a file being read; of two files for a field the later one wins', async () => {
    const { page } = await open();
    await prompt(page).fill('from a picture');
    await page.evaluate(() => {
      const read = FileReader.prototype.readAsDataURL;
      FileReader.prototype.readAsDataURL = function (this: FileReader, file: File) {
        const done = new Promise((resolve) => this.addEventListener('loadend', resolve));
        const release = (): Promise<unknown> => {
          read.call(this, file);
          return done;
        };
        if (file.name === 'first.png') Object.assign(globalThis, { release });
        else void release();
      };
    });
    await chooseFile(page, writeFile('first.png', 'first'));
    await waitForText(page, 'Reading first.png…');
    expect(await run(page).isDisabled()).toBe(true);
    await chooseFile(page, writeFile('second.png', 'second'));
    const line = page.getByText('image: "<file: second.png>"');
    await line.waitFor();
    expect(await run(page).isDisabled()).toBe(false);
    await page.evaluate(() => (globalThis as unknown as { release(): Promise<unknown> }).release());
    await prompt(page).fill('drawn after that');
    await waitForText(page, /"prompt": "drawn after that"/);
    expect(await line.count()).toBe(1);
  });

  testInFullRun('carries two files with the same name', async () => {
    const { page } = await open();
    const sent: unknown[] = [];
    await page.route('**/api/task', (route) => {
      sent.push(route.request().postDataJSON());
      return refuse(route, { status: 400, code: 'VALIDATION_FAILED', message: 'Not now.' });
    });
    await prompt(page).fill('from here to there');
    await chooseFile(page, writeFile('dot.png', 'first'));
    await page.getByText('image: "<file: dot.png>"').waitFor();
    await page.getByLabel('Field name').fill('last_frame');
    await chooseFile(page, writeFile('dot.png', 'last'));
    await page.getByText(/^last_frame: /).waitFor();
    await run(page).click();
    await until('it is sent', () => sent.length > 0);
    expect(sent).toMatchObject([{ body: { image: dataUrl('first'), last_frame: dataUrl('last') } }]);
    await page.getByText('last_frame: "<file: dot.png (2)>"').waitFor();
  });

  test('double charge: repeated after a lost answer is charged once', async () => {
    const { page } = await open();
    await prompt(page).fill('once only [duration=0.2]');
    await page.getByRole('button', { name: /^Run ·/ }).waitFor();
    await page.route('**/api/task', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await run(page).click();
    await waitForText(page, 'No response in time. Press again; you won’t be charged twice for the same request.');
    await page.unroute('**/api/task');
    await run(page).click();
    await page.locator('video').waitFor();
    const found = await panel.root().call<{ total: number }>('GET', '/api/task?q=once%20only');
    expect(found.total).toBe(1);
  });

  testInFullRun('of a task is copied', async () => {
    const body = { model: 'demo-video', prompt: 'a first try [duration=0.2]', seconds: 9, script: 'instant' };
    const { id } = await panel.root().call<{ id: string }>('POST', '/api/task', { plugin_key: 'demo', body });
    const { page } = await open(`/playground?from=${id}`);
    expect(await prompt(page).inputValue()).toBe(body.prompt);
    expect(await page.getByLabel('Duration').inputValue()).toBe('9 sec');
    await page.getByText('script: "instant"').waitFor();
  });

  testInFullRun('of a task that loads late is copied then', async () => {
    const body = { model: 'demo-video-pro', prompt: 'read late [duration=0.2]', seconds: 9 };
    const { id } = await panel.root().call<{ id: string }>('POST', '/api/task', { plugin_key: 'demo', body });
    const { page } = await open();
    // The list of the latest tasks may read it too, so refusals are not counted.
    let isMissing = true;
    await page.route(`**/api/task/${id}`, (route) =>
      isMissing ? refuse(route, { status: 404, code: 'TASK_NOT_FOUND', message: 'No.' }) : route.fallback(),
    );
    await page.goto(`${panel.origin()}/playground?from=${id}`);
    await waitForText(page, 'That task’s request could not be loaded.');
    await prompt(page).fill('typed later');
    const asked = page.waitForResponse(`**/api/task/${id}`);
    await forceRefetch(page);
    await asked;
    await waitForText(page, 'That task’s request could not be loaded.');
    expect(await prompt(page).inputValue()).toBe('typed later');
    isMissing = false;
    await forceRefetch(page);
    await waitForValue(prompt(page), body.prompt);
    expect(await model(page).inputValue()).toBe(body.model);
    await showJson(page);
    expect(await readEditor(page)).toEqual(body);
  });

  testInFullRun('answered late does not navigate away from another page', async () => {
    const { page } = await open('/playground?model=demo-video');
    await prompt(page).fill('a slow kite [duration=0.2]');
    await page.getByRole('button', { name: /^Run ·/ }).waitFor();
    const [asked, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route('**/api/task', async (route) => {
      asked.resolve();
      await held.promise;
      await route.continue();
    });
    await run(page).click();
    await asked.promise;
    await page.getByRole('link', { name: 'Tasks', exact: true }).click();
    await heading(page, 'Tasks').waitFor();
    // The quote is requested last.
    const heard = page.waitForRequest('**/api/task/quote');
    held.resolve();
    await heard;
    await waitForText(page, /a slow kite/);
    expect(new URL(page.url()).pathname).toBe('/tasks');
  });
});

describe('the model', () => {
  testInFullRun('stays selected when the offers are refetched in another order', async () => {
    const { page } = await open();
    await page.route('**/api/model', async (route) => {
      const answer = await route.fetch();
      const { data, ...rest } = (await answer.json()) as { data: unknown[] };
      await route.fulfill({ response: answer, json: { ...rest, data: data.toReversed() } });
    });
    const first = await model(page).inputValue();
    await forceRefetch(page);
    await until('the offers are read again', async () => {
      await model(page).click();
      const option = await page.getByRole('option').first().textContent();
      await page.keyboard.press('Escape');
      return option !== first;
    });
    expect(await model(page).inputValue()).toBe(first);
    await waitForText(page, new RegExp(`"model": "${first}"`));
  });

  testInFullRun('follows the URL', async () => {
    const { page } = await open('/playground?model=demo-video');
    await prompt(page).fill('a kite');
    await page.evaluate(() => {
      history.pushState(history.state, '', '/playground?model=demo-video-pro');
      window.dispatchEvent(new PopStateEvent('popstate', { state: history.state }));
    });
    await waitForValue(model(page), 'demo-video-pro');
    await showJson(page);
    expect(await readEditor(page)).toEqual({ model: 'demo-video-pro', prompt: 'a kite' });
  });

  testInFullRun('of a plugin that does not offer it falls back to another plugin with a notice', async () => {
    const { page } = await open('/playground?model=demo-video&plugin=gone');
    await waitForText(page, /^demo-video \(gone\) is not available to you\./);
    expect(await model(page).inputValue()).toBe('demo-video');
    await page.goto(`${panel.origin()}/playground?model=gone`);
    await waitForText(page, /^gone is not available to you\./);
    const shown = await model(page).inputValue();
    await waitForText(page, new RegExp(`"model": "${shown}"`));
    await model(page).click();
    await page.getByRole('option', { name: 'demo-video-pro' }).click();
    await page.getByText(/^gone is not offered/).waitFor({ state: 'detached' });
    await waitForText(page, /"model": "demo-video-pro"/);
    await page.waitForURL(/model=demo-video-pro/);
  });
});

describe('errors keep their meaning', () => {
  const mayWork = 'It may still be processing the request; check there before you submit again.';
  const notices: readonly [number, string, string, string][] = [
    [504, 'VENDOR_TIMEOUT', 'No.', `The vendor did not respond in time. ${mayWork}`],
    [502, 'PLUGIN_SUBMIT_RESPONSE_FAILED', 'No id.', `The vendor’s response could not be used. ${mayWork} “No id.”`],
    [
      502,
      'PLUGIN_SUBMIT_RESPONSE_INVALID',
      'No text.',
      `The vendor’s response could not be used. ${mayWork} “No text.”`,
    ],
    [502, 'VENDOR_FAILED', 'It answered 500.', 'The vendor rejected this. “It answered 500.”'],
    [502, 'VENDOR_UNREACHABLE', 'No such name.', 'Could not connect to the vendor. “No such name.”'],
    [429, 'VENDOR_BUSY', 'Slow down.', 'The vendor is busy. Try again in 7 seconds. “Slow down.”'],
    [503, 'PLUGIN_UNAVAILABLE', 'Stopped.', 'The plugin is temporarily unavailable. Try again in 7 seconds. Stopped.'],
    [503, 'SUBMISSION_INTERRUPTED', 'No.', 'The submission was interrupted.'],
    [503, 'SUBMISSION_UNRECORDED', 'No.', 'The vendor accepted this, but the gateway could not record it'],
    [503, 'NO_AVAILABLE_CHANNEL', 'No.', 'No channel currently offers this model to your group.'],
  ];

  testInFullRun('of a submission', async () => {
    const { page } = await open();
    await prompt(page).fill('a kite');
    const answers = notices.values();
    await page.route('**/api/task', (route) => {
      const [status, code, message] = answers.next().value as (typeof notices)[number];
      return refuse(route, { status, code, message, headers: { 'retry-after': '7' } });
    });
    for (const [, , , text] of notices) {
      await run(page).click();
      await alert(page).getByText(text).waitFor();
    }
  });

  testInFullRun('of the marketplace, which is asked once', async () => {
    const { page, apiCalls } = await panel.openAs(ROOT, '/');
    const message = 'The source "good" cannot be read.';
    await page.route('**/api/plugin/task/marketplace*', (route) =>
      refuse(route, { status: 502, code: 'PLUGIN_MARKET_FAILED', message }),
    );
    await page.goto(`${panel.origin()}/marketplace`);
    await alert(page).getByText(`The plugin source could not be read. ${message}`).waitFor();
    expect(apiCalls.filter((call) => call.endsWith('/marketplace'))).toHaveLength(1);
  });
});

testInFullRun('works over plain HTTP on a local network', async () => {
  const origin = `http://${insecureHost}:${panel.gateway().port}`;
  const { page } = await open('/playground', { at: origin });
  expect(await page.evaluate(() => isSecureContext)).toBe(false);
  await prompt(page).fill('a lantern [duration=0.2]');
  await run(page).click();
  await page.locator('video').waitFor();
  await page.getByRole('tab', { name: 'Python' }).click();
  await page.getByRole('button', { name: 'Copy', exact: true }).click();
  await waitForNotice(page, 'Copied');
  await waitForText(page, `${origin}/v1/videos`);
});

testInFullRun(
  'has no accessibility violation and no overflow on desktop and phone, in both colour schemes',
  async () => {
    const { page } = await open();
    await prompt(page).fill(`a ${'very'.repeat(40)} long word`);
    await page.getByRole('button', { name: /^Run ·/ }).waitFor();
    for (const [viewport, colorScheme] of [
      [screens.desktop, 'dark'],
      [screens.phone, 'light'],
    ] as const) {
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme });
      await showForm(page);
      await prompt(page).waitFor();
      expect(await findAxeViolations(page)).toEqual([]);
      await showJson(page);
      await editor(page).waitFor();
      expect(await findAxeViolations(page)).toEqual([]);
      expect(await findOverflow(page)).toBe(0);
    }
  },
);

describe('code samples', () => {
  const body = {
    model: 'm',
    prompt: `It's "quoted" \\ $HOME \`id\` %s {{x}} \u2028 \n second line 密 🎬 '''`,
    nested: { list: [1, 2.5, true, false, null, { empty: {}, none: [] }], __proto_: 'x' },
  };
  const url = "http://gate.example/v1/tasks/it's";
  const runProgram = async (command: string[]): Promise<string> => {
    const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'pipe' });
    const [out, err, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    if (code !== 0) throw new Error(err);
    return out;
  };

  test('curl sends exactly this through a shell', async () => {
    const shown = `curl() { for part in "$@"; do printf '%s\\0' "$part"; done; }\n${codeGenerators.curl({ url, body, apiKey: 'YOUR_API_KEY' })}`;
    const parts = (await runProgram(['sh', '-c', shown])).split('\0');
    expect(parts.slice(0, 6)).toEqual([
      url,
      '-H',
      'Authorization: Bearer YOUR_API_KEY',
      '-H',
      'Content-Type: application/json',
      '--data-raw',
    ]);
    expect(JSON.parse(String(parts[6]))).toEqual(body);
  });

  test('Python and JavaScript send exactly this', async () => {
    const seen: { path: string; authorization: string | null; body: unknown }[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        seen.push({
          path: new URL(request.url).pathname,
          authorization: request.headers.get('authorization'),
          body: await request.json(),
        });
        return Response.json({ id: 'task_1' });
      },
    });
    const there = { url: `http://127.0.0.1:${server.port}/v1/tasks/demo`, body, apiKey: 'YOUR_API_KEY' };
    const script = join(temporaryFolder(), 'send.mjs');
    writeFileSync(script, codeGenerators.javascript(there));
    expect(await runProgram([process.execPath, script])).toBe('task_1\n');
    expect(await runProgram(['python3', '-c', codeGenerators.python(there)])).toBe('task_1\n');
    await server.stop(true);
    const sent = { path: '/v1/tasks/demo', authorization: 'Bearer YOUR_API_KEY', body };
    expect(seen).toEqual([sent, sent]);
  });

  test('prototype pollution: a member named __proto__ stays a member', () => {
    const oddName = JSON.parse('{"__proto__": {"a": 1}}') as Record<string, unknown>;
    expect(codeGenerators.javascript({ url, body: oddName, apiKey: 'YOUR_API_KEY' })).toContain('["__proto__"]: {');
    expect(codeGenerators.python({ url, body: oddName, apiKey: 'YOUR_API_KEY' })).toContain('"__proto__": {');
  });
});
