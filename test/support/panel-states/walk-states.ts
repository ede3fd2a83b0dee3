import type { Browser, Page } from 'playwright-core';
import { readTexts } from '../../../scripts/check-texts.ts';
import { ageGateway } from '../age-gateway.ts';
import { launchBrowser, openProfile } from '../browser.ts';
import { type Filled, fillGateway, MEMBER } from '../fill-gateway.ts';
import { type Gateway, ROOT, setUp, startGateway, startVendor } from '../gateway.ts';
import { startMarket } from '../market-server.ts';
import { accountStates } from './account-states.ts';
import { dialogStates } from './dialog-states.ts';
import { finishAnimations } from './finish-animations.ts';
import { gatewayStates } from './gateway-states.ts';
import { operationStates } from './operation-states.ts';
import type { Age, PanelState, Scene, Viewer } from './state.ts';
import { taskStates } from './task-states.ts';

export const stateGroups = {
  account: accountStates,
  tasks: taskStates,
  gateway: gatewayStates,
  operation: operationStates,
  dialogs: dialogStates,
} as const satisfies Record<string, readonly PanelState[]>;

/** Every page of the panel, in every state that looks different. */
export const panelStates: readonly PanelState[] = Object.values(stateGroups).flat();

/** For a filled gateway: the days over which its tasks are spread, and how many are of today. */
const PAST = { days: 28, recent: 12 };
const ENV = { TASK_POLL_INTERVAL_SECONDS: '1' };
const WIDE = { width: 1440, height: 900 };

type WalkOptions = {
  states: readonly PanelState[];
  language: string;
  /** Called with the page in its state. */
  visit(page: Page, state: PanelState): Promise<void>;
};

/** Brings a browser into each state, and calls `visit`. A state that fails stops no other. */
export async function walkStates({ states, language, visit }: WalkOptions): Promise<{ failures: string[] }> {
  const failures: string[] = [];
  const browser = await launchBrowser();
  try {
    for (const age of ['new', 'empty', 'filled'] as const) {
      const wanted = states.filter((state) => (state.age ?? 'filled') === age);
      if (wanted.length === 0) continue;
      await withGateway(age, async (gateway, filled) => {
        for (const viewer of ['nobody', 'member', 'root'] as const) {
          const seen = wanted.filter((state) => (state.viewer ?? 'root') === viewer);
          if (seen.length === 0) continue;
          const walk = { browser, gateway, filled, language, viewer };
          failures.push(...(await walkAs(walk, seen, visit)));
        }
      });
    }
  } finally {
    await browser.close();
  }
  return { failures };
}

async function withGateway(age: Age, use: (gateway: Gateway, filled: Filled) => Promise<void>): Promise<void> {
  const [vendor, market] = [await startVendor(), startMarket()];
  let gateway = await startGateway({ env: ENV });
  try {
    let filled = {} as Filled;
    if (age !== 'new') {
      const admin = await setUp(gateway);
      if (age === 'filled') {
        filled = await fillGateway(gateway, admin, { vendor, market });
        gateway = await ageGateway(gateway, { env: ENV, ...PAST });
      }
    }
    await use(gateway, filled);
  } finally {
    await gateway.stop();
    await vendor.stop();
    await market.stop();
  }
}

type Walk = { browser: Browser; gateway: Gateway; filled: Filled; language: string; viewer: Viewer };

async function walkAs(walk: Walk, states: readonly PanelState[], visit: WalkOptions['visit']): Promise<string[]> {
  const failures: string[] = [];
  const texts = readTexts(walk.language);
  const origin = walk.gateway.url.replace('127.0.0.1', 'localhost');
  const context = await openProfile(walk.browser, { locale: walk.language === 'en' ? 'en-US' : walk.language });
  context.setDefaultTimeout(15_000);
  if (walk.viewer !== 'nobody') {
    const page = await context.newPage();
    await signIn(page, origin, walk);
    await page.close();
  }
  for (const state of states) {
    const page = await context.newPage();
    await page.setViewportSize(WIDE);
    const scene: Scene = {
      page,
      filled: walk.filled,
      text: (key, params = {}) =>
        (texts[key] ?? key).replace(/\{\{(\w+)(?:, \w+)?\}\}/g, (_, name: string) => params[name] ?? name),
    };
    try {
      await bringInto(state, scene, origin);
      await visit(page, state);
    } catch (error) {
      failures.push(`${state.name}: ${error instanceof Error ? error.message.split('\n')[0] : error}`);
    }
    await page.close();
  }
  await context.close();
  return failures;
}

async function bringInto(state: PanelState, scene: Scene, origin: string): Promise<void> {
  const { page } = scene;
  await state.before?.(scene);
  if (state.only === 'phone') await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${origin}${typeof state.path === 'string' ? state.path : state.path(scene.filled)}`);
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await settle(page);
  await state.act?.(scene);
  await settle(page);
}

/** Grey placeholders stand in for what is on its way. */
export async function settle(page: Page): Promise<void> {
  await page.waitForFunction(() =>
    // Hidden tabs keep theirs.
    [...document.querySelectorAll('.mantine-Skeleton-root, .mantine-Loader-root')].every(
      (placeholder) => !placeholder.checkVisibility(),
    ),
  );
  await page.waitForLoadState('load');
  await finishAnimations(page);
}

/** By the form's own fields, whatever the language calls them. */
async function signIn(page: Page, origin: string, { viewer, filled }: Walk): Promise<void> {
  await page.goto(`${origin}/sign-in`);
  await page.locator('input[autocomplete^="username"]').fill(viewer === 'root' ? ROOT.username : MEMBER);
  await page.locator('input[type="password"]').fill(ROOT.password);
  await page.locator('form button[type="submit"]').click();
  if (viewer === 'member') {
    await page.locator('input[autocomplete="one-time-code"]').fill(filled.backupCode);
    await page.locator('form button[type="submit"]').click();
  }
  await page.waitForURL(`${origin}/`);
}
