/**
 * Shared fixtures of the panel tests: gateways and watched pages that end with a test, and
 * assertions about a page.
 */
import { afterAll, afterEach, beforeAll, expect } from 'bun:test';
import { readFileSync } from 'node:fs';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { insecureHost, launchBrowser, openPage, type WatchedPage } from '../support/browser.ts';
import { IS_FULL_RUN } from '../support/full-run.ts';
import {
  type Administrator,
  type Answer,
  ask,
  type Gateway,
  type GatewayOptions,
  ROOT,
  setUp,
  startGateway,
} from '../support/gateway.ts';
import { finishAnimations } from '../support/panel-states/finish-animations.ts';
import { until } from '../support/until.ts';
import { connect, createPagePool } from './page-pool.ts';

/** Root's password. */
export const { password } = ROOT;
export const screens = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };
const axeSource = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

export const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name });
export const alert = (page: Page) => page.getByRole('alert');
export const waitForText = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();
/** Waits until the table of the page has just so many rows. */
export const waitForRows = (page: Page, rows: number) =>
  page.waitForFunction(
    (count) =>
      [...document.querySelectorAll('tbody')].some(
        (body) => body.querySelectorAll(':scope > tr:not([data-group])').length === count,
      ),
    rows,
  );

/**
 * Waits until a notification or another live region has contained this text, even if it is gone by
 * now. Each announcement counts once.
 */
export async function waitForNotice(page: Page, text: string): Promise<void> {
  await page.waitForFunction((expected) => {
    const { announcements } = globalThis as unknown as { announcements: string[] };
    const index = announcements.findIndex((notice) => notice.includes(expected));
    if (index >= 0) announcements.splice(0, index + 1);
    return index >= 0;
  }, text);
}

/** The focus moves after the content has changed. */
export const waitForFocus = (target: Locator) =>
  until('it has the focus', () => target.evaluate((element) => element === document.activeElement));

/** Parts of a page are read apart: one may be there before another. */
export const waitForCount = (target: Locator, count: number) =>
  until(`there are ${count} of ${target}`, async () => (await target.count()) === count);

/** Fields change after the page has announced the result. */
export const waitForValue = (field: Locator, value: string) =>
  until(`it holds “${value}”`, async () => (await field.inputValue()) === value);

/** Everything the browser stores: web storage, readable cookies and the URL. */
export const readBrowserStorage = (page: Page): Promise<string> =>
  page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));

/**
 * Violations of axe's WCAG A and AA rules, as `rule: element`. Evaluated outside of the page's
 * content security policy. A target that a bar covers at one end of the page counts only if it is
 * too small at the other end, too: there it is scrolled out from under the bar.
 */
export async function findAxeViolations(page: Page): Promise<string[]> {
  // Injected once per document: it is half a megabyte.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axeSource);
  await finishAnimations(page);
  return page.evaluate(async () => {
    type Axe = {
      run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
    };
    const { axe } = globalThis as unknown as { axe: Axe };
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const find = async (runOnly: readonly string[]): Promise<string[]> => {
      const { violations } = await axe.run({ runOnly, resultTypes: ['violations'] });
      return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
    };
    const isSmallTarget = (violation: string): boolean => violation.startsWith('target-size: ');
    const found = await find(tags);
    if (!found.some(isSmallTarget)) return found;
    const top = window.scrollY;
    window.scrollTo(0, top > 0 ? 0 : document.documentElement.scrollHeight);
    const atOtherEnd = await find(['target-size']);
    window.scrollTo(0, top);
    return found.filter((violation) => !isSmallTarget(violation) || atOtherEnd.includes(violation));
  });
}

/** By how many pixels the page is wider than the viewport. */
export const findOverflow = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

const variants = [
  ['desktop', 'light'],
  ['phone', 'dark'],
] as const;

/**
 * Axe violations and horizontal overflow of the page, on a desktop in the light scheme and on a
 * phone in the dark scheme. The short run checks for violations on the phone only.
 */
export async function findPageIssues(page: Page): Promise<string[]> {
  await page.waitForFunction(() => document.querySelector('.mantine-Skeleton-root') === null);
  const issues: string[] = [];
  for (const [screen, colorScheme] of variants) {
    await page.setViewportSize(screens[screen]);
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const overflow = await findOverflow(page);
    const barriers = IS_FULL_RUN || screen === 'phone' ? await findAxeViolations(page) : [];
    const pageIssues = [...barriers, ...(overflow > 0 ? [`${overflow} px too wide`] : [])];
    issues.push(...pageIssues.map((issue) => `${screen}, ${colorScheme}: ${issue}`));
  }
  await page.setViewportSize(screens.desktop);
  await page.emulateMedia({ colorScheme: 'light' });
  return issues;
}

/** A virtual authenticator that confirms every request while the page is open. */
export async function addVirtualAuthenticator(page: Page): Promise<void> {
  const cdp = await connect(page);
  await cdp.send('WebAuthn.enable');
  await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
}

/** Signs out through the account menu. */
export async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account of / }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
}

type Account = { username: string; password: string };

/** The cookies of an answer, for a browser at `origin`. */
export const readCookies = ({ headers }: Answer, origin: string) =>
  headers.getSetCookie().map((line) => {
    const [pair = '', ...attributes] = line.split('; ');
    const [name = '', value = ''] = pair.split('=');
    const path = attributes.find((attribute) => attribute.startsWith('Path='))?.slice('Path='.length) ?? '/';
    const { hostname: domain } = new URL(origin);
    return { name, value, path, domain, httpOnly: line.includes('HttpOnly'), sameSite: 'Strict' as const };
  });

/** Signs the page's browser in through the API, for tests that are not about the sign-in form. */
export async function addSessionCookies(page: Page, origin: string, account: Account): Promise<void> {
  const answer = await ask(`http://127.0.0.1:${new URL(origin).port}/api/user/login`, {
    body: { username: account.username, password: account.password },
    headers: { 'user-agent': await page.evaluate(() => navigator.userAgent) },
  });
  expect(answer.status).toBe(200);
  await page.context().addCookies(readCookies(answer, origin));
}

/** Signs in through the form, so that the page holds a session of its own. */
export async function signInAsRoot(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/sign-in`);
  await page.getByLabel('Username or email').fill(ROOT.username);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(`${origin}/`);
}

/** `at` is another origin of the gateway. */
type OpenOptions = BrowserContextOptions & { at?: string };

export type PanelFixture = {
  gateway(): Gateway;
  /** The panel's origin: a host name, since passkeys and providers' callbacks are bound to one. */
  origin(): string;
  root(): Administrator;
  open(options?: OpenOptions): Promise<WatchedPage>;
  /**
   * A page that other tests have used, see `PagePool`. Use `open` for what outlives a navigation,
   * such as init scripts or a fake clock.
   */
  openPooled(options?: OpenOptions): Promise<WatchedPage>;
  /** A pooled page at `path`, signed in to the account. */
  openAs(account: Account, path: string, options?: OpenOptions): Promise<WatchedPage>;
  /**
   * A page signed in as root, shared by all tests of a file: created at the first call, watched
   * like the others, closed at the end.
   */
  sharedRootPage(): Promise<Page>;
  /** Starts another gateway for state that exists once per gateway; stopped after the test. */
  start(options?: GatewayOptions): Promise<Gateway>;
};

/**
 * One browser and one gateway with a root account for all tests of a file, so that a test only
 * costs a page. `prepare` is called once.
 */
export function usePanel(
  prepare: (root: Administrator, gateway: Gateway) => Promise<void> = async () => {},
  env: Record<string, string> = {},
): PanelFixture {
  let browser: Browser;
  let gateway: Gateway;
  let root: Administrator;
  const opened: WatchedPage[] = [];
  const otherGateways: Gateway[] = [];
  let rootPage: WatchedPage | undefined;
  const pages = createPagePool(() => browser);

  beforeAll(async () => {
    [browser, gateway] = await Promise.all([
      launchBrowser(),
      startGateway({ env: { TRUSTED_HOSTS: insecureHost, ...env } }),
    ]);
    root = await setUp(gateway);
    await prepare(root, gateway);
  });
  afterEach(async () => {
    const complaints = [...opened, ...(rootPage ? [rootPage] : [])].flatMap((watched) => watched.complaints.splice(0));
    for (const watched of opened.splice(0)) await watched.context.close();
    complaints.push(...(await pages.release()));
    for (const other of otherGateways.splice(0)) await other.stop();
    // No page may violate the content security policy, throw, or contact another origin.
    expect(complaints).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  const origin = (): string => `http://localhost:${gateway.port}`;
  const openPooled = ({ at = origin(), ...options }: OpenOptions = {}): Promise<WatchedPage> => pages.open(at, options);
  return {
    gateway: () => gateway,
    origin,
    root: () => root,
    async open({ at = origin(), ...options } = {}) {
      const watched = await openPage(browser, at, options);
      opened.push(watched);
      return watched;
    },
    openPooled,
    async openAs(account, path, options = {}) {
      const { at = origin() } = options;
      const watched = await openPooled(options);
      await addSessionCookies(watched.page, at, account);
      await watched.page.goto(`${at}${path}`);
      return watched;
    },
    async sharedRootPage() {
      if (rootPage === undefined) {
        rootPage = await openPage(browser, origin(), { viewport: screens.desktop });
        await signInAsRoot(rootPage.page, origin());
      }
      return rootPage.page;
    },
    async start(options) {
      const started = await startGateway(options);
      otherGateways.push(started);
      return started;
    },
  };
}

export const setOptions = (root: Administrator, options: Record<string, string>) =>
  root.call('PUT', '/api/option', { options: Object.entries(options).map(([key, value]) => ({ key, value })) });

/** Answers root's Security Proof dialog with the password. */
export async function confirmWithPassword(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Confirm it’s you' });
  await dialog.getByLabel('Password', { exact: true }).fill(password);
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  await dialog.waitFor({ state: 'detached' });
}

/** The account menu; it exists once somebody is signed in. */
export const accountMenu = (page: Page, name = ROOT.username) =>
  page.getByRole('button', { name: `Account of ${name}`, exact: true });
