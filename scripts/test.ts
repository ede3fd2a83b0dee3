import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { type ProvidedServices, provideServices } from '../test/support/provide-services.ts';
import { buildExecutable } from './build.ts';
import { listFiles, root } from './hash-inputs.ts';
import { planRun } from './plan-test-run.ts';
import { reachTests } from './reach-tests.ts';
import { addCounts, type Counts, formatCounts, readCounts, readFailures } from './test-counts.ts';
import {
  type Duration,
  describeSlowest,
  type FileDurations,
  loadFileDurations,
  readDurations,
  readTimings,
  saveFileDurations,
  toTimings,
} from './test-durations.ts';

const OPTIONS = ['--full', '--changed', '--slowest', '--update-durations'] as const;
/** Files and tests that `--slowest` lists. */
const SLOWEST = 30;
/** Many tests wait: this many more workers than cores keep the cores busy. */
const WAITING_WORKERS = 7;
/** Files of the full run start many processes each, which have time limits of their own. */
const WAITING_FULL_WORKERS = 2;

/**
 * npm test [-- options, files or folders]: builds what is stale, provides PostgreSQL, Redis and
 * Chromium, runs the tests and ends with what failed and one line of counts. `planRun` says which
 * files run side by side.
 *
 * `--full` runs every test on both databases, with more rounds, and the files `*.full.test.ts` that
 * run otherwise only when you name them; `--changed` runs what the changes since `main` can reach;
 * `--slowest` lists the files and tests that took longest; `--update-durations` stores how long
 * each file took, by which the next run orders them.
 */
async function main(args: string[]): Promise<number> {
  const options = new Set(args.filter((arg) => arg.startsWith('--')));
  const unknown = [...options].find((option) => !(OPTIONS as readonly string[]).includes(option));
  const selected = selectFiles(
    args.filter((arg) => !arg.startsWith('--')),
    options.has('--full') || options.has('--changed'),
  );
  const files = options.has('--changed') ? reachTests(await changedFiles(), selected) : selected;
  if (unknown !== undefined || selected.length === 0) {
    console.error(unknown ? `Unknown option ${unknown}; there are ${OPTIONS.join(', ')}` : 'No test files match');
    return 2;
  }
  if (files.length === 0) {
    console.log('No test can be reached by what has changed.');
    return 0;
  }
  const { path, services } = await prepare();
  const running = new Set<Bun.Subprocess>();
  let interrupted = false;
  const interrupt = (): void => {
    interrupted = true;
    for (const child of running) child.kill('SIGTERM');
  };
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt);

  const folder = mkdtempSync(join(tmpdir(), 'taskgate-tests-'));
  // Some tests run commands as another user, who must get through to folders of their own.
  chmodSync(folder, 0o711);
  let counts: Counts = { passed: 0, failed: 0, skipped: 0 };
  const failures: string[] = [];
  const durations: Duration[] = [];
  const fileDurations = loadFileDurations();
  const measured: FileDurations = {};
  const run = async (group: readonly string[], workers: number, isSilent = false): Promise<void> => {
    if (group.length === 0 || interrupted) return;
    const name = join(folder, `${group[0]?.replaceAll('/', '-')}`);
    const [reportFile, timingsFile] = [`${name}.xml`, `${name}.json`];
    writeFileSync(timingsFile, toTimings(group));
    const output = isSilent ? 'pipe' : 'inherit';
    const child = Bun.spawn(
      [
        process.execPath,
        'test',
        `--parallel=${workers}`,
        // Given `--parallel` alone, each worker takes a range of the files.
        `--timings=${timingsFile}`,
        '--update-timings',
        '--no-orphans',
        '--reporter=junit',
        `--reporter-outfile=${reportFile}`,
        ...group.map((file) => `./${file}`),
      ],
      {
        cwd: root,
        env: {
          TASKGATE_BINARY: join(root, path),
          ...process.env,
          ...services.environment,
          TASKGATE_TEST_FOLDER: folder,
          ...(options.has('--full') ? { TASKGATE_FULL_TESTS: '1' } : {}),
        },
        stdin: 'ignore',
        stdout: output,
        stderr: output,
      },
    );
    running.add(child);
    const texts = [child.stdout, child.stderr].map((stream) => (stream ? new Response(stream).text() : ''));
    const code = await child.exited;
    running.delete(child);
    for (const text of await Promise.all(texts)) if (text !== '') process.stderr.write(text);
    const report = existsSync(reportFile) ? readFileSync(reportFile, 'utf8') : '';
    counts = addCounts(counts, readCounts(report, group, code));
    failures.push(...readFailures(report, group));
    durations.push(...readDurations(report));
    Object.assign(measured, readTimings(readFileSync(timingsFile, 'utf8')));
  };
  try {
    const cores = availableParallelism();
    const plan = planRun(files, fileDurations);
    await run(plan.parallel, cores + (options.has('--full') ? WAITING_FULL_WORKERS : WAITING_WORKERS));
    await Promise.all([run(plan.serial, 1), run(plan.besideSerial, Math.max(1, cores - 1), plan.serial.length > 0)]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await services.stop();
  }
  if (options.has('--update-durations')) saveFileDurations({ ...fileDurations, ...measured });
  if (options.has('--slowest')) console.log(describeSlowest(durations, SLOWEST));
  if (failures.length > 0) console.log(`\nFailed:\n${failures.join('\n')}\n`);
  if (interrupted) console.error('Interrupted.');
  console.log(formatCounts(counts));
  return counts.failed > 0 || interrupted ? 1 : 0;
}

/** Builds the executable and provides the services at the same time. */
async function prepare(): Promise<{ path: string; services: ProvidedServices }> {
  const [build, services] = await Promise.allSettled([buildExecutable(), provideServices(process.env)]);
  if (services.status === 'rejected') throw services.reason;
  if (build.status === 'rejected') {
    await services.value.stop();
    throw build.reason;
  }
  const { built, path } = build.value;
  if (built) console.error(`${path} built`);
  return { path, services: services.value };
}

function selectFiles(args: readonly string[], isFull: boolean): string[] {
  const wanted = args.map((arg) => relative(root, resolve(arg)));
  return listFiles('test')
    .filter((file) => file.endsWith('.test.ts') || file.endsWith('.test.tsx'))
    .filter((file) => wanted.length === 0 || wanted.some((path) => file === path || file.startsWith(`${path}/`)))
    .filter((file) => isFull || !file.endsWith('.full.test.ts') || wanted.includes(file));
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
