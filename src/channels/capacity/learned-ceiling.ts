import type { CeilingReason } from './types.ts';

const START = 4;
const FIRST_RISE_MS = 60_000;
const LONGEST_RISE_MS = 3_600_000;
/** A gap in which a slot was filled again does not end "at the ceiling". */
const GAP_MS = 5000;
/** PostgreSQL's integer is far above; no account runs more. */
const HIGHEST = 1_000_000;

/** How many tasks a pool seems to run at once, and what it is learned from. */
export type LearnedCeiling = {
  ceiling: number;
  reason: CeilingReason;
  /** Acceptances since it began to grow, or since it was set. */
  acceptances: number;
  /** Whether all slots were taken since the ceiling was set. */
  wasFull: boolean;
  fullSinceMs: number | undefined;
  belowSinceMs: number | undefined;
  /** Rises in a row that failed, or did not hold. */
  failedRises: number;
  /** The task that tries one more. */
  riseTaskId: string | undefined;
  /** A share of the time until a rise by which it comes later. */
  spread: number;
};

export const startCeiling = (spread = 0): LearnedCeiling =>
  setCeiling(undefined, { ceiling: START, reason: 'start', spread });

/** `ceiling`: what is learned now. What was learned of rises stays. */
export function setCeiling(
  before: LearnedCeiling | undefined,
  { ceiling, reason, spread = before?.spread ?? 0 }: { ceiling: number; reason: CeilingReason; spread?: number },
): LearnedCeiling {
  return {
    ceiling: Math.min(Math.max(1, ceiling), HIGHEST),
    reason,
    acceptances: 0,
    wasFull: false,
    fullSinceMs: undefined,
    belowSinceMs: undefined,
    failedRises: before?.failedRises ?? 0,
    riseTaskId: undefined,
    spread,
  };
}

/** No refusal has shown a limit yet. */
export const isGrowing = ({ reason }: LearnedCeiling): boolean => reason === 'start' || reason === 'grown';

/** When one more is tried, while all slots are taken; `undefined`: not before they are. */
export function riseAtMs(state: LearnedCeiling): number | undefined {
  if (isGrowing(state) || state.fullSinceMs === undefined || state.riseTaskId !== undefined) return undefined;
  const failed = state.reason === 'raised' ? 0 : state.failedRises;
  const waitMs = Math.min(FIRST_RISE_MS * 2 ** failed, LONGEST_RISE_MS);
  return state.fullSinceMs + waitMs * (1 + state.spread);
}

/** Slots that are free with so many in flight. */
export function roomBelow(state: LearnedCeiling, inFlight: number, nowMs: number): number {
  if (inFlight < state.ceiling) return state.ceiling - inFlight;
  const at = riseAtMs(state);
  return inFlight === state.ceiling && at !== undefined && at <= nowMs ? 1 : 0;
}

/** A task was begun. `inFlight` counts it. Returns whether it tries a rise. */
export function noteBegun(state: LearnedCeiling, task: { taskId: string; inFlight: number }, nowMs: number): boolean {
  const at = riseAtMs(state);
  const isRise = task.inFlight > state.ceiling && at !== undefined && at <= nowMs;
  if (isRise) {
    // The rise before it has held for as long as this one waited.
    if (state.reason === 'raised') state.failedRises = 0;
    state.riseTaskId = task.taskId;
  }
  noteInFlight(state, task.inFlight, nowMs);
  return isRise;
}

/** Follows whether all slots are taken. */
export function noteInFlight(state: LearnedCeiling, inFlight: number, nowMs: number): void {
  if (inFlight < state.ceiling) {
    if (state.fullSinceMs !== undefined) state.belowSinceMs ??= nowMs;
    return;
  }
  state.wasFull = true;
  if (state.belowSinceMs !== undefined && nowMs - state.belowSinceMs > GAP_MS) state.fullSinceMs = undefined;
  state.belowSinceMs = undefined;
  state.fullSinceMs ??= nowMs;
}

/** The ceiling after an acceptance; `undefined`: it stays. `running`: accepted, on all nodes. */
export function afterAcceptance(
  state: LearnedCeiling,
  { isRise, running }: { isRise: boolean; running: number },
): LearnedCeiling | undefined {
  state.acceptances += 1;
  if (isGrowing(state)) {
    const isFullSet = state.wasFull && state.acceptances >= state.ceiling;
    if (!isFullSet) return undefined;
    const { acceptances } = state;
    return { ...setCeiling(state, { ceiling: state.ceiling * 2, reason: 'grown' }), acceptances };
  }
  const proven = Math.max(running, isRise ? state.ceiling + 1 : 0);
  if (proven <= state.ceiling) return undefined;
  return setCeiling(state, { ceiling: proven, reason: isRise ? 'raised' : state.reason });
}

/** A rise ended without an answer about the account. */
export const forgetRise = (state: LearnedCeiling, taskId: string): void => {
  if (state.riseTaskId === taskId) state.riseTaskId = undefined;
};

/** The ceiling after "full" with `running` others accepted; `undefined`: it stays. */
export function afterRefusal(
  state: LearnedCeiling,
  { isRise, running }: { isRise: boolean; running: number },
): LearnedCeiling | undefined {
  if (running < 1) return undefined;
  // Somebody else uses the account. A start value has proven nothing, so it yields.
  if (state.reason !== 'start' && running * 2 < state.ceiling) return undefined;
  // One that succeeded by a slot that was free unnoticed is taken back here.
  const failedRises = state.failedRises + (isRise || state.reason === 'raised' ? 1 : 0);
  // Never above the ceiling: what is accepted and has ended since is still counted.
  const ceiling = Math.min(running, isGrowing(state) ? Number.POSITIVE_INFINITY : state.ceiling);
  return { ...setCeiling(state, { ceiling, reason: 'refused' }), failedRises };
}
