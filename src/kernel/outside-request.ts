import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Runs work that many requests share, such as a loop that the first of them begins, as part of
 * none: neither in its trace nor with its id in log lines. Taken while no request runs.
 */
export const outsideRequest: <T>(work: () => T) => T = AsyncLocalStorage.snapshot();
