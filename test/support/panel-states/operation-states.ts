import { groupFor, OPTION_KEYS } from '../../../src/settings/catalogue/option-catalogue.ts';
import { dialogOpens, inOrder, type PanelState, press } from './state.ts';

/** What root looks after, what the frame holds, and what goes wrong. */
export const operationStates: readonly PanelState[] = [
  ...[...new Set(OPTION_KEYS.map(groupFor))].map(
    (group): PanelState => ({ name: `settings-${group}`, path: `/settings/${group}` }),
  ),
  { name: 'settings-search', path: '/settings?q=mail' },
  { name: 'settings-search-none', path: '/settings?q=nothing-like-this' },
  { name: 'providers-empty', path: '/settings/providers', age: 'empty' },
  { name: 'providers', path: '/settings/providers' },
  { name: 'provider-new', path: '/settings/providers/new' },
  { name: 'provider', path: ({ providerId }) => `/settings/providers/${providerId}` },
  { name: 'audit', path: '/audit' },
  { name: 'audit-of-user', path: '/audit?target=user:2' },
  {
    name: 'audit-events',
    path: '/audit',
    isWindow: true,
    act: async ({ page, text }) => {
      await page.getByRole('combobox', { name: text('audit.event') }).click();
      await page.getByRole('option').nth(5).waitFor();
    },
  },
  {
    name: 'audit-entry',
    path: '/audit?action=api_key.create',
    only: 'wide',
    act: async ({ page }) => {
      const row = page.getByRole('row', { name: /Render farm/ });
      await row.getByRole('button').click();
      await row.hover();
    },
  },
  { name: 'system-empty', path: '/system', age: 'empty' },
  { name: 'system', path: '/system' },

  {
    name: 'palette',
    path: '/',
    act: async ({ page }) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').waitFor();
      await page.keyboard.type('demo');
      await page.getByRole('option').nth(1).waitFor();
    },
  },
  { name: 'shortcuts', path: '/', act: inOrder(({ page }) => page.keyboard.press('?'), dialogOpens) },
  {
    name: 'bell',
    path: '/',
    act: inOrder(({ page }) => page.locator('header button:has([class*=count])').click(), dialogOpens),
  },
  {
    name: 'account-menu',
    path: '/',
    act: async ({ page, text }) => {
      await page.getByRole('button', { name: text('nav.accountMenu', { name: 'root' }) }).click();
      await page.getByRole('menu').waitFor();
    },
  },
  {
    name: 'navigation',
    path: '/',
    only: 'phone',
    act: inOrder(press('nav.open'), dialogOpens),
  },
  {
    name: 'unreachable',
    path: '/usage',
    act: async ({ page, text }) => {
      await page.route('**/api/**', (route) => route.abort());
      await page.evaluate(() => window.dispatchEvent(new Event('offline')));
      await page.getByRole('button', { name: text('connection.retry') }).waitFor();
    },
  },
  {
    name: 'failed-answer',
    path: '/keys',
    before: ({ page }) =>
      page.route('**/api/token?**', (route) =>
        route.fulfill({ status: 500, json: { success: false, code: 'INTERNAL', message: 'Something broke.' } }),
      ),
  },
  {
    name: 'crashed',
    path: '/channels',
    before: ({ page }) =>
      page.route('**/api/channel?**', (route) =>
        route.fulfill({ json: { success: true, data: { items: [null], total: 1 } } }),
      ),
  },
];
