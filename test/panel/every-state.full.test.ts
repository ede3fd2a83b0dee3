/** Every page of the panel in every state: what holds for all of them, in three widths. */
import { expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { findCutTexts, findSmallTargets, findTallParts } from '../support/panel-states/find-faults.ts';
import type { PanelState } from '../support/panel-states/state.ts';
import { settle, stateGroups, walkStates } from '../support/panel-states/walk-states.ts';
import { findAxeViolations, findOverflow } from './harness.ts';

setDefaultTimeout(1_800_000);

const screens = [
  { width: 1440, height: 900, colorScheme: 'light' },
  { width: 768, height: 1024, colorScheme: 'light' },
  { width: 390, height: 844, colorScheme: 'dark' },
] as const;

test.each(Object.entries(stateGroups))(
  '%s: nothing overflows, is cut off, too small to touch or a barrier',
  async (_group, states) => {
    const faults: string[] = [];
    const visit = async (page: Page, { name, only }: PanelState): Promise<void> => {
      for (const { width, height, colorScheme } of screens) {
        if (only !== undefined && (only === 'phone') !== width < 600) continue;
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await settle(page);
        // A bar that stays at the top covers a part of what is scrolled below it.
        await page.evaluate(() => scrollTo(0, 0));
        const overflow = await findOverflow(page);
        const found = [
          ...(overflow > 0 ? [`${overflow} px too wide`] : []),
          ...(await findCutTexts(page)),
          ...(width < 600 ? [...(await findTallParts(page)), ...(await findSmallTargets(page))] : []),
          ...(await findAxeViolations(page)),
        ];
        faults.push(...found.map((fault) => `${name} at ${width}: ${fault}`));
      }
    };
    const { failures } = await walkStates({ states, language: 'en', visit });
    expect([...failures, ...faults]).toEqual([]);
  },
);
