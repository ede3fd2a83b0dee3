/**
 * The stall suite: no text from outside may hold the event loop for more than `MAX_BLOCK_MS`.
 *
 * To add a parser, add a row to a file in `test/stall/cases/`: its name, its limit as its own
 * module exports it, worst inputs of a given size, and the call. The suite tries every input at the
 * limit, beyond it, and cut and mixed by fast-check, and measures the longest time for which the
 * loop is held. See `stall.serial.test.ts`.
 */
export type StallCase<Input = unknown> = {
  name: string;
  /** The longest input that the parser takes, imported from where it is checked. */
  limit: number;
  /** Inputs of about `size` characters or bytes, each made to be as expensive as one can be. */
  worst: (size: number) => Record<string, Input>;
  /** The parser; what it throws counts as its answer. */
  call: (input: Input) => unknown;
  /**
   * What the parser answers to a longer input than `limit`: proof that the limit is the one that
   * holds. Left out where something else cuts the input off, which `limitedBy` names.
   */
  refuses?: (answer: unknown) => boolean;
  limitedBy?: string;
};

/** An input of any type; rows of different types stand in one list. */
export const stallCase = <Input>(row: StallCase<Input>): StallCase => row as unknown as StallCase;

/** `unit` repeated to about `size` characters, with something before and behind it. */
export const fill = (unit: string, size: number, before = '', after = ''): string =>
  before + unit.repeat(Math.max(0, Math.floor((size - before.length - after.length) / unit.length))) + after;

export const MAX_BLOCK_MS = 50;

/** So often a slow call is repeated: on a busy machine one may be slow for no fault of its own. */
const ATTEMPTS = 5;
/** What takes so long once is not tried again. */
const HOPELESS_MS = 1000;

/**
 * The longest time in milliseconds for which `call` held the thread, in processor time of this
 * thread: what others do meanwhile does not count. Of several attempts the best.
 */
export async function longestBlock(call: () => unknown): Promise<number> {
  let best = await measure(call);
  for (let attempt = 1; attempt < ATTEMPTS && best > MAX_BLOCK_MS && best < HOPELESS_MS; attempt += 1) {
    best = Math.min(best, await measure(call));
  }
  return best;
}

async function measure(call: () => unknown): Promise<number> {
  Bun.gc(true);
  let longest = 0;
  let since = threadMs();
  const mark = () => {
    const now = threadMs();
    longest = Math.max(longest, now - since);
    since = now;
  };
  // Between two turns of the loop lies what one piece of work took.
  let timer = setImmediate(function turn() {
    mark();
    timer = setImmediate(turn);
  });
  try {
    await call();
  } catch {
    // A refusal is an answer.
  } finally {
    mark();
    clearImmediate(timer);
  }
  return longest;
}

/** Processor time that this thread has used. */
function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
