/** Answers that stay on the way, for what a person does meanwhile. */
import type { Page, Request, Route } from 'playwright-core';

export type HeldAnswer = {
  /** The gateway has answered. */
  answered: Promise<unknown>;
  /** Lets the answer go on, until the page has shown what it makes of it. */
  release(): Promise<void>;
};

/** Holds the answer to the next request to `url` by this method. */
export async function holdAnswer(page: Page, url: string, method: string): Promise<HeldAnswer> {
  const answered = Promise.withResolvers<Request>();
  const freed = Promise.withResolvers<void>();
  let isHeld = false;
  const hold = async (route: Route): Promise<void> => {
    if (isHeld || route.request().method() !== method) return route.fallback();
    isHeld = true;
    const response = await route.fetch();
    answered.resolve(route.request());
    await freed.promise;
    await route.fulfill({ response });
    await page.unroute(url, hold);
  };
  await page.route(url, hold);
  return {
    answered: answered.promise,
    async release() {
      freed.resolve();
      const response = await (await answered.promise).response();
      await response?.finished();
      // It is read, then acted on, then shown.
      await page.evaluate(() => new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve))));
    },
  };
}
