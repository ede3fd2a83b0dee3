import type { Dispatch } from './types.ts';

/**
 * The tasks of a model that its vendor has not answered yet. Some vendors work while they are
 * asked, and answer with the result: there they run what they have not accepted.
 */
export type UnansweredTasks = {
  /** The number of the start and the slots of each. */
  tasks: Map<string, { start: number; slots: number }>;
  /** Whether the latest answer that accepted a task brought its result. */
  bringsResults: boolean;
};

export const noUnanswered = (): UnansweredTasks => ({ tasks: new Map(), bringsResults: false });

/** The slots of a model that are in use. */
type InUse = { inFlight: number; accepted: number; abandoned: number };

/**
 * The slots that a vendor certainly runs when it answers a task: those that it has accepted, and
 * where it works while it is asked, those that this node sent before and that other nodes send.
 */
export function countRunning(
  { tasks, bringsResults }: UnansweredTasks,
  { start }: Pick<Dispatch, 'start'>,
  { inFlight, accepted, abandoned }: InUse,
): number {
  if (!bringsResults) return accepted;
  let [before, own] = [0, 0];
  for (const task of tasks.values()) {
    own += task.slots;
    if (task.start < start) before += task.slots;
  }
  return accepted + before + Math.max(0, inFlight - accepted - abandoned - own);
}
