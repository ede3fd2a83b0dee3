import { PATIENCE_MS } from './far-limits.ts';

type Check<T> = () => Promise<T | undefined | false> | T | undefined | false;

/**
 * Waits until `check` gives something other than undefined or false, and gives that. The last check
 * begins after `ms`, however long this process was held up. The pauses grow with the wait, so that
 * long waits cost little: the result is noticed at most a tenth later.
 *
 * @throws Error after `ms`, with `what`.
 */
export async function until<T>(what: string, check: Check<T>, ms?: number): Promise<T>;
export async function until<T>(check: Check<T>, ms?: number): Promise<T>;
export async function until<T>(...args: [string, Check<T>, number?] | [Check<T>, number?]): Promise<T> {
  const [what, check, ms = PATIENCE_MS] =
    typeof args[0] === 'string'
      ? (args as [string, Check<T>, number?])
      : (['the condition holds', ...args] as [string, Check<T>, number?]);
  const begun = performance.now();
  for (;;) {
    const waited = performance.now() - begun;
    const value = await check();
    if (value !== undefined && value !== false) return value;
    if (waited > ms) throw new Error(`gave up waiting until ${what}`);
    await Bun.sleep(Math.max(5, Math.min(waited / 10, 250)));
  }
}
