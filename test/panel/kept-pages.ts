/**
 * Pages that the tests of a file use one after the other: the first load starts a process and
 * compiles the panel, a later one does neither.
 */
import type { Browser, BrowserContextOptions, CDPSession, Page } from 'playwright-core';
import { openProfile, type WatchedPage, watchNewPage } from '../support/browser.ts';

export type KeptPages = {
  /**
   * A page at no address, whose profile has no cookie and nothing stored, and in which nothing
   * moves. The first page of a kind is the one of the tests before; another in the same test is
   * another tab of its profile.
   */
  open(origin: string, options: BrowserContextOptions): Promise<WatchedPage>;
  /** After a test: what was complained of, and the pages are as `open` gives them. */
  tidy(): Promise<string[]>;
};

const connections = new WeakMap<Page, CDPSession[]>();

/**
 * Chromium's own protocol for a page. What was ordered by it (devices, no cache) ends when the page
 * is tidied up.
 */
export async function connect(page: Page): Promise<CDPSession> {
  const connection = await page.context().newCDPSession(page);
  connections.set(page, [...(connections.get(page) ?? []), connection]);
  return connection;
}

export function keepPages(browser: () => Browser): KeptPages {
  const free = new Map<string, WatchedPage>();
  const used: { key: string; watched: WatchedPage }[] = [];

  return {
    async open(origin, { viewport, colorScheme, ...options }) {
      // Gateways of one host are one site to Chromium: they take turns in a process.
      const key = JSON.stringify([new URL(origin).hostname, options]);
      const watched = await take(key, origin, options);
      const { page } = watched;
      await page.setViewportSize(viewport ?? { width: 1280, height: 720 });
      await page.emulateMedia({ colorScheme: colorScheme ?? 'light', reducedMotion: 'reduce' });
      return watched;
    },
    async tidy() {
      const tidied = used.splice(0);
      for (const { key, watched } of tidied) {
        if (watched.page.isClosed()) continue;
        if (free.has(key)) await watched.page.close();
        else if (await clean(watched).catch(() => false)) free.set(key, watched);
        else await watched.context.close();
      }
      // What goes wrong while a page is left is this test's as well.
      return tidied.flatMap(({ watched }) => watched.complaints.splice(0));
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

/** Makes a page and its profile as new, the files of the panel excepted; false: it has to end. */
async function clean({ page, origin, context, apiCalls }: WatchedPage): Promise<boolean> {
  const isHere = page.url().startsWith(`${origin}/`);
  if (!isHere && page.url() !== 'about:blank') return false;
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  // Here, so that what the page's process remembers of it goes as well.
  if (isHere) await page.evaluate(() => [sessionStorage, localStorage].forEach((storage) => void storage.clear()));
  await page.goto('about:blank');
  // As long as it is there, a tab may write.
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
