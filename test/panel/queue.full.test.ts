/** The queue page and the limits of a channel in the browser, with an account that is full. */
import { afterAll, expect, test } from 'bun:test';
import { ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { submit } from '../support/main-job.ts';
import { until } from '../support/until.ts';
import { findPageIssues, screens, usePanel, waitForCount, waitForNotice, waitForText } from './harness.ts';

let vendor: VendorProcess;
let channelId: number;
const ids: string[] = [];

const panel = usePanel(async (root, gateway) => {
  vendor = await startVendor();
  channelId = await root.createChannel(vendor.url, { name: 'Full account', limits: { max_running: 1 } });
  const key = await root.createKey();
  for (const prompt of ['a heron', 'an owl', 'a crane']) {
    const { body } = await submit(gateway.url, key, { prompt: `${prompt} [duration=3600]` });
    ids.push(String(body.id));
  }
});
afterAll(() => vendor?.stop());

test('on a phone, a touch of anything that a row says opens its task', async () => {
  const { page } = await panel.openAs(ROOT, '/queue', { viewport: screens.phone });
  const crane = page.getByRole('table', { name: 'Waiting tasks' }).getByRole('row').filter({ hasText: 'a crane' });
  const said = crane.getByText('All slots are in use');
  await said.waitFor();
  await crane.getByText('demo-video · root', { exact: true }).waitFor();
  const box = await said.boundingBox();
  await page.mouse.click((box?.x ?? 0) + 20, (box?.y ?? 0) + 8);
  await page.waitForURL(`**/tasks/${ids[2]}`);
});

test('an administrator sees what waits for which account, moves it to the front and cancels it', async () => {
  const { page } = await panel.openAs(ROOT, '/queue');
  const rows = page.getByRole('table', { name: 'Waiting tasks' }).getByRole('row');
  await waitForCount(rows, 3);
  const crane = rows.filter({ hasText: 'a crane' });
  for (const text of ['2', 'root', 'Full account', 'All slots are in use'])
    await crane.getByText(text, { exact: true }).waitFor();
  await page
    .getByRole('table', { name: 'By model' })
    .getByRole('row', { name: /demo-video.* 1 of 1 / })
    .waitFor();
  expect(await crane.getByRole('link', { name: 'root', exact: true }).getAttribute('href')).toBe('/users/1');
  expect(await findPageIssues(page)).toEqual([]);

  await crane.getByRole('button', { name: 'Actions for a crane' }).click();
  await page.getByRole('menuitem', { name: 'Move to the front' }).click();
  await waitForNotice(page, 'Moved to the front.');
  await crane.getByText('1', { exact: true }).waitFor();

  await page.getByRole('button', { name: 'Actions for an owl' }).click();
  await page.getByRole('menuitem', { name: 'Cancel task' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel task' }).click();
  await waitForNotice(page, 'Task canceled.');
  await waitForCount(rows, 2);
});

test('the page of a waiting task says its place and where it waits, and it starts when the limit is raised', async () => {
  const { page } = await panel.openAs(ROOT, `/tasks/${ids[2]}`);
  await waitForText(page, /^Waiting for a slot at Full account · /);
  await waitForText(page, /^Position 1/);
  await page.goto(`${panel.origin()}/channels/${channelId}`);
  await waitForText(page, '1 of 1');
  await waitForText(page, 'Limit set in Settings');

  await page.goto(`${panel.origin()}/channels/${channelId}?tab=settings`);
  await page.getByLabel('Concurrent tasks').fill('0');
  await page.getByRole('button', { name: 'Save' }).click();
  await waitForText(page, 'Enter a whole number from 1, or leave it empty.');
  await page.getByLabel('Concurrent tasks').fill('2');
  await page.getByLabel('Shared limit').fill('studio');
  await page.getByRole('button', { name: 'Save' }).click();
  await waitForNotice(page, 'Saved');
  type Saved = { limits: object; pool: string };
  expect(await panel.root().call<Saved>('GET', `/api/channel/${channelId}`)).toMatchObject({
    ...{ limits: { max_running: 2 }, pool: 'studio' },
  });
  await until('it is sent', async () => {
    const { queue } = await panel.root().call<{ queue?: object }>('GET', `/api/task/${ids[2]}`);
    return queue === undefined;
  });
  await page.goto(`${panel.origin()}/queue`);
  await waitForText(page, 'Nothing is waiting');
});
