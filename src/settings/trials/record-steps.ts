import type { TrialResult } from '../types.ts';

/** Collects the steps of a trial; the first that fails ends it. */
export type Steps = {
  pass(name: string, message: string): void;
  fail(name: string, message: string): TrialResult;
  end(): TrialResult;
};

export function recordSteps(): Steps {
  const steps: TrialResult['steps'] = [];
  return {
    pass: (name, message) => void steps.push({ name, ok: true, message }),
    fail(name, message) {
      steps.push({ name, ok: false, message });
      return { ok: false, steps };
    },
    end: () => ({ ok: true, steps }),
  };
}
