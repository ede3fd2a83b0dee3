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
  /** What stood before refusals lowered it. A rise that succeeds proves them false. */
  fell: { ceiling: number; reason: CeilingReason } | undefined;
  /** Such a rise restored that ceiling: from which one, to which, and when. */
  restored: { from: number; ceiling: number; atMs: number } | undefined;
  /** The task that tries one more. */
  riseTaskId: string | undefined;
  /** A share of the time until a rise by which it comes later. */
  spread: number;
};

export const startCeiling = (spread = 0): LearnedCeiling =>
  setCeiling(undefined, { ceiling: START, reason: 'start', spread });

/** `ceiling`: what is learned now. What was learned of rises and falls stays. */
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
    fell: before?.fell,
    restored: before?.restored,
    riseTaskId: undefined,
    spread,
  };
}

/** No refusal has shown a limit yet. */
export const isGrowing = ({ reason }: LearnedCeiling): boolean => reason === 'start' || reason === 'grown';

/** When one more is tried, while all slots are taken; `undefined`: not before they are. */
export function riseAtMs(state: LearnedCeiling): number | undefined {
  if (isGrowing(state) || state.fullSinceMs === undefined || state.riseTaskId !== undefined) return undefined;
  const waitMs = riseWaitMs(state.reason === 'raised' ? 0 : state.failedRises);
  return state.fullSinceMs + waitMs * (1 + state.spread);
}

const riseWaitMs = (failed: number): number => Math.min(FIRST_RISE_MS * 2 ** failed, LONGEST_RISE_MS);

/** Free slots while `inFlight` tasks run. */
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
  { isRise, running, nowMs }: { isRise: boolean; running: number; nowMs: number },
): LearnedCeiling | undefined {
  state.acceptances += 1;
  if (isGrowing(state)) {
    // Each node counts its own acceptances, and starts over when it starts.
    const isFullSet = state.wasFull && Math.max(state.acceptances, running) >= state.ceiling;
    if (!isFullSet) return undefined;
    const { acceptances } = state;
    return { ...setCeiling(state, { ceiling: state.ceiling * 2, reason: 'grown' }), acceptances };
  }
  const proven = Math.max(running, isRise ? state.ceiling + 1 : 0);
  if (proven <= state.ceiling) return undefined;
  const { fell } = state;
  if (!isRise || !fell || fell.ceiling < proven)
    return setCeiling(state, { ceiling: proven, reason: isRise ? 'raised' : state.reason });
  // Until it has held for as long as it was waited for, this rise counts as failed.
  const failedRises = state.failedRises + 1;
  const restored = { from: state.ceiling, ceiling: fell.ceiling, atMs: nowMs };
  return { ...setCeiling(state, fell), fell: undefined, restored, failedRises };
}

/** A rise ended without an answer about the account. */
export const forgetRise = (state: LearnedCeiling, taskId: string): void => {
  if (state.riseTaskId === taskId) state.riseTaskId = undefined;
};

/** The ceiling after the refusal of a rise, or of the first task that one made possible. */
export function afterFailedRise(state: LearnedCeiling, { isRise }: { isRise: boolean }): LearnedCeiling {
  // One that succeeded by a slot that was free unnoticed is taken back here.
  const ceiling = isRise ? state.ceiling : state.ceiling - 1;
  return { ...setCeiling(state, { ceiling, reason: 'refused' }), failedRises: state.failedRises + 1 };
}

/** The ceiling after it is certain that `running` tasks are all; `undefined`: it stays. */
export function afterFullness(
  state: LearnedCeiling,
  { running, nowMs }: { running: number; nowMs: number },
): LearnedCeiling | undefined {
  if (running < 1) return undefined;
  // Somebody else uses the account. One that grows has not been refused yet: it may be above what
  // the vendor ever ran at once, since tasks end before that is known. So it yields.
  if (!isGrowing(state) && running * 2 < state.ceiling) return undefined;
  // Never above the ceiling: what is accepted and has ended since is still counted.
  const most = Math.min(running, isGrowing(state) ? Number.POSITIVE_INFINITY : state.ceiling);
  const { restored } = state;
  const hasHeld = !restored || nowMs - restored.atMs > riseWaitMs(state.failedRises - 1);
  const isWrong = restored !== undefined && !hasHeld && most < restored.ceiling;
  const ceiling = isWrong ? Math.min(most, restored.from + 1) : most;
  return {
    ...setCeiling(state, { ceiling, reason: isWrong && ceiling > restored.from ? 'raised' : 'refused' }),
    fell: state.fell ?? (ceiling < state.ceiling ? { ceiling: state.ceiling, reason: state.reason } : undefined),
    restored: undefined,
    failedRises: hasHeld ? 0 : state.failedRises,
  };
}
