import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { PATIENCE_MS } from './far-limits.ts';
import { findChromium } from './find-program.ts';

/**
 * A name for 127.0.0.1 that browsers do not take for a secure context, like a gateway on a local
 * network without TLS.
 */
export const insecureHost = 'gateway.test';

/**
 * Chromium without a window, with a profile of its own that ends with it. Throws when there is no
 * Chromium.
 */
export function launchBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === null)
    throw new Error('The tests need Chromium: install the package chromium, or set CHROMIUM_PATH.');
  return chromium.launch({
    executablePath,
    timeout: PATIENCE_MS,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      // Pages live for seconds: compiling their code for speed takes more than it gives.
      '--js-flags=--no-turbofan --no-maglev',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      `--host-resolver-rules=MAP ${insecureHost} 127.0.0.1`,
    ],
  });
}

/** What must not happen on any page, collected while a test uses it. */
export type WatchedPage = {
  page: Page;
  /** The one that it may ask. */
  origin: string;
  context: BrowserContext;
  /** Breaches of the content security policy, thrown errors, requests to other origins. */
  complaints: string[];
  /** Method and path of every request to the API. */
  apiCalls: string[];
};

/** A page in a fresh profile whose complaints are collected. */
export const openPage = async (
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> => watchNewPage(await openProfile(browser, options), origin);

export async function openProfile(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext({ locale: 'en-US', reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  return context;
}

/**
 * Notifications disappear by themselves, perhaps before a test looks: their texts are kept in
 * `announcements` until the page is left.
 */
function collectAnnouncements(): void {
  const live = '[role="alert"], [role="status"], [aria-live]';
  const announcements: string[] = [];
  Object.assign(globalThis, { announcements });
  new MutationObserver((changes) => {
    for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes])) {
      if (!(node instanceof Element)) continue;
      for (const part of node.closest(live) ? [node] : node.querySelectorAll(live))
        announcements.push(part.textContent ?? '');
    }
  }).observe(document, { childList: true, subtree: true });
}

/** Another page of a profile, whose complaints are collected. */
export async function watchNewPage(context: BrowserContext, origin: string): Promise<WatchedPage> {
  const page = await context.newPage();
  const complaints: string[] = [];
  const apiCalls: string[] = [];
  const watched: WatchedPage = { page, origin, context, complaints, apiCalls };
  await page.exposeFunction('reportViolation', (text: string) => complaints.push(`policy: ${text}`));
  await page.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', (event) => {
      const report = (globalThis as unknown as { reportViolation(text: string): void }).reportViolation;
      report(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`);
    });
  });
  await page.addInitScript(collectAnnouncements);
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (/Content Security Policy|Refused to/i.test(message.text())) complaints.push(`policy: ${message.text()}`);
  });
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (!/^https?:$/.test(url.protocol)) return;
    if (url.origin !== watched.origin) complaints.push(`foreign request: ${request.url()}`);
    if (url.pathname.startsWith('/api/')) apiCalls.push(`${request.method()} ${url.pathname}`);
  });
  return watched;
}
