/**
 * Pages that the tests of a file reuse: only the first load starts a process and compiles the
 * panel.
 */
import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import { openProfile, type WatchedPage, watchNewPage } from '../support/browser.ts';

export type PagePool = {
  /**
   * A blank page whose profile has no cookies and no storage, with animations off. The first page
   * of a kind is reused from earlier tests; another one in the same test is a second tab of its
   * profile.
   */
  open(origin: string, options: BrowserContextOptions): Promise<WatchedPage>;
  /** Call it after a test: resets the pages for reuse and returns their complaints. */
  release(): Promise<string[]>;
};

const connections = new WeakMap<Page, CDPSession[]>();

/**
 * Opens a DevTools session for a page. Its overrides (virtual devices, disabled cache) end when the
 * page is released.
 */
export async function connect(page: Page): Promise<CDPSession> {
  const connection = await page.context().newCDPSession(page);
  connections.set(page, [...(connections.get(page) ?? []), connection]);
  return connection;
}

export function createPagePool(browser: () => Browser): PagePool {
  const free = new Map<string, WatchedPage>();
  const used: { key: string; watched: WatchedPage }[] = [];

  return {
    async open(origin, { viewport, colorScheme, ...options }) {
      // Chromium treats gateways of one host as one site, so they share a process.
      const key = JSON.stringify([new URL(origin).hostname, options]);
      const watched = await take(key, origin, options);
      const { page } = watched;
      await page.setViewportSize(viewport ?? { width: 1280, height: 720 });
      await page.emulateMedia({ colorScheme: colorScheme ?? 'light', reducedMotion: 'reduce' });
      return watched;
    },
    async release() {
      const released = used.splice(0);
      for (const { key, watched } of released) {
        if (watched.page.isClosed()) continue;
        if (free.has(key)) await watched.page.close();
        else if (await clean(watched).catch(() => false)) free.set(key, watched);
        else await watched.context.close();
      }
      // Errors while the page is reset count for this test.
      return released.flatMap(({ watched }) => watched.complaints.splice(0));
    },
  };

  async function take(key: string, origin: string, options: BrowserContextOptions): Promise<WatchedPage> {
    const kept = free.get(key);
    free.delete(key);
    const tab = used.find((each) => each.key === key);
    const watched =
      kept ?? (await watchNewPage(tab?.watched.context ?? (await openProfile(browser(), options)), origin));
    watched.origin = origin;
    used.push({ key, watched });
    return watched;
  }
}

/**
 * Resets a page and its profile, except for cached files of the panel. False if the page cannot be
 * reused.
 */
async function clean({ page, origin, context, apiCalls }: WatchedPage): Promise<boolean> {
  const isHere = page.url().startsWith(`${origin}/`);
  if (!isHere && page.url() !== 'about:blank') return false;
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  // Cleared in the page, so that its process forgets the values too.
  if (isHere) await page.evaluate(() => [sessionStorage, localStorage].forEach((storage) => void storage.clear()));
  await page.goto('about:blank');
  // Open tabs could still write.
  for (const each of context.pages()) if (each !== page) await each.close();
  const cdp = await connect(page);
  await cdp.send('Storage.clearDataForOrigin', { origin, storageTypes: 'local_storage' });
  await cdp.send('Page.resetNavigationHistory');
  for (const connection of connections.get(page) ?? []) await connection.detach();
  connections.delete(page);
  await page.mouse.move(-1, -1);
  await context.clearCookies();
  await context.setOffline(false);
  apiCalls.length = 0;
  return true;
}
