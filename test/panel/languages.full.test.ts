/** Every page in every language on a phone: nothing overflows, nothing stays English. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { listLanguages, readTexts } from '../../scripts/check-texts.ts';
import { ask, ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { findCutTexts } from '../support/panel-states/find-faults.ts';
import { settle } from '../support/panel-states/walk-states.ts';
import { until } from '../support/until.ts';
import { findEnglish } from './find-english.ts';
import { findAxeViolations, findOverflow, screens, usePanel } from './harness.ts';

let vendor: VendorProcess;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor.stop());

let taskId = '';
const panel = usePanel(async (root) => {
  await root.createChannel(vendor.url);
  await root.createUser({ username: 'grace' });
  await root.call('PUT', '/api/price', { plugin_key: 'demo', model: 'demo-video', expression: 'u("seconds") * 0.05' });
  const key = await root.createKey();
  const { body } = await ask(`${panel.origin()}/v1/tasks/demo`, {
    token: key,
    body: { model: 'demo-video', prompt: '纸船', seconds: 4 },
  });
  taskId = String((body as { id?: string }).id);
});

const languages = listLanguages();
const tagFor = (language: string): string => readTexts(language)['language.tag'] ?? language;

/** Switches by the menu, without a reload. */
async function switchTo(page: Page, language: string): Promise<void> {
  const present = await page.evaluate(() => document.documentElement.lang);
  if (present === tagFor(language)) return;
  const known = languages.find((each) => tagFor(each) === present) ?? 'en';
  // On a phone the menu is in the drawer.
  await page.setViewportSize(screens.desktop);
  await page
    .locator('header')
    .getByRole('button', { name: readTexts(known)['app.language'], exact: true })
    .click();
  await page.locator(`[role=menuitemradio][lang="${tagFor(language)}"]`).click();
  await until(`the page is in ${language}`, async () => {
    return (await page.evaluate(() => document.documentElement.lang)) === tagFor(language);
  });
  await page.keyboard.press('Escape');
  await page.locator('[role=menu]').waitFor({ state: 'detached' });
  await page.setViewportSize(screens.phone);
}

const paths = [
  '/',
  '/tasks',
  '/tasks/:task',
  '/models',
  '/playground',
  '/keys',
  '/keys/new',
  '/keys/1',
  '/keys/1/rotate',
  '/usage',
  '/profile',
  '/security',
  '/channels',
  '/channels/new',
  '/channels/1',
  '/plugins',
  '/plugins/demo',
  '/marketplace',
  '/prices',
  '/prices/demo',
  '/users',
  '/users/2',
  '/settings',
  '/settings/mail',
  '/settings/providers',
  '/settings/providers/new',
  '/audit',
  '/system',
];

test.each(paths)('%s: no text overflows or is cut at 390 px, and axe finds nothing, in any language', async (path) => {
  const page = await panel.sharedRootPage();
  await page.setViewportSize(screens.phone);
  const issues: string[] = [];
  await page.goto(`${panel.origin()}${path.replace(':task', taskId)}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  for (const language of languages) {
    await switchTo(page, language);
    await settle(page);
    const overflow = await findOverflow(page);
    const faults = [
      ...(overflow > 0 ? [`${overflow} px too wide`] : []),
      ...(await findCutTexts(page)),
      ...(await findAxeViolations(page)),
      ...(language === 'zh' ? await findEnglish(page) : []),
    ];
    issues.push(...faults.map((fault) => `in ${language}: ${fault}`));
  }
  expect(issues).toEqual([]);
});

test('refusals on a Chinese page have no English sentence', async () => {
  const { page } = await panel.openAs(ROOT, '/keys/new', { viewport: screens.desktop });
  await page.getByRole('heading', { level: 1 }).waitFor();
  await switchTo(page, 'zh');
  const zh = readTexts('zh');
  const text = (key: string): string => zh[key] ?? key;
  const expectChinese = async (said: string) => {
    await page.getByText(said).first().waitFor();
    expect(await findEnglish(page)).toEqual([]);
  };

  await page.getByLabel(text('keys.name'), { exact: true }).fill('a\u200bb');
  await page.getByRole('button', { name: text('keys.create') }).click();
  await expectChinese('请去掉不可见字符和控制字符。');

  await page.goto(`${panel.origin()}/settings/mail`);
  await page.locator('#option-SMTPFrom input').fill('no address');
  await page.getByRole('button', { name: text('app.save') }).click();
  await page.getByRole('dialog').getByRole('textbox').fill(ROOT.password);
  await page.getByRole('dialog').getByRole('button').last().click();
  await expectChinese('此值不被接受。');

  await page.goto(`${panel.origin()}/tasks/task_gone`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  expect(await findEnglish(page)).toEqual([]);
});
