import type { Page } from 'playwright-core';

/**
 * Waits for the animations and transitions that end: a colour in transition has a different
 * contrast. Those that go on forever are left alone.
 */
export const finishAnimations = (page: Page): Promise<void> =>
  page.evaluate(async () => {
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
    const ending = document
      .getAnimations()
      .filter(({ effect }) => Number.isFinite(Number(effect?.getComputedTiming().endTime)));
    await Promise.allSettled(ending.map(({ finished }) => finished));
  });
