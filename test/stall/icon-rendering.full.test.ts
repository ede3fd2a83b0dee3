/** How long a browser takes for the icons that are accepted, at the bound of what they may draw. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { readIcon } from '../../src/plugins/icons/check-icon.ts';
import { launchBrowser } from '../support/browser.ts';

/** A tab that hangs takes minutes; a busy machine is ten times slower than an idle one. */
const MAX_MS = 2000;

let browser: Browser;
beforeAll(async () => {
  browser = await launchBrowser();
});
afterAll(() => browser.close());

const drawing = (inside: string) =>
  `data:image/svg+xml;base64,${Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">${inside}</svg>`,
  ).toString('base64')}`;
const shapes = (count: number, attributes = '') =>
  Array.from({ length: count }, (_, i) => `<path d="M${i % 64} ${i % 61}h9v9z" ${attributes}/>`).join('');
const inside = (name: string, count: number) =>
  `<${name} id="a" width="64" height="64" patternUnits="userSpaceOnUse">${shapes(count)}</${name}>`;

test.each([
  ['elements', shapes(9990)],
  ['uses', `<g id="a">${shapes(37)}</g>${'<use href="#a"/>'.repeat(250)}`],
  ['patterns', `${inside('pattern', 30)}${shapes(190, 'fill="url(#a)"')}`],
  ['masks', `${inside('mask', 30)}${shapes(190, 'mask="url(#a)"')}`],
  ['clip paths', `${inside('clipPath', 30)}${shapes(190, 'clip-path="url(#a)"')}`],
  ['markers', `<marker id="a"><path d="M0 0h1"/></marker><path marker-mid="url(#a)" d="M0 0${'h1'.repeat(800)}"/>`],
  ['blurs', `<filter id="a"><feGaussianBlur stdDeviation="30"/></filter>${shapes(420, 'filter="url(#a)"')}`],
  [
    'masks of masks',
    `<mask id="b">${shapes(3)}</mask><mask id="a">${shapes(8, 'mask="url(#b)"')}</mask>${shapes(40, 'mask="url(#a)"')}`,
  ],
])('an icon with as many %s as are accepted is drawn at once', async (_kind, content) => {
  const url = drawing(content);
  const icon = readIcon(url);
  expect(icon.ok ? '' : icon.error).toBe('');
  // Just above it, the icon is refused.
  expect(readIcon(drawing(content + content.replaceAll('"a"', '"c"').replaceAll('#a', '#c'))).ok).toBe(false);
  const page = await browser.newPage();
  const ms = await page.evaluate(async (source) => {
    const image = new Image(64, 64);
    const startedAt = performance.now();
    image.src = source;
    await image.decode();
    const canvas = document.createElement('canvas');
    const context = canvas.getContext('2d');
    context?.drawImage(image, 0, 0, 64, 64);
    context?.getImageData(0, 0, 64, 64);
    return performance.now() - startedAt;
  }, url);
  await page.close();
  expect(ms).toBeLessThan(MAX_MS);
});
