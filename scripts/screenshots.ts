import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import type { PanelState } from '../test/support/panel-states/state.ts';
import { panelStates, settle, walkStates } from '../test/support/panel-states/walk-states.ts';
import { buildExecutable } from './build.ts';
import { root } from './hash-inputs.ts';

const usage = `npm run screenshots [-- --only TEXT,TEXT --language en|zh|ja|es|de|pt --widths 390,1440 --scheme light|dark
                     --out FOLDER --list]

Builds what is stale, starts the gateway, new, empty and with weeks of work in it, and writes a picture of every page
of the panel in every state, light and dark, 390, 768, 1024 and 1440 wide, to build/screenshots.
--only takes the states whose name has one of the texts in it, =NAME just that one; --list prints
their names.`;

const WIDTHS = '390,768,1024,1440';
const PHONE = 600;

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    language: { type: 'string', default: 'en' },
    widths: { type: 'string', default: WIDTHS },
    scheme: { type: 'string' },
    out: { type: 'string', default: join(root, 'build/screenshots') },
    list: { type: 'boolean' },
    help: { type: 'boolean' },
  },
});
const names = values.only.split(',');
const wanted = panelStates.filter(({ name }) =>
  names.some((text) => (text[0] === '=' ? text === `=${name}` : name.includes(text))),
);
if (values.help) {
  console.log(usage);
} else if (values.list) {
  for (const { name } of wanted) console.log(name);
} else {
  await buildExecutable();
  mkdirSync(values.out, { recursive: true });
  const { failures } = await walkStates({ states: wanted, language: values.language, visit: takeAll });
  console.log([`Pictures of ${wanted.length} states in ${values.out}`, ...failures].join('\n'));
  process.exitCode = failures.length === 0 ? 0 : 1;
}

/** One state in all widths and schemes: the page stays as it is, open dialogs too. */
async function takeAll(page: Page, { name, only, isWindow }: PanelState): Promise<void> {
  const widths = values.widths
    .split(',')
    .map(Number)
    .filter((width) => only === undefined || (only === 'phone') === width < PHONE);
  const schemes = (['light', 'dark'] as const).filter((scheme) => (values.scheme ?? scheme) === scheme);
  for (const width of widths) {
    await page.setViewportSize({ width, height: width < PHONE ? 844 : 900 });
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme });
      await settle(page);
      await scrollThrough(page);
      const path = join(values.out, `${name}-${width}-${colorScheme}.png`);
      // A dialog covers only the window: below it, a full page would show uncovered.
      const isCovered = (await page.locator('[aria-modal="true"]').count()) > 0;
      await page.screenshot({ path, fullPage: !(isWindow || isCovered) });
    }
  }
}

/** Editors and previews are drawn when they come into view. */
async function scrollThrough(page: Page): Promise<void> {
  const pages = await page.evaluate(() => Math.ceil(document.documentElement.scrollHeight / innerHeight));
  for (let at = pages - 1; at >= 0; at -= 1) {
    await page.evaluate(async (screens) => {
      scrollTo(0, screens * innerHeight);
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    }, at);
  }
  await settle(page);
}
