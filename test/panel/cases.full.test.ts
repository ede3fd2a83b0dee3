/** Case files in a browser: what explains a task, and the link that shows it to others. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { ask, ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { findPageIssues, heading, screens, usePanel } from './harness.ts';

let vendor: VendorProcess;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor.stop());

let taskId = '';
const panel = usePanel(async (root, gateway) => {
  await root.createChannel(vendor.url);
  await root.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: 'u("seconds") * 0.05' });
  const token = await root.createKey();
  const made = await ask(`${gateway.url}/v1/tasks/demo`, {
    token,
    body: { model: 'demo-video', prompt: 'a secret plan [fail]', seconds: 4 },
  });
  taskId = (made.body as { id: string }).id;
  await until('the task has failed', async () => {
    const read = await ask(`${gateway.url}/v1/tasks/${taskId}?wait=10`, { token });
    return (read.body as { status: string }).status === 'FAILURE';
  });
});

test('a case is shared by a link that works without a session, and ends with the task', async () => {
  const { page } = await panel.openAs(ROOT, `/tasks/${taskId}`, { viewport: screens.desktop });
  await page.getByRole('link', { name: 'Case file' }).click();
  await page.getByRole('heading', { level: 2, name: 'Reply' }).waitFor();
  await heading(page, 'Case file: demo-video task by root').waitFor();
  await page.getByRole('button', { name: 'Share by link' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Create link' }).click();
  const link = (await dialog.locator('code').textContent()) ?? '';
  expect(link).toContain(`/shared-case/task/${taskId}#`);

  const { page: visitor } = await panel.open({ viewport: screens.desktop });
  const sent: string[] = [];
  visitor.on('request', (request) => sent.push(request.url()));
  await visitor.goto(link);
  await heading(visitor, /^Case file: demo-video task$/).waitFor();
  await visitor.getByText('Failed', { exact: true }).first().waitFor();
  await visitor.getByText('This link works until').waitFor();
  await visitor.getByText(/^Your task failed: /).waitFor();
  const shown = await visitor.locator('main').innerText();
  // What the user may not see, and what nobody may.
  for (const secret of ['a secret plan', 'demo-vendor-key', vendor.url]) expect(shown).not.toContain(secret);
  const access = link.split('#')[1] ?? '';
  expect(sent.some((url) => new URL(url).pathname.startsWith('/api/') && url.includes(access))).toBe(false);
  expect(await findPageIssues(visitor)).toEqual([]);

  await panel.root().call('DELETE', `/api/task/${taskId}`);
  await visitor.reload();
  await visitor.getByText('This link has expired').waitFor();
});
