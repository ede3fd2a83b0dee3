import type { FileDurations } from './test-durations.ts';

export type TestPlan = {
  /** Run side by side, the longest first. */
  parallel: string[];
  /** Run one by one: they measure time or memory. */
  serial: string[];
  /** Run beside the serial files for as long as those take, so that the other cores have work. */
  besideSerial: string[];
};

/** These folders work in one process and need no more than one core. */
const LIGHT = /^test\/(app|channels|demo-vendor|http|kernel|scripts|upstream)\//;
/** What a file takes that no run has measured. */
const UNKNOWN_SECONDS = 5;

/** Which test files run side by side, in which order; without serial files, all of them. */
export function planRun(files: readonly string[], durations: FileDurations): TestPlan {
  const take = (file: string): number => durations[file] ?? UNKNOWN_SECONDS;
  const longestFirst = [...files].sort((a, b) => take(b) - take(a));
  // The sandbox first: it measures memory, which the files before leave behind in the process.
  const serial = files.filter(isSerial).sort((a, b) => Number(isOfSandbox(b)) - Number(isOfSandbox(a)));
  let secondsLeft = serial.reduce((sum, file) => sum + take(file), 0);
  const besideSerial = longestFirst.filter((file) => {
    if (isSerial(file) || !LIGHT.test(file) || take(file) > secondsLeft) return false;
    secondsLeft -= take(file);
    return true;
  });
  const parallel = longestFirst.filter((file) => !isSerial(file) && !besideSerial.includes(file));
  return { parallel, serial, besideSerial };
}

const isOfSandbox = (file: string): boolean => file.startsWith('test/sandbox/');

const isSerial = (file: string): boolean => /\.serial\.(full\.)?test\.ts$/.test(file);
