/** Each kind of failure on its page in Chinese: nothing that the gateway says is English. */
import { afterAll, expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { readTexts } from '../../scripts/check-texts.ts';
import { ask, ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { waitForEnd } from '../support/main-job.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { until } from '../support/until.ts';
import { findEnglish } from './find-english.ts';
import { usePanel } from './harness.ts';

const folder = temporaryFolder();
/** A file where the folder of backups should be: each backup fails. */
const notFolder = join(folder, 'backups');
writeFileSync(notFolder, '');

let vendor: VendorProcess;
let failedTask = '';
let lostTask = '';
let channelId = 0;
const panel = usePanel(
  async (root, gateway) => {
    vendor = await startVendor();
    await root.createChannel(vendor.url);
    await root.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: '0.05' });
    const key = await root.createKey();
    const submit = async (prompt: string): Promise<string> => {
      const { body } = await ask(`${gateway.url}/v1/tasks/demo`, {
        token: key,
        body: { model: 'demo-video', prompt: `${prompt} [duration=0.2]`, seconds: 4 },
      });
      const id = String((body as { id?: string }).id);
      await waitForEnd(gateway.url, key, id);
      return id;
    };
    failedTask = await submit('纸船 [fail]');
    await submit('灯塔 [garbage=99]');
    lostTask = await submit('风筝');
    // Nobody listens there: the test of the channel fails.
    const closed = await root.createChannel('http://127.0.0.1:9', { name: '关闭' });
    await ask(`${gateway.url}/api/channel/${closed}/test`, { method: 'POST', token: root.token });
    await root.call('POST', '/api/backup');
    await until('the backup has failed', async () => {
      const { runs } = await root.call<{ runs: { status: string }[] }>('GET', '/api/backup');
      return runs.some(({ status }) => status === 'failed');
    });
    channelId = closed;
  },
  { TASK_POLL_INTERVAL_SECONDS: '1', TASK_POLL_MAX_FAILURES: '2', BACKUP_TO: join(notFolder, 'inside') },
);
afterAll(() => vendor?.stop());

async function openInChinese(path: string): Promise<Page> {
  const { page } = await panel.openAs(ROOT, '/', { locale: 'zh-CN' });
  await page.evaluate(() => localStorage.setItem('taskgate.language', 'zh'));
  await page.goto(`${panel.origin()}${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForFunction(() => document.querySelector('.mantine-Skeleton-root, .mantine-Loader-root') === null);
  return page;
}

test('tasks that failed, in the list, on their page and by reason', async () => {
  const page = await openInChinese('/tasks?status=FAILURE');
  await page.getByText('查询多次失败').first().waitFor();
  // The vendor's own words, marked as such.
  await page.locator('q', { hasText: 'The video could not be generated.' }).first().waitFor();
  expect(await findEnglish(page)).toEqual([]);
  await page.goto(`${panel.origin()}/tasks/${failedTask}`);
  await page.locator('q', { hasText: 'The video could not be generated.' }).first().waitFor();
  expect(await findEnglish(page)).toEqual([]);
});

test('a file that could not be kept', async () => {
  const { page } = await panel.openAs(ROOT, '/', { locale: 'zh-CN' });
  await page.evaluate(() => localStorage.setItem('taskgate.language', 'zh'));
  await page.route(`**/api/task/${lostTask}`, async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { data: { artifacts: object[] } };
    body.data.artifacts = body.data.artifacts.map((artifact) => ({
      ...artifact,
      kept: 'lost',
      kept_reason: "It does not fit into the account's storage.",
      kept_reason_sentence: { reason: 'results.quota', params: {} },
    }));
    await route.fulfill({ response: answer, json: body });
  });
  await page.goto(`${panel.origin()}/tasks/${lostTask}`);
  await page.getByText('账号的存储空间不足。').waitFor();
  expect(await findEnglish(page)).toEqual([]);
});

test('the test of a channel, and its last one', async () => {
  const page = await openInChinese(`/channels/${channelId}`);
  await page
    .getByText(/无法连接服务商（/)
    .first()
    .waitFor();
  expect(await findEnglish(page)).toEqual([]);
});

test('a backup', async () => {
  const page = await openInChinese('/system');
  await page.getByRole('cell', { name: /备份失败（|无法将备份写入/ }).waitFor();
  expect(await findEnglish(page)).toEqual([]);
  const home = await openInChinese('/');
  expect(await findEnglish(home)).toEqual([]);
});

test('a plugin that is refused, and one in conflict', async () => {
  const page = await openInChinese('/plugins');
  await page.getByRole('button', { name: readTexts('zh')['plugins.upload'] ?? '', exact: true }).click();
  const dialog = page.getByRole('dialog');
  const upload = async (source: string, said: RegExp) => {
    const file = { name: 'plugin.js', mimeType: 'text/javascript', buffer: Buffer.from(source) };
    await dialog.locator('input[type="file"]').first().setInputFiles(file);
    await dialog.locator('button[type="submit"]').click();
    await dialog.getByRole('alert').getByText(said).waitFor();
    expect(await findEnglish(page)).toEqual([]);
    // Not marked as English either.
    expect(await dialog.locator('[lang="en"]').allTextContents()).toEqual([]);
  };
  await upload('export const meta = { apiVersion: 1 };', /请添加 key: "acme-video"。/);
  const source = readFileSync('src/plugins/factory/demo.js', 'utf8');
  await upload(source.replace("key: 'demo'", "key: 'other'"), /已属于“demo”/);
});
