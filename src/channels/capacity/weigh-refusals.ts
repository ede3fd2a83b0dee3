/** How many acceptances a refusal outweighs: vendors also refuse while they have room. */
const REFUSAL_WEIGHT = 5;
/** Four refusals among few acceptances: the vendor is full. */
const CERTAIN_WEIGHT = 16;
/**
 * The vendor also counts as full when refusals outnumber acceptances by this many while more tasks
 * run than at the lowest.
 */
const CERTAIN_REFUSALS = 4;

/**
 * While a pool is suspected to be full, a single task at a time is sent beyond the most that are
 * known to run, and none before `heldUntilMs`.
 */
type SuspectedFull = { running: number; weight: number; heldUntilMs: number };

/** Refusals for fullness that do not make it certain yet that the vendor is full. */
export type Refusals = {
  suspectedFull: SuspectedFull | undefined;
  /** Refusals, less what disproved them, and the fewest tasks that ran at one of them. */
  refusedAt: { running: number; times: number } | undefined;
};

export const NO_REFUSALS: Readonly<Refusals> = { suspectedFull: undefined, refusedAt: undefined };

/** `running`: accepted tasks. */
export function weighAcceptance(refusals: Refusals, running: number): void {
  const { suspectedFull: suspected, refusedAt } = refusals;
  // Tasks may have ended before that is known, so an acceptance disproves only one refusal.
  if (refusedAt && running > refusedAt.running) refusedAt.times -= 1;
  if (!suspected) return;
  suspected.running = Math.max(suspected.running, running);
  suspected.weight -= 1;
  if (suspected.weight <= 0) refusals.suspectedFull = undefined;
}

/**
 * `running`: accepted tasks; `heldUntilMs`: how long the vendor wants nothing. `isCertain`: the
 * vendor is full.
 */
export function weighRefusal(
  refusals: Refusals,
  { running, heldUntilMs }: { running: number; heldUntilMs: number },
): { suspected: SuspectedFull; isCertain: boolean } {
  const { suspectedFull: before, refusedAt } = refusals;
  const suspected = {
    running: Math.max(before?.running ?? 0, running),
    weight: (before?.weight ?? 0) + REFUSAL_WEIGHT,
    heldUntilMs: Math.max(before?.heldUntilMs ?? 0, heldUntilMs),
  };
  const times = Math.max(0, refusedAt?.times ?? 0) + 1;
  const isCertain = suspected.weight >= CERTAIN_WEIGHT || times >= CERTAIN_REFUSALS;
  refusals.suspectedFull = suspected;
  refusals.refusedAt = isCertain
    ? undefined
    : { running: times === 1 ? running : Math.min(refusedAt?.running ?? running, running), times };
  return { suspected, isCertain };
}
