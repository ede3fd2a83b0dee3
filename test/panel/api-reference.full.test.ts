/** The API reference in a browser: search, examples with the reader's key, requests sent. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
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
  const { page } = await panel.openPooled({ viewport: screens.desktop });
  await page.goto(`${panel.origin()}/api/docs${anchor}`);
  return page;
}
const enterKey = async (page: Page, key: string): Promise<void> => {
  await page.locator('#key').fill(key);
  await page.locator('#key').press('Tab');
};
const operation = (page: Page, id: string) => page.locator(`details#${id}`);

describe('the API reference', () => {
  test('stands inside the frame of the panel', async () => {
    const { page } = await panel.openAs(ROOT, '/', { viewport: screens.desktop });
    await page.getByRole('link', { name: 'API reference', exact: true }).first().click();
    await page.waitForURL(/\/reference$/);
    const frame = page.frameLocator('iframe');
    await frame.locator('#search').waitFor();
    // Drawn in the panel's font: a page whose font was refused still names it.
    const isLoaded = () =>
      frame.locator('body').evaluate(async ({ ownerDocument }) => {
        await ownerDocument.fonts.ready;
        return ownerDocument.fonts.check('16px "Instrument Sans Variable"') && ownerDocument.fonts.size > 0;
      });
    expect(await isLoaded()).toBe(true);
    expect(await page.getByRole('link', { name: 'Playground', exact: true }).count()).toBe(1);
  });

  test('bears the name of the gateway as soon as that changes', async () => {
    const page = await openReference();
    for (const name of ['Studio <Nord>', 'Taskgate']) {
      await panel.root().call('PUT', '/api/option', { key: 'SystemName', value: name });
      await page.reload();
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(`${name} API`);
    }
  });

  test('finds operations and codes by all words of a search', async () => {
    const page = await openReference();
    await page.keyboard.press('/');
    await page.keyboard.type('cancel task');
    await operation(page, 'cancelTask').waitFor();
    expect(await page.locator('main details:visible').count()).toBeLessThan(5);
    await page.locator('#search').fill('rate_limit_exceeded');
    expect(await page.locator('tr.code:visible').count()).toBeGreaterThan(0);
    expect(await page.locator('details:visible').count()).toBe(0);
    await page.locator('#search').fill('no such words at all');
    await page.getByText('Nothing has these words.').waitFor();
  });

  test('writes examples with the reader’s address, key and model, and sends them', async () => {
    const key = await panel.root().createKey();
    const page = await openReference('#createVideo');
    const video = operation(page, 'createVideo');
    const example = video.locator('pre.example');
    expect(await example.textContent()).toContain(`curl '${panel.origin()}/v1/videos'`);
    expect(await example.textContent()).toContain('Bearer $KEY');
    await enterKey(page, key);
    await page.waitForFunction(() => document.querySelector<HTMLInputElement>('#model')?.value === 'demo-video');
    await page.locator('#language').selectOption('python');
    expect(await example.textContent()).toMatch(/^import requests/);
    expect(await example.textContent()).toContain(`Bearer ${key}`);
    await page.locator('#language').selectOption('javascript');
    expect(await example.textContent()).toContain("method: 'POST'");

    await video.getByRole('textbox', { name: 'Body' }).fill('{"model":"demo-video","prompt":"a gull","seconds":"4"}');
    await video.getByRole('button', { name: 'Send' }).click();
    await video.getByText('200 OK').waitFor();
    const id = /"id": "(task_\w+)"/.exec((await video.locator('form + div pre').textContent()) ?? '')?.[1] ?? '';

    const read = operation(page, 'retrieveVideo');
    await read.locator('summary').click();
    await read.getByLabel('task_id').fill(id);
    expect(await read.locator('pre.example').textContent()).toContain(`/v1/videos/${id}`);
    // What a reader enters stays one argument of the command that they copy.
    await page.locator('#language').selectOption('curl');
    await read.getByLabel('Prefer').fill("wait=1'; echo");
    expect(await read.locator('pre.example').textContent()).toContain("-H 'Prefer: wait=1'\\''; echo'");
    await read.getByLabel('Prefer').fill('');
    await read.getByRole('button', { name: 'Send' }).click();
    await read.getByText('"prompt": "a gull"').waitFor();
  });

  test('asks for a key before it sends, and shows a refusal', async () => {
    const page = await openReference('#listTasks');
    const list = operation(page, 'listTasks');
    await list.getByRole('button', { name: 'Send' }).click();
    await list.getByText('Enter a key above first.').waitFor();
    await enterKey(page, 'sk-wrong');
    await list.getByRole('button', { name: 'Send' }).click();
    await list.getByText('"code": "api_key_invalid"').waitFor();
  });

  test('desktop and phone, both schemes: no accessibility violation, no overflow', async () => {
    expect(await findPageIssues(await openReference('#createVideo'))).toEqual([]);
  });
});
