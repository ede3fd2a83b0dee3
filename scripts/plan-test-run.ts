export type TestPlan = {
  /** Run side by side, the longest first. */
  parallel: string[];
  /** Run one by one: they measure time or memory. */
  serial: string[];
  /** Run beside the serial files, so that the other cores have work. */
  besideSerial: string[];
};

/** These folders work in one process and need no more than one core. */
const LIGHT = /^test\/(app|channels|demo-vendor|http|kernel|scripts|upstream)\//;
/** These folders start executables or a browser: started last, one would run alone at the end. */
const LONG = /^test\/(binary|factory|panel)\//;

/** Which test files run side by side; without serial files, all of them. */
export function planRun(files: readonly string[]): TestPlan {
  // The sandbox first: it measures memory, which the files before leave behind in the process.
  const serial = [...files.filter(isOfSandbox), ...files.filter((file) => isSerial(file) && !isOfSandbox(file))];
  const besideSerial = serial.length > 0 ? files.filter((file) => !isSerial(file) && LIGHT.test(file)) : [];
  const parallel = files.filter((file) => !isSerial(file) && !besideSerial.includes(file));
  return {
    parallel: [...parallel.filter((file) => LONG.test(file)), ...parallel.filter((file) => !LONG.test(file))],
    serial,
    besideSerial,
  };
}

const isOfSandbox = (file: string): boolean => file.startsWith('test/sandbox/');

const isSerial = (file: string): boolean => file.endsWith('.serial.test.ts') || isOfSandbox(file);
