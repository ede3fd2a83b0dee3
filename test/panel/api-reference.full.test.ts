/** The API reference in a browser: search, programs with the reader's key, requests sent. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { readTexts } from '../../scripts/check-texts.ts';
import { webhookReceivers } from '../../src/panel/pages/reference/quickstart-code.ts';
import { type ApiDocument, readDocument } from '../../src/panel/pages/reference/read-document.ts';
import { freePort } from '../support/free-port.ts';
import { ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { findPageIssues, screens, usePanel } from './harness.ts';

let vendor: VendorProcess;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor.stop());

const panel = usePanel(async (root) => {
  await root.createChannel(vendor.url);
  await root.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: 'u("seconds") * 0.05' });
});

async function openReference(anchor = ''): Promise<Page> {
  const { page } = await panel.openAs(ROOT, `/reference${anchor}`, { viewport: screens.desktop });
  await page.getByRole('heading', { level: 2, name: 'Quickstart' }).waitFor();
  return page;
}

async function readAnonymously(path: string): Promise<Page> {
  const { page } = await panel.openPooled({ viewport: screens.desktop });
  await page.goto(`${panel.origin()}${path}`);
  await page.getByRole('heading', { level: 1, name: 'API reference' }).waitFor();
  return page;
}

const enterKey = (page: Page, key: string): Promise<void> => page.getByLabel('Your API key').fill(key);
const operation = (page: Page, id: string) => page.locator(`details#${id}`);
/** The program that a step or an operation shows, in a language. */
async function readProgram(page: Page, within: string, language: string): Promise<string> {
  const part = page.locator(within);
  await part.getByRole('tab', { name: language, exact: true }).click();
  return (await part.getByRole('tabpanel').locator('code').textContent()) ?? '';
}

async function run(command: string[]): Promise<string> {
  const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'pipe' });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code !== 0) throw new Error(err);
  return out;
}

/** Runs a program that the page shows, as its reader would. */
function runProgram(language: string, program: string): Promise<string> {
  if (language === 'curl') return run(['sh', '-c', program.replace('curl ', 'curl -s ')]);
  if (language === 'Python') return run(['python3', '-c', program]);
  const file = join(temporaryFolder(), 'program.mjs');
  writeFileSync(file, program);
  return run([process.execPath, file]);
}

describe('the API reference', () => {
  test('is a page of the panel, with what API keys call first and the routes of the panel folded', async () => {
    const { page } = await panel.openAs(ROOT, '/', { viewport: screens.desktop });
    await page.getByRole('link', { name: 'API reference', exact: true }).first().click();
    await page.waitForURL(/\/reference$/);
    await page.getByRole('heading', { level: 2, name: 'Quickstart' }).waitFor();
    expect(await page.locator('iframe').count()).toBe(0);
    const headings = await page.getByRole('heading', { level: 2 }).allTextContents();
    expect(headings.slice(0, 5)).toEqual(['Quickstart', 'Errors', 'Idempotency', 'Models', 'Videos']);
    expect(headings.at(-1)).toBe('Panel routes');
    expect(await page.getByText('/api/channel').count()).toBe(0);
    await page.getByText(/^\d+ routes$/).click();
    await page.getByText('/api/channel', { exact: true }).first().waitFor();
  });

  test('is read without a session too, at its former address as well', async () => {
    const page = await readAnonymously('/api/docs#cancelTask');
    await operation(page, 'cancelTask').getByRole('tab', { name: 'curl' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/reference');
    await page.getByRole('link', { name: 'Sign in' }).waitFor();
    expect(await page.getByRole('navigation', { name: 'On this page' }).count()).toBe(1);
  });

  test('finds operations and codes by all words of a search, from the keyboard', async () => {
    const page = await openReference();
    await page.keyboard.press('/');
    await page.keyboard.type('cancel task');
    await operation(page, 'cancelTask').waitFor();
    expect(await page.locator('main details[id]').count()).toBeLessThan(6);
    // Its line does not say so; its description does.
    await page.locator('details', { hasText: '/mcp' }).locator('summary').getByText('cancel_task').waitFor();
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.getByRole('searchbox').fill('rate_limit_exceeded');
    await page.getByText('rate_limit_exceeded', { exact: true }).first().waitFor();
    expect(await page.locator('main details[id]').count()).toBe(0);
    await page.getByRole('searchbox').fill('no such words at all');
    await page.getByText('Nothing matches all of these words.').waitFor();
  });

  test('marks in “On this page” what is being read', async () => {
    const page = await openReference();
    const current = page.getByRole('navigation', { name: 'On this page' }).locator('a[aria-current="location"]');
    expect(await current.allTextContents()).toEqual(['Quickstart']);
    await page.locator('#errors').evaluate((section) => section.scrollIntoView());
    await until('it is marked', async () => (await current.textContent()) === 'Errors');
    // What is drawn only now may be higher than expected, which moves the end of the page.
    await until('the last is marked', async () => {
      await page.keyboard.press('End');
      return (await current.textContent()) === 'Panel routes';
    });
  });

  test('says groups, operations and webhooks in the reader’s language, as the document in English', async () => {
    const { page } = await panel.openAs(ROOT, '/reference', { viewport: screens.desktop, locale: 'de-DE' });
    await page.getByRole('heading', { level: 2, name: 'Schnellstart' }).waitFor();
    await page.getByRole('heading', { level: 2, name: 'Aufgaben', exact: true }).waitFor();
    await operation(page, 'cancelTask').getByText('Aufgabe abbrechen, die noch kein Anbieter angenommen hat').waitFor();
    await page.getByRole('searchbox').fill('aufgabe abbrechen');
    await operation(page, 'cancelTask').waitFor();
    const document: ApiDocument = await (await fetch(`${panel.origin()}/api/openapi.json`)).json();
    const { client, panel: own, webhooks, operators } = readDocument(document);
    const texts = readTexts('en');
    for (const { id, name } of [...client, ...own])
      expect(texts[`reference.group.${id.replace(/^\w+?-/, '')}`]).toBe(name);
    const summaries = Object.fromEntries([
      ...[...client, ...own].flatMap(({ operations }) =>
        operations.map(({ id, summary }) => [`reference.op.${id}`, summary]),
      ),
      ...operators.operations.map(({ id, summary }) => [`reference.op.${id}`, summary]),
      ...[...webhooks, ...operators.webhooks].map(({ path, summary }) => [`reference.webhook.${path}`, summary]),
    ]);
    const said = Object.entries(texts).filter(([key]) => /^reference\.(op|webhook)\./.test(key));
    expect(Object.fromEntries(said)).toEqual(summaries);
  });

  test('a link to an operation or an object opens it, and an opened one is the address', async () => {
    const page = await openReference('#object-Task');
    await page.locator('details#object-Task[open]').getByText('fail_reason', { exact: true }).waitFor();
    await operation(page, 'listTasks').locator('summary').focus();
    await page.keyboard.press('Enter');
    await page.locator('details#listTasks[open]').waitFor();
    await until('the address names it', () => page.url().endsWith('#listTasks'));
    // A route of the panel is behind a fold.
    await page.goto(`${panel.origin()}/reference#getApiStatus`);
    await page.locator('details#getApiStatus[open]').waitFor();
  });

  test('the programs of the quickstart do what they say, in each language', async () => {
    const key = await panel.root().createKey();
    const page = await openReference();
    expect(await readProgram(page, '#create', 'curl')).toContain('Bearer YOUR_API_KEY');
    await enterKey(page, key);
    expect(await page.getByRole('combobox', { name: 'Model' }).inputValue()).toBe('demo-video');
    for (const language of ['curl', 'Python', 'JavaScript']) {
      const created = await runProgram(language, await readProgram(page, '#create', language));
      const id = /task_\w+/.exec(created)?.[0] ?? '';
      expect(id).not.toBe('');
      const shown = async (step: string) => (await readProgram(page, step, language)).replace('TASK_ID', id);
      expect(await runProgram(language, await shown('#stream'))).toContain('"status":"SUCCESS"');
      const poll = await shown('#poll');
      expect(poll).toContain(`/v1/videos/${id}?wait=60`);
      expect(await runProgram(language, poll)).toContain('completed');
      expect(await runProgram(language, await shown('#fetch'))).toContain('/artifacts/video/content?access=');
    }
    // One choice of the language is that of the whole page, and is remembered.
    await page.reload();
    await page.locator('#create').getByRole('tab', { name: 'JavaScript', selected: true }).waitFor();
  });

  test('a program has colours, wraps on a phone, and is what a reader selects of it', async () => {
    const page = await openReference();
    await page.setViewportSize(screens.phone);
    for (const language of ['curl', 'Python', 'JavaScript']) {
      const program = await readProgram(page, '#receive', language);
      const code = page.locator('#receive').getByRole('tabpanel').locator('code');
      const shown = await code.evaluate((element) => {
        const selection = getSelection();
        selection?.selectAllChildren(element);
        const colours = [...element.querySelectorAll('span')].map((part) => getComputedStyle(part).color);
        return {
          beyond: element.scrollWidth - element.clientWidth,
          selected: selection?.toString(),
          colours: new Set(colours).size,
        };
      });
      expect(shown).toMatchObject({ beyond: 0, selected: program });
      // Plain parts, texts, and keywords or names have one each.
      expect(shown.colours).toBeGreaterThan(2);
    }
  });

  test('says of each status what it means, and what comes with success', async () => {
    const page = await openReference('#createVideo');
    const video = operation(page, 'createVideo');
    await video.getByRole('heading', { name: 'Responses' }).waitFor();
    const statuses = await video.getByRole('rowheader').allTextContents();
    expect(statuses).toContain('200');
    expect(statuses).toContain('401');
    await video.getByRole('heading', { name: 'Response 200' }).waitFor();
    expect(await video.getByRole('heading', { name: 'Response 401' }).count()).toBe(0);
  });

  test('the key stays in the memory of the page', async () => {
    const key = await panel.root().createKey();
    const page = await openReference();
    await enterKey(page, key);
    expect(await readProgram(page, '#create', 'Python')).toContain(key);
    const stored = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href]),
    );
    expect(stored).not.toContain(key);
    await page.reload();
    expect(await readProgram(page, '#create', 'Python')).not.toContain(key);
  });

  test('sends requests with the reader’s key and shows what comes back', async () => {
    const key = await panel.root().createKey();
    const page = await openReference('#createVideo');
    await enterKey(page, key);
    const video = operation(page, 'createVideo');
    await video.getByRole('button', { name: 'Send request · $0.20' }).waitFor();
    await video.getByRole('button', { name: 'Edit request' }).click();
    await video.getByLabel('Request body').fill('{"model":"demo-video","prompt":"a gull","seconds":"4"}');
    await video.getByRole('button', { name: 'Send request' }).click();
    await video.getByText('200 OK').waitFor();
    const id = /"id": "(task_\w+)"/.exec((await video.locator('pre').first().textContent()) ?? '')?.[1] ?? '';

    const read = operation(page, 'retrieveVideo');
    await read.locator('summary').click();
    await read.getByLabel('task_id').fill(id);
    await read.getByRole('button', { name: 'Edit request' }).click();
    expect(await readProgram(page, '#retrieveVideo', 'curl')).toContain(`/v1/videos/${id}`);
    // What a reader enters stays one argument of the command that they copy.
    await read.getByLabel('Prefer').fill("wait=1'; echo");
    expect(await readProgram(page, '#retrieveVideo', 'curl')).toContain("-H 'Prefer: wait=1'\\''; echo'");
    await read.getByLabel('Prefer').fill('');
    await read.getByRole('button', { name: 'Send request' }).click();
    await read.getByText('"a gull"').waitFor();
  });

  test('asks for a key before it sends, and shows a refusal', async () => {
    const page = await readAnonymously('/reference#listTasks');
    const list = operation(page, 'listTasks');
    await list.getByRole('button', { name: 'Send request' }).click();
    await list.getByText('Enter a key at the top of the page first.').waitFor();
    await enterKey(page, 'sk-wrong');
    await page.getByText('The gateway refuses this key.').waitFor();
    await list.getByRole('button', { name: 'Send request' }).click();
    await list.getByText('"api_key_invalid"').waitFor();
  });

  test('desktop and phone, both schemes: no accessibility violation, no overflow', async () => {
    const page = await openReference('#createVideo');
    await operation(page, 'createVideo').getByRole('button', { name: 'Edit request' }).click();
    // The list of sections, which stays in sight, may cover half a button on the way.
    await page.evaluate(() => scrollTo(0, 0));
    expect(await findPageIssues(page)).toEqual([]);
  });
});

test.each(['python', 'javascript'] as const)('forged webhooks: the receiver in %s refuses them', async (language) => {
  const port = await freePort();
  const secret = `whsec_${Buffer.from('a secret of the test').toString('base64')}`;
  const file = join(temporaryFolder(), language === 'python' ? 'receive.py' : 'receive.mjs');
  writeFileSync(file, webhookReceivers[language].replace('8000', String(port)));
  const receiver = Bun.spawn([language === 'python' ? 'python3' : process.execPath, file], {
    env: { ...process.env, WEBHOOK_SECRET: secret },
    stdout: 'pipe',
    stderr: 'ignore',
  });
  const body = JSON.stringify({ type: 'task.finished', data: { id: 'task_1' } });
  const sent = String(Math.floor(Date.now() / 1000));
  const mac = createHmac('sha256', 'a secret of the test').update(`msg_1.${sent}.${body}`).digest('base64');
  const deliver = async (signature: string): Promise<number> => {
    const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': sent, 'webhook-signature': signature };
    return (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers })).status;
  };
  await until('it listens', async () => (await deliver('v1,none').catch(() => 0)) === 401);
  expect(await deliver(`v1,${mac.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))}`)).toBe(401);
  // A former secret signs beside the present one for a day.
  expect(await deliver(`v1,b3RoZXI= v1,${mac}`)).toBe(204);
  let printed = '';
  for await (const chunk of receiver.stdout) {
    printed += new TextDecoder().decode(chunk);
    if (printed.includes('task.finished')) break;
  }
  receiver.kill();
});
