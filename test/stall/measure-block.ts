/**
 * The stall suite: no text from outside may block the event loop for more than `MAX_BLOCK_MS`.
 *
 * To add a parser, add a row to a file in `test/stall/cases/`: its name, its limit as its own
 * module exports it, worst inputs of a given size, and the call. The suite tries every input at the
 * limit, beyond it, and cut and mixed by fast-check, and measures the longest time for which the
 * loop is blocked. See `stall.test.ts`.
 */
export type StallCase<Input = unknown> = {
  name: string;
  /** The longest input that the parser accepts, imported from where it is checked. */
  limit: number;
  /** Inputs of about `size` characters or bytes, each as expensive as possible. */
  worst: (size: number) => Record<string, Input>;
  /** The parser; an error that it throws counts as its result. */
  call: (input: Input) => unknown;
  /**
   * The parser's result for an input longer than `limit`: proves that the limit is enforced. Left
   * out if something else truncates the input, which `limitedBy` names.
   */
  refuses?: (answer: unknown) => boolean;
  limitedBy?: string;
};

/** A row of any input type, for lists of rows with different types. */
export const stallCase = <Input>(row: StallCase<Input>): StallCase => row as unknown as StallCase;

/** `unit` repeated to about `size` characters, with a prefix and a suffix. */
export const fill = (
  unit: string,
  size: number,
  { before = '', after = '' }: { before?: string; after?: string } = {},
): string => before + unit.repeat(Math.max(0, Math.floor((size - before.length - after.length) / unit.length))) + after;

export const MAX_BLOCK_MS = 50;

/** How often a slow call is repeated: on a busy machine a single call may be slow by chance. */
const ATTEMPTS = 5;
/** A call that takes this long is not repeated. */
const HOPELESS_MS = 1000;

/** CPU time of `referenceMs` on the machine for which `MAX_BLOCK_MS` holds. */
const REFERENCE_MS = 20;
const MAX_SLOWNESS = 3;
const REFERENCE = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => ({ [`${i}\n\n\n\n\n\n\n\n`]: 0 })));

/**
 * The longest time in milliseconds for which `call` blocked the thread, in CPU time of this thread,
 * so that waiting for other processes does not count. The best of several attempts. They still
 * share caches and cores: what seems too long is divided by how much slower than usual the machine
 * is at this moment.
 */
export async function longestBlock(call: () => unknown): Promise<number> {
  let best = await measure(call);
  for (let attempt = 1; attempt < ATTEMPTS && best > MAX_BLOCK_MS && best < HOPELESS_MS; attempt += 1) {
    // What earlier calls left behind is not collected during this one.
    Bun.gc(true);
    best = Math.min(best, await measure(call));
  }
  if (best <= MAX_BLOCK_MS) return best;
  return best / Math.min(MAX_SLOWNESS, Math.max(1, referenceMs() / REFERENCE_MS));
}

/** CPU time of work that never changes, the best of several attempts. */
function referenceMs(): number {
  Bun.gc(true);
  const times = Array.from({ length: ATTEMPTS }, () => {
    const since = threadMs();
    for (let turn = 0; turn < 4; turn += 1) JSON.parse(REFERENCE);
    return threadMs() - since;
  });
  return Math.min(...times);
}

async function measure(call: () => unknown): Promise<number> {
  let longest = 0;
  let since = threadMs();
  const mark = () => {
    const now = threadMs();
    longest = Math.max(longest, now - since);
    since = now;
  };
  // The time between two iterations of the loop is what one piece of work took.
  let timer = setImmediate(function turn() {
    mark();
    timer = setImmediate(turn);
  });
  try {
    await call();
  } catch {
    // A refusal is a valid result.
  } finally {
    mark();
    clearImmediate(timer);
  }
  return longest;
}

/** CPU time that this thread has used. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
