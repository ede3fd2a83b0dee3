import { detachFromRequest } from './background-work.ts';
import type { Result } from './errors.ts';

export type BatchOptions<In, Out> = {
  /**
   * Serves many calls at once: one result for each, in order. One that rejects has served none of
   * them.
   */
  run: (inputs: In[]) => Promise<Result<Out, unknown>[]>;
  /** The most calls of one batch, and the most batches that run at once. */
  maxSize: number;
  maxRunning: number;
  /** How long a batch waits for more calls. Ends early once it is full. */
  gather: () => Promise<void>;
  /**
   * How a batch that was rejected with this is run again, so that the calls at fault harm no other:
   * each call alone, or those of one owner together. Default: it is not.
   */
  divide?: (error: unknown) => 'by_call' | 'by_owner' | undefined;
  /** Calls of one owner never run in two batches at once: the second would wait for the first. */
  readOwner?: (input: In) => unknown;
};

type Call<In, Out> = { input: In; resolve: (value: Out) => void; reject: (error: unknown) => void };

/**
 * Collects calls that come while others run, and serves them together. A call alone is served at
 * once; the busier it gets, the larger the batches.
 */
export function batchCalls<In, Out>(options: BatchOptions<In, Out>): (input: In) => Promise<Out> {
  const { run, maxSize, maxRunning, gather, divide, readOwner } = options;
  let waiting: Call<In, Out>[] = [];
  let running = 0;
  let gathering: (() => void) | undefined;
  const busy = new Set<unknown>();

  const isFree = ({ input }: Call<In, Out>): boolean => readOwner === undefined || !busy.has(readOwner(input));

  function split(calls: readonly Call<In, Out>[], error: unknown): readonly Call<In, Out>[][] {
    const by = divide?.(error);
    if (by === undefined) return [];
    return [...Map.groupBy(calls, (call) => (by === 'by_owner' && readOwner ? readOwner(call.input) : call)).values()];
  }

  async function serve(calls: readonly Call<In, Out>[]): Promise<void> {
    try {
      const results = await run(calls.map(({ input }) => input));
      for (const [index, { resolve, reject }] of calls.entries()) {
        const result = results[index];
        if (result?.ok) resolve(result.value);
        else reject(result?.error);
      }
    } catch (error) {
      const parts = split(calls, error);
      if (parts.length < 2) for (const { reject } of calls) reject(error);
      // One after the other: together they would take more connections than `maxRunning` allows.
      else for (const part of parts) await serve(part);
    }
  }

  async function start(): Promise<void> {
    if (gathering || running >= maxRunning || !waiting.some(isFree)) return;
    if (waiting.length < maxSize) {
      const full = new Promise<void>((resolve) => {
        gathering = resolve;
      });
      await Promise.race([gather(), full]);
      gathering = undefined;
    }
    const calls = waiting.filter(isFree).slice(0, maxSize);
    const taken = new Set(calls);
    waiting = waiting.filter((call) => !taken.has(call));
    const owners = readOwner ? calls.map(({ input }) => readOwner(input)) : [];
    for (const owner of owners) busy.add(owner);
    running += 1;
    void detachFromRequest(start);
    await serve(calls);
    running -= 1;
    for (const owner of owners) busy.delete(owner);
    void detachFromRequest(start);
  }

  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject });
      if (!gathering) void detachFromRequest(start);
      else if (waiting.length >= maxSize) gathering();
    });
}
