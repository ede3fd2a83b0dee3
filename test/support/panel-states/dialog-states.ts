import type { Page } from 'playwright-core';
import type { TextKey } from '../../../src/panel/i18n/texts.ts';
import type { Filled } from '../fill-gateway.ts';
import { dialogOpens, fromMenu, inOrder, type PanelState, press, type Scene } from './state.ts';

const user = ({ userId }: Filled): string => `/users/${userId}`;
const asked =
  (key: TextKey) =>
  async ({ page, text }: Scene): Promise<void> => {
    await page
      .getByRole('button', { name: text(key), exact: true })
      .last()
      .click();
    await page.getByRole('dialog').last().waitFor();
  };
const chosen = (key: TextKey) =>
  inOrder(async ({ page, text }) => {
    for (const row of [0, 1, 2]) await page.locator('tbody [data-select] input').nth(row).check();
    // Its name ends with the number of tasks.
    await page
      .getByRole('toolbar')
      .getByRole('button', { name: text(key) })
      .click();
  }, dialogOpens);
const menuOpens = ({ page }: Scene): Promise<void> => page.getByRole('menu').waitFor();
const iconIn = (scope: string) => (page: Page) => page.locator(scope).last().click();

/** What is asked, chosen or shown once, over the pages that it belongs to. */
export const dialogStates: readonly PanelState[] = [
  { name: 'ask-bulk-again', path: '/tasks?scope=all', only: 'wide', act: chosen('tasks.bulk.again') },
  { name: 'ask-bulk-delete', path: '/tasks?scope=all&status=SUCCESS', only: 'wide', act: chosen('tasks.bulk.delete') },
  { name: 'tasks-export', path: '/tasks', act: inOrder(press('export.export'), menuOpens) },
  {
    name: 'task-copy',
    path: ({ tasks }) => `/tasks/${tasks.finished}`,
    act: inOrder(press('app.more'), menuOpens),
  },
  {
    name: 'ask-links-end',
    path: ({ tasks }) => `/tasks/${tasks.finished}`,
    act: inOrder(
      press('task.linkOptions'),
      menuOpens,
      ({ page, text }) => page.getByRole('menuitem', { name: text('task.endLinks') }).click(),
      dialogOpens,
    ),
  },
  { name: 'ask-key-delete', path: '/keys/2', act: asked('keys.delete') },
  {
    name: 'key-rotated',
    path: '/keys/2/rotate',
    act: inOrder(press('keys.rotate'), ({ page, text }) =>
      page.getByRole('link', { name: text('keys.made.done') }).waitFor(),
    ),
  },
  { name: 'ask-account-delete', path: '/profile', viewer: 'member', act: asked('profile.delete') },
  { name: 'email-change', path: '/profile', viewer: 'member', act: press('profile.email.change') },
  { name: 'ask-email-remove', path: '/profile', viewer: 'member', act: asked('profile.email.remove') },
  { name: 'passkey-new', path: '/security', act: press('security.passkeys.add') },
  { name: 'ask-second-factor-off', path: '/security', viewer: 'member', act: asked('security.twoFactor.disable') },
  { name: 'ask-all-links-end', path: '/security', act: asked('links.revoke') },
  {
    name: 'ask-price-delete',
    path: '/prices',
    act: inOrder(
      ({ page }) => iconIn('main tbody tr:first-child button')(page),
      menuOpens,
      ({ page, text }) => page.getByRole('menuitem', { name: text('app.delete') }).click(),
      dialogOpens,
    ),
  },
  {
    name: 'price-edit',
    path: '/prices',
    act: inOrder(({ page }) => page.locator('main tbody tr:first-child button').first().click(), dialogOpens),
  },
  {
    name: 'ask-version-delete',
    path: '/plugins/demo?tab=versions',
    act: inOrder(({ page }) => iconIn('main tbody button')(page), dialogOpens),
  },
  {
    name: 'ask-plugin-off',
    path: '/plugins/demo',
    act: inOrder(({ page }) => page.locator('main [role=switch]').first().click({ force: true }), dialogOpens),
  },
  {
    name: 'upload-refused',
    path: '/plugins',
    act: inOrder(press('plugins.upload'), dialogOpens, async ({ page }) => {
      await page
        .locator('input[type=file]')
        .first()
        .setInputFiles({
          name: 'broken.js',
          mimeType: 'text/javascript',
          buffer: Buffer.from("export const manifest = { key: 'Broken', version: 'one' };\n"),
        });
      await page.getByRole('dialog').locator('button[type=submit]').click();
      await page.getByRole('dialog').getByRole('alert').first().waitFor();
    }),
  },
  { name: 'ask-user-disable', path: user, act: fromMenu('users.disable') },
  { name: 'ask-user-delete', path: user, act: fromMenu('users.delete') },
  { name: 'ask-user-promote', path: user, act: fromMenu('users.promote') },
  {
    name: 'ask-unsaved',
    path: '/users',
    act: inOrder(press('users.add'), dialogOpens, async ({ page, text }) => {
      await page.getByRole('dialog').locator('input').nth(0).fill('somebody');
      await page.keyboard.press('Escape');
      await page.getByRole('dialog', { name: text('confirm.leaveTitle') }).waitFor();
    }),
  },
  {
    name: 'ask-provider-delete',
    path: ({ providerId }) => `/settings/providers/${providerId}`,
    act: fromMenu('providers.delete'),
  },
];
