import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { provideServices } from '../test/support/provide-services.ts';
import { buildExecutable } from './build.ts';
import { listFiles, root } from './hash-inputs.ts';
import { reachTests } from './reach-tests.ts';
import { addCounts, type Counts, formatCounts, readCounts, readFailures } from './test-counts.ts';
import { type Duration, describeSlowest, readDurations } from './test-durations.ts';

const OPTIONS = ['--full', '--changed', '--slowest'] as const;
/** Files and tests that `--slowest` lists. */
const SLOWEST = 30;

/**
 * npm test [-- options, files or folders]: builds what is stale, provides PostgreSQL, Redis and
 * Chromium, runs the tests and ends with what failed and one line of counts. Files run side by side
 * in processes of their own, three more than there are cores, since many wait. Those of the sandbox
 * and those named `*.serial.test.ts` measure time or memory: they run afterwards, one by one.
 *
 * `--full` runs every test on both databases and with more rounds; `--changed` runs what the
 * changes since `main` can reach; `--slowest` lists the files and tests that took longest.
 */
async function main(args: string[]): Promise<number> {
  const options = new Set(args.filter((arg) => arg.startsWith('--')));
  const unknown = [...options].find((option) => !(OPTIONS as readonly string[]).includes(option));
  const selected = selectFiles(args.filter((arg) => !arg.startsWith('--')));
  const files = options.has('--changed') ? reachTests(await changedFiles(), selected) : selected;
  if (unknown !== undefined || selected.length === 0) {
    console.error(unknown ? `Unknown option ${unknown}; there are ${OPTIONS.join(', ')}` : 'No test files match');
    return 2;
  }
  if (files.length === 0) {
    console.log('No test can be reached by what has changed.');
    return 0;
  }
  const { built, path } = await buildExecutable();
  if (built) console.error(`${path} built`);
  const services = await provideServices(process.env);
  let running: Bun.Subprocess | null = null;
  let interrupted = false;
  const interrupt = (): void => {
    interrupted = true;
    running?.kill('SIGTERM');
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);

  const folder = mkdtempSync(join(tmpdir(), 'taskgate-tests-'));
  const lanes = [
    {
      files: longestFirst(files.filter((file) => !isSerial(file))),
      flags: [`--parallel=${availableParallelism() + 3}`],
    },
    { files: files.filter(isOfSandbox), flags: ['--parallel=1'] },
    { files: files.filter((file) => isSerial(file) && !isOfSandbox(file)), flags: ['--parallel=1'] },
  ];
  let counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  const failures: string[] = [];
  const durations: Duration[] = [];
  try {
    for (const [index, lane] of lanes.entries()) {
      if (lane.files.length === 0 || interrupted) continue;
      const reportFile = join(folder, `${index}.xml`);
      const child = Bun.spawn(
        [
          ...[process.execPath, 'test', ...lane.flags, '--timeout=120000', '--no-orphans'],
          ...['--reporter=junit', `--reporter-outfile=${reportFile}`],
          ...lane.files.map((file) => `./${file}`),
        ],
        {
          cwd: root,
          // Without it some tests start the program from source, which takes four times as much
          // work.
          env: {
            TASKGATE_BINARY: join(root, path),
            ...process.env,
            ...services.environment,
            ...(options.has('--full') ? { TASKGATE_FULL_TESTS: '1' } : {}),
          },
          stdin: 'ignore',
          stdout: 'inherit',
          stderr: 'inherit',
        },
      );
      running = child;
      const code = await child.exited;
      const report = existsSync(reportFile) ? readFileSync(reportFile, 'utf8') : '';
      counts = addCounts(counts, readCounts(report, lane.files, code));
      failures.push(...readFailures(report, lane.files));
      durations.push(...readDurations(report));
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await services.stop();
  }
  if (options.has('--slowest')) console.log(describeSlowest(durations, SLOWEST));
  if (failures.length > 0) console.log(`\nFailed:\n${failures.join('\n')}\n`);
  if (interrupted) console.error('Interrupted.');
  console.log(formatCounts(counts));
  return counts.failed > 0 || interrupted ? 1 : 0;
}

/**
 * Files that start executables or a browser take a minute, the others seconds: last of all, one of
 * them would run alone.
 */
const longestFirst = (files: readonly string[]): string[] => {
  const isLong = (file: string): boolean => /^test\/(binary|factory|panel)\//.test(file);
  return [...files.filter(isLong), ...files.filter((file) => !isLong(file))];
};

const isOfSandbox = (file: string): boolean => file.startsWith('test/sandbox/');

const isSerial = (file: string): boolean => file.endsWith('.serial.test.ts') || isOfSandbox(file);

function selectFiles(args: readonly string[]): string[] {
  const all = listFiles('test').filter((file) => file.endsWith('.test.ts') || file.endsWith('.test.tsx'));
  const wanted = args.map((arg) => relative(root, resolve(arg)));
  return all.filter(
    (file) => wanted.length === 0 || wanted.some((path) => file === path || file.startsWith(`${path}/`)),
  );
}

/**
 * Files that differ from `main`, or on `main` itself from the commit before; untracked ones too.
 */
async function changedFiles(): Promise<string[]> {
  const git = async (...command: string[]): Promise<string[]> => {
    const text = await new Response(Bun.spawn(['git', ...command], { cwd: root, stderr: 'ignore' }).stdout).text();
    return text.split('\n').filter(Boolean);
  };
  const [base] = await git('merge-base', 'HEAD', 'main');
  const [head] = await git('rev-parse', 'HEAD');
  const since = base === undefined || base === head ? 'HEAD~1' : base;
  return [...(await git('diff', '--name-only', since)), ...(await git('ls-files', '--others', '--exclude-standard'))];
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
