/** Holds responses back, to test what the user does in the meantime. */
import type { Page, Request, Route } from 'playwright-core';

export type HeldResponse = {
  /** Resolves when the gateway has answered. */
  answered: Promise<unknown>;
  /** Delivers the response and waits until the page has rendered it. */
  release(): Promise<void>;
};

/** Holds the response to the next request with this URL and method. */
export async function holdResponse(page: Page, url: string, method: string): Promise<HeldResponse> {
  const answered = Promise.withResolvers<Request>();
  const released = Promise.withResolvers<void>();
  let isHeld = false;
  const hold = async (route: Route): Promise<void> => {
    if (isHeld || route.request().method() !== method) return route.fallback();
    isHeld = true;
    const response = await route.fetch();
    answered.resolve(route.request());
    await released.promise;
    await route.fulfill({ response });
    await page.unroute(url, hold);
  };
  await page.route(url, hold);
  return {
    answered: answered.promise,
    async release() {
      released.resolve();
      const response = await (await answered.promise).response();
      await response?.finished();
      // The page reads the response, then updates its state, then renders.
      await page.evaluate(() => new Promise((resolve) => setTimeout(() => requestAnimationFrame(resolve))));
    },
  };
}
