/** Notices of the browser: by choice, for a tab in the background, and what a refusal says. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { ask, ROOT, startVendor, type VendorProcess } from '../support/gateway.ts';
import { until } from '../support/until.ts';
import { addSessionCookies, findAxeViolations, heading, screens, usePanel, waitForText } from './harness.ts';
import { connect } from './page-pool.ts';

let vendor: VendorProcess;
beforeAll(async () => {
  vendor = await startVendor();
});
afterAll(() => vendor.stop());

let key = '';
const panel = usePanel(
  async (root) => {
    await root.createChannel(vendor.url);
    key = await root.createKey();
  },
  { TASK_POLL_INTERVAL_SECONDS: '1' },
);

/** Submits a task that the vendor ends at once; its id when it has ended. */
async function finishTask(prompt: string): Promise<string> {
  const { body } = await ask(`${panel.origin()}/v1/tasks/demo`, {
    ...{ token: key, body: { model: 'demo-video', prompt: `${prompt} [duration=0]`, seconds: 4 } },
  });
  const id = String(body.id);
  await until('the task has ended', async () => {
    const task = await panel.root().call<{ task: { finish_time: number } }>('GET', `/api/task/${id}`);
    return JSON.stringify(task).includes('"SUCCESS"');
  });
  return id;
}

/**
 * Stands in for the display. Headless Chromium has none: there `Notification.permission` stays
 * denied and each notice fails, although the answer, which is the browser's own here, was yes.
 */
async function standInForDisplay(page: Page, { fails = false } = {}) {
  await page.addInitScript((isFailing) => {
    // The empty page before the first one has no storage.
    if (location.protocol !== 'http:') return;
    const { requestPermission } = Notification;
    const shown: unknown[] = [];
    class Shown extends EventTarget {
      static permission = sessionStorage.getItem('answer') ?? 'default';
      static async requestPermission(): Promise<string> {
        Shown.permission = await requestPermission.call(Notification);
        sessionStorage.setItem('answer', Shown.permission);
        return Shown.permission;
      }
      onclick: unknown = null;
      onerror: (() => void) | null = null;
      constructor(title: string, { body, tag }: NotificationOptions) {
        super();
        shown.push({ title, body, tag });
        if (isFailing) setTimeout(() => this.onerror?.());
      }
    }
    Object.assign(globalThis, { Notification: Shown, shownNotices: shown });
  }, fails);
  return (): Promise<{ title: string; body: string; tag: string }[]> =>
    page.evaluate(() => Reflect.get(globalThis, 'shownNotices'));
}

/** Answers no for the user: Chromium's headless shell always does, Chromium itself would ask. */
async function refuseNotices(page: Page, origin: string): Promise<void> {
  // The answer holds for as long as this session.
  const session = await connect(page);
  const { targetInfo } = await session.send('Target.getTargetInfo');
  await session.send('Browser.setPermission', {
    ...{ permission: { name: 'notifications' }, setting: 'denied', origin },
    ...(targetInfo.browserContextId === undefined ? {} : { browserContextId: targetInfo.browserContextId }),
  });
}

/** As the browser says it of a tab behind another one; Playwright's pages have always the focus. */
const sendToBackground = (page: Page, isHidden: boolean) =>
  page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
    Object.defineProperty(document, 'visibilityState', {
      configurable: true,
      get: () => (hidden ? 'hidden' : 'visible'),
    });
    document.hasFocus = () => !hidden;
    document.dispatchEvent(new Event('visibilitychange'));
  }, isHidden);

test('a browser that refuses is told where to allow notices', async () => {
  const { page } = await panel.openPooled({ viewport: screens.phone });
  await refuseNotices(page, panel.origin());
  await addSessionCookies(page, panel.origin(), ROOT);
  await page.goto(`${panel.origin()}/notifications`);
  await heading(page, 'Notifications').waitFor();
  await waitForText(page, 'Your browser blocks notifications from this page. Allow them in its site settings.');
  expect(await page.getByRole('switch', { name: 'Browser notifications' }).isDisabled()).toBe(true);
  expect(await findAxeViolations(page)).toEqual([]);
});

test('turned on by choice, a task that ends in the background raises one notice; one looked at raises none', async () => {
  const { page } = await panel.openAs(ROOT, '/notifications', { viewport: screens.desktop });
  const notices = await standInForDisplay(page);
  await page.context().grantPermissions(['notifications'], { origin: panel.origin() });
  await page.reload();
  const choice = page.getByRole('main').getByRole('switch', { name: 'Browser notifications' });
  await choice.waitFor();
  expect(await choice.isChecked()).toBe(false);
  await finishTask('nobody wants to hear of it');
  await panelReads(page, 'nobody wants to hear of it');
  expect(await notices()).toEqual([]);

  await choice.press('Space');
  await until('the example is shown', async () => (await notices()).length === 1);
  expect(await choice.isChecked()).toBe(true);

  // In the foreground the bell counts it, and the browser stays silent.
  await finishTask('seen in the panel');
  await panelReads(page, 'seen in the panel');
  expect(await notices()).toHaveLength(1);

  await sendToBackground(page, true);
  const id = await finishTask('a paper boat at dawn');
  await until('a notice is raised', async () => (await notices()).length > 1);
  const [, ...raised] = await notices();
  expect(raised).toEqual([{ title: 'Task succeeded', body: expect.stringContaining('a paper boat'), tag: id }]);

  // The browser keeps the choice until the switch, here in the bell, ends it.
  await sendToBackground(page, false);
  await page.reload();
  await page.getByRole('button', { name: /^Notifications/ }).click();
  const inBell = page.getByRole('dialog').getByRole('switch', { name: 'Browser notifications' });
  await inBell.waitFor();
  expect([await inBell.isChecked(), await choice.isChecked()]).toEqual([true, true]);
  await inBell.click();
  expect([await inBell.isChecked(), await choice.isChecked()]).toEqual([false, false]);
  await sendToBackground(page, true);
  await finishTask('no longer wanted');
  await sendToBackground(page, false);
  await panelReads(page, 'no longer wanted');
  expect(await notices()).toEqual([]);
});

test('gateway alerts that reach nobody say what is missing', async () => {
  const { page } = await panel.openAs(ROOT, '/notifications', { viewport: screens.phone });
  const alerts = page.getByRole('row', { name: /^Gateway alerts/ });
  await alerts.getByText('On, but you won’t get them').waitFor();
  expect(await findAxeViolations(page)).toEqual([]);
  await alerts.getByRole('link', { name: 'Set up email' }).click();
  await page.waitForURL(`${panel.origin()}/settings/mail`);
});

test('a system that shows none, although the browser allowed it, is told so at the switch', async () => {
  const { page } = await panel.openAs(ROOT, '/profile', { viewport: screens.desktop });
  await standInForDisplay(page, { fails: true });
  await page.context().grantPermissions(['notifications'], { origin: panel.origin() });
  await page.goto(`${panel.origin()}/notifications`);
  await page.getByRole('switch', { name: 'Browser notifications' }).press('Space');
  await waitForText(page, 'This browser can’t show notifications from web pages.');
});

/** Waits until the panel has read that the task has ended, and has shown what it makes of it. */
async function panelReads(page: Page, prompt: string): Promise<void> {
  await page.waitForResponse(
    async (response) => response.url().includes('/api/task?') && (await response.text()).includes(prompt),
  );
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}
