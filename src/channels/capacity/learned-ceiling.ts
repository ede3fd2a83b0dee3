/**
 * How many tasks an account runs at once where nothing is declared: learned from refusals, raised
 * by probes.
 */
import type { CeilingReason } from './types.ts';

const START = 4;
const FIRST_PROBE_MS = 60_000;
const LONGEST_PROBE_MS = 3_600_000;
/** A gap in which a slot was filled again does not interrupt "all slots are taken". */
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
  reachedCeiling: boolean;
  fullSinceMs: number | undefined;
  belowSinceMs: number | undefined;
  /** Probes in a row that failed, or whose higher ceiling did not hold. */
  failedProbes: number;
  /** The ceiling before refusals lowered it. A probe that succeeds proves them false. */
  beforeDrop: { ceiling: number; reason: CeilingReason } | undefined;
  /** Such a probe restored that ceiling: from which one, to which, and when. */
  restored: { from: number; ceiling: number; atMs: number } | undefined;
  /** The task that probes: it is one more than the ceiling. */
  probeTaskId: string | undefined;
  /** A share of the time until a probe by which it comes later. */
  spread: number;
};

export const startCeiling = (spread = 0): LearnedCeiling =>
  setCeiling(undefined, { ceiling: START, reason: 'start', spread });

/** `ceiling`: what is learned now. What was learned of probes and drops stays. */
export function setCeiling(
  before: LearnedCeiling | undefined,
  { ceiling, reason, spread = before?.spread ?? 0 }: { ceiling: number; reason: CeilingReason; spread?: number },
): LearnedCeiling {
  return {
    ceiling: Math.min(Math.max(1, ceiling), HIGHEST),
    reason,
    acceptances: 0,
    reachedCeiling: false,
    fullSinceMs: undefined,
    belowSinceMs: undefined,
    failedProbes: before?.failedProbes ?? 0,
    beforeDrop: before?.beforeDrop,
    restored: before?.restored,
    probeTaskId: undefined,
    spread,
  };
}

/** No refusal has shown a limit yet. */
export const isGrowing = ({ reason }: LearnedCeiling): boolean => reason === 'start' || reason === 'grown';

/** When a probe is due while all slots are taken; `undefined`: not before they are. */
export function probeAtMs(state: LearnedCeiling): number | undefined {
  if (isGrowing(state) || state.fullSinceMs === undefined || state.probeTaskId !== undefined) return undefined;
  const waitMs = probeWaitMs(state.reason === 'raised' ? 0 : state.failedProbes);
  return state.fullSinceMs + waitMs * (1 + state.spread);
}

const probeWaitMs = (failed: number): number => Math.min(FIRST_PROBE_MS * 2 ** failed, LONGEST_PROBE_MS);

/** Free slots while `inFlight` tasks run. */
export function freeSlotsBelow(state: LearnedCeiling, inFlight: number, nowMs: number): number {
  if (inFlight < state.ceiling) return state.ceiling - inFlight;
  const at = probeAtMs(state);
  return inFlight === state.ceiling && at !== undefined && at <= nowMs ? 1 : 0;
}

/** A task was begun. `inFlight` counts it. Returns whether it is a probe. */
export function recordStart(state: LearnedCeiling, task: { taskId: string; inFlight: number }, nowMs: number): boolean {
  const at = probeAtMs(state);
  const isProbe = task.inFlight > state.ceiling && at !== undefined && at <= nowMs;
  if (isProbe) {
    // The ceiling of the last probe has held for as long as this one waited.
    if (state.reason === 'raised') state.failedProbes = 0;
    state.probeTaskId = task.taskId;
  }
  recordInFlight(state, task.inFlight, nowMs);
  return isProbe;
}

/** Follows whether all slots are taken. */
export function recordInFlight(state: LearnedCeiling, inFlight: number, nowMs: number): void {
  if (inFlight < state.ceiling) {
    if (state.fullSinceMs !== undefined) state.belowSinceMs ??= nowMs;
    return;
  }
  state.reachedCeiling = true;
  if (state.belowSinceMs !== undefined && nowMs - state.belowSinceMs > GAP_MS) state.fullSinceMs = undefined;
  state.belowSinceMs = undefined;
  state.fullSinceMs ??= nowMs;
}

/** The ceiling after an acceptance; `undefined`: it stays. `running`: accepted, on all nodes. */
export function afterAcceptance(
  state: LearnedCeiling,
  { isProbe, running, nowMs }: { isProbe: boolean; running: number; nowMs: number },
): LearnedCeiling | undefined {
  state.acceptances += 1;
  if (isGrowing(state)) {
    // Each node counts its own acceptances, and starts over when it starts.
    const isFullSet = state.reachedCeiling && Math.max(state.acceptances, running) >= state.ceiling;
    if (!isFullSet) return undefined;
    const { acceptances } = state;
    return { ...setCeiling(state, { ceiling: state.ceiling * 2, reason: 'grown' }), acceptances };
  }
  const proven = Math.max(running, isProbe ? state.ceiling + 1 : 0);
  if (proven <= state.ceiling) return undefined;
  const { beforeDrop } = state;
  if (!isProbe || !beforeDrop || beforeDrop.ceiling < proven)
    return setCeiling(state, { ceiling: proven, reason: isProbe ? 'raised' : state.reason });
  // Until its ceiling has held for as long as it waited, this probe counts as failed.
  const failedProbes = state.failedProbes + 1;
  const restored = { from: state.ceiling, ceiling: beforeDrop.ceiling, atMs: nowMs };
  return { ...setCeiling(state, beforeDrop), beforeDrop: undefined, restored, failedProbes };
}

/** A probe ended without an answer about the account. */
export const forgetProbe = (state: LearnedCeiling, taskId: string): void => {
  if (state.probeTaskId === taskId) state.probeTaskId = undefined;
};

/** The ceiling after the refusal of a probe, or of the first task that one made possible. */
export function afterFailedProbe(state: LearnedCeiling, { isProbe }: { isProbe: boolean }): LearnedCeiling {
  // A probe that succeeded by a slot that was free unnoticed is taken back here.
  const ceiling = isProbe ? state.ceiling : state.ceiling - 1;
  return { ...setCeiling(state, { ceiling, reason: 'refused' }), failedProbes: state.failedProbes + 1 };
}

/** The ceiling once it is certain that `running` tasks are all; `undefined`: it stays. */
export function afterConfirmedFull(
  state: LearnedCeiling,
  { running, nowMs }: { running: number; nowMs: number },
): LearnedCeiling | undefined {
  if (running < 1) return undefined;
  // Somebody else uses the account. A ceiling that grows has not been refused yet: it may be above
  // what the vendor ever ran at once, since tasks end before that is known. So it yields.
  if (!isGrowing(state) && running * 2 < state.ceiling) return undefined;
  // Never above the ceiling: accepted tasks that have ended since are still counted.
  const most = Math.min(running, isGrowing(state) ? Number.POSITIVE_INFINITY : state.ceiling);
  const { restored } = state;
  const hasHeld = !restored || nowMs - restored.atMs > probeWaitMs(state.failedProbes - 1);
  const isWrong = restored !== undefined && !hasHeld && most < restored.ceiling;
  const ceiling = isWrong ? Math.min(most, restored.from + 1) : most;
  return {
    ...setCeiling(state, { ceiling, reason: isWrong && ceiling > restored.from ? 'raised' : 'refused' }),
    beforeDrop:
      state.beforeDrop ?? (ceiling < state.ceiling ? { ceiling: state.ceiling, reason: state.reason } : undefined),
    // Late acceptances may raise it once more: what is refused then is still due to that probe.
    restored: hasHeld ? undefined : restored,
    failedProbes: hasHeld ? 0 : state.failedProbes,
  };
}
