/**
 * What the tests of the panel's pages share: gateways and watched pages that end with a test, and
 * how to look at a page.
 */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout } from 'bun:test';
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
  until,
} from '../support/gateway.ts';
import { connect, keepPages } from './kept-pages.ts';

/** Of the root account. */
export const { password } = ROOT;
export const screens = { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };
const axeSource = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8');

export const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name });
export const alert = (page: Page) => page.getByRole('alert');
export const see = (page: Page, text: string | RegExp) => page.getByText(text).first().waitFor();

/**
 * Until a notification or another live part of the page has said this, though it may be gone by
 * now; each saying counts once.
 */
export async function told(page: Page, text: string): Promise<void> {
  await page.waitForFunction((wanted) => {
    const { told } = globalThis as unknown as { told: string[] };
    const at = told.findIndex((saying) => saying.includes(wanted));
    if (at >= 0) told.splice(0, at + 1);
    return at >= 0;
  }, text);
}

/** The focus is given after what the page shows has changed. */
export const focused = (target: Locator) =>
  until('it has the focus', () => target.evaluate((element) => element === document.activeElement));

/** Fields are emptied and filled after the page has said that something is done. */
export const holds = (field: Locator, value: string) =>
  until(`it holds “${value}”`, async () => (await field.inputValue()) === value);

/** Whatever the browser keeps: web storage and readable cookies. */
export const stored = (page: Page): Promise<string> =>
  page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));

/**
 * Violations that axe finds with its WCAG A and AA rules, as `rule: element`. Evaluated apart from
 * the page's own policy.
 */
export async function findBarriers(page: Page): Promise<string[]> {
  // Once a document: it is half a megabyte.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axeSource);
  return page.evaluate(async () => {
    // A colour on its way to another has a contrast of its own.
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    const transitions = document.getAnimations().filter((animation) => animation instanceof CSSTransition);
    await Promise.allSettled(transitions.map(({ finished }) => finished));
    type Axe = {
      run(options: object): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>;
    };
    const { axe } = globalThis as unknown as { axe: Axe };
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const { violations } = await axe.run({ runOnly: tags, resultTypes: ['violations'] });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 160)}`));
  });
}

/** How many pixels the page is wider than its screen. */
export const findOverflow = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

const looks = [
  ['desk', 'light'],
  ['phone', 'dark'],
] as const;

/**
 * Accessibility barriers and sideways scrolling of the page as it stands: light on a desktop and
 * dark on a phone. The short run looks for barriers on the phone alone.
 */
export async function findFlaws(page: Page): Promise<string[]> {
  await page.waitForFunction(() => document.querySelector('.mantine-Skeleton-root') === null);
  const flaws: string[] = [];
  for (const [screen, colorScheme] of looks) {
    await page.setViewportSize(screens[screen]);
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const overflow = await findOverflow(page);
    const barriers = IS_FULL_RUN || screen === 'phone' ? await findBarriers(page) : [];
    const faults = [...barriers, ...(overflow > 0 ? [`${overflow} px too wide`] : [])];
    flaws.push(...faults.map((fault) => `${screen}, ${colorScheme}: ${fault}`));
  }
  await page.setViewportSize(screens.desk);
  await page.emulateMedia({ colorScheme: 'light' });
  return flaws;
}

/** A device with passkeys that says yes to whatever it is asked, as long as the page is open. */
export async function plugInPasskeys(page: Page): Promise<void> {
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

/** By the menu at the top, which carries the account's name. */
export async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Account of / }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
}

type Account = { username: string; password: string };

/** The cookies of an answer, for a browser that is at `origin`. */
export const cookiesOf = ({ headers }: Answer, origin: string) =>
  headers.getSetCookie().map((line) => {
    const [pair = '', ...attributes] = line.split('; ');
    const [name = '', value = ''] = pair.split('=');
    const path = attributes.find((attribute) => attribute.startsWith('Path='))?.slice('Path='.length) ?? '/';
    const { hostname: domain } = new URL(origin);
    return { name, value, path, domain, httpOnly: line.includes('HttpOnly'), sameSite: 'Strict' as const };
  });

/**
 * Gives the page's browser the session that it would have got by the form, which is not everybody's
 * subject.
 */
export async function giveSession(page: Page, origin: string, account: Account): Promise<void> {
  const answer = await ask(`http://127.0.0.1:${new URL(origin).port}/api/user/login`, {
    body: { username: account.username, password: account.password },
    headers: { 'user-agent': await page.evaluate(() => navigator.userAgent) },
  });
  expect(answer.status).toBe(200);
  await page.context().addCookies(cookiesOf(answer, origin));
}

/** By the form, so that the page holds a session of its own. */
export async function signInAsRoot(page: Page, origin: string): Promise<void> {
  await page.goto(`${origin}/sign-in`);
  await page.getByLabel('User name or e-mail').fill(ROOT.username);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL(`${origin}/`);
}

/** `at`: another address of the gateway than its own. */
type OpenOptions = BrowserContextOptions & { at?: string };

export type OnePanel = {
  gateway(): Gateway;
  /** Where the panel is: a name, since passkeys and return addresses of providers belong to one. */
  origin(): string;
  root(): Administrator;
  open(options?: OpenOptions): Promise<WatchedPage>;
  /**
   * A page that other tests have used: see `KeptPages`. What lasts with a page or a profile
   * (scripts, a clock) needs one of its own: `open`.
   */
  openKept(options?: OpenOptions): Promise<WatchedPage>;
  /** Such a page at `path` on which the account is signed in. */
  openAs(account: Account, path: string, options?: OpenOptions): Promise<WatchedPage>;
  /**
   * A page on which root is signed in, for all tests of a file: made at the first call, watched
   * like the others, closed at the end.
   */
  keepRootPage(): Promise<Page>;
  /** Another gateway, for what happens to one once: it is stopped after the test. */
  start(options?: GatewayOptions): Promise<Gateway>;
};

/**
 * One browser and one gateway with a root account for all tests of a file, so that a test costs a
 * page. `prepare` is called once.
 */
export function useOnePanel(
  prepare: (root: Administrator, gateway: Gateway) => Promise<void> = async () => {},
  env: Record<string, string> = {},
): OnePanel {
  // A wait that is in vain ends on its own (see `openPage`), well before the runner ends the test
  // and the browser with it.
  setDefaultTimeout(300_000);
  let browser: Browser;
  let gateway: Gateway;
  let root: Administrator;
  const opened: WatchedPage[] = [];
  const others: Gateway[] = [];
  let kept: WatchedPage | undefined;
  const pages = keepPages(() => browser);

  beforeAll(async () => {
    [browser, gateway] = await Promise.all([
      launchBrowser(),
      startGateway({ env: { TRUSTED_HOSTS: insecureHost, ...env } }),
    ]);
    root = await setUp(gateway);
    await prepare(root, gateway);
  });
  afterEach(async () => {
    const complaints = [...opened, ...(kept ? [kept] : [])].flatMap((watched) => watched.complaints.splice(0));
    for (const watched of opened.splice(0)) await watched.context.close();
    complaints.push(...(await pages.tidy()));
    for (const other of others.splice(0)) await other.stop();
    // No page of any test breaks the policy, throws, or asks another origin.
    expect(complaints).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.stop();
  });

  const origin = (): string => `http://localhost:${gateway.port}`;
  const openKept = ({ at = origin(), ...options }: OpenOptions = {}): Promise<WatchedPage> => pages.open(at, options);
  return {
    gateway: () => gateway,
    origin,
    root: () => root,
    async open({ at = origin(), ...options } = {}) {
      const watched = await openPage(browser, at, options);
      opened.push(watched);
      return watched;
    },
    openKept,
    async openAs(account, path, options = {}) {
      const { at = origin() } = options;
      const watched = await openKept(options);
      await giveSession(watched.page, at, account);
      await watched.page.goto(`${at}${path}`);
      return watched;
    },
    async keepRootPage() {
      if (kept === undefined) {
        kept = await openPage(browser, origin(), { viewport: screens.desk });
        await signInAsRoot(kept.page, origin());
      }
      return kept.page;
    },
    async start(options) {
      const started = await startGateway(options);
      others.push(started);
      return started;
    },
  };
}

export const setOptions = (root: Administrator, options: Record<string, string>) =>
  root.call('PUT', '/api/option', { options: Object.entries(options).map(([key, value]) => ({ key, value })) });

/**
 * Answers the dialog that asks root for their password before something that needs a Security
 * Proof.
 */
export async function confirmByPassword(page: Page): Promise<void> {
  const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
  await dialog.getByLabel('Password', { exact: true }).fill(password);
  await dialog.getByRole('button', { name: 'Confirm' }).click();
  await dialog.waitFor({ state: 'detached' });
}

/** The menu that carries the account's name: it is there once somebody is signed in. */
export const accountMenu = (page: Page, name = ROOT.username) =>
  page.getByRole('button', { name: `Account of ${name}`, exact: true });
