import type { Clock } from '../kernel/index.ts';
import type { SandboxLimits } from './types.ts';

/** Counts the kills of each plugin and refuses it for a while after too many. */
export interface Suspensions {
  /** True when this kill suspends the plugin. */
  recordKill(key: string): boolean;
  /** Milliseconds until the plugin is taken again; 0 when it is. */
  remainingMs(key: string): number;
  suspended(): string[];
}

type Limits = Pick<SandboxLimits, 'killsToSuspend' | 'killWindowMs' | 'suspendMs'>;

export function createSuspensions(limits: Limits, clock: Clock): Suspensions {
  const kills = new Map<string, number[]>();
  const until = new Map<string, number>();
  const remainingMs = (key: string): number => {
    const end = until.get(key);
    if (end === undefined) return 0;
    const left = end - clock.monotonicMs();
    if (left <= 0) until.delete(key);
    return Math.max(0, left);
  };
  return {
    recordKill(key) {
      const now = clock.monotonicMs();
      const recent = (kills.get(key) ?? []).filter((at) => now - at < limits.killWindowMs);
      recent.push(now);
      if (recent.length < limits.killsToSuspend) {
        kills.set(key, recent);
        return false;
      }
      kills.delete(key);
      until.set(key, now + limits.suspendMs);
      return true;
    },
    remainingMs,
    suspended: () => [...until.keys()].filter((key) => remainingMs(key) > 0),
  };
}
