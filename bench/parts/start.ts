import { statSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { freePort } from '../../test/support/free-port.ts';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { type Figure, lower, note, percentile, row } from '../figures.ts';
import type { Run } from '../part.ts';
import { cpuSeconds } from '../read-processes.ts';

const STARTS = 10;
const ASK_EVERY_MS = 2;
/** A gateway that is not up by then never will be. */
const GIVE_UP_MS = 20_000;

/**
 * Cold starts in an empty data directory. The first answer is one that reads the database: to be
 * alive is not enough.
 */
export async function benchStart({ build }: Run): Promise<Figure[]> {
  const starts: Record<'answered' | 'ready' | 'cpu', number>[] = [];
  for (let i = 0; i < STARTS; i += 1) starts.push(await measureStart(build.binary));
  const median = (name: 'answered' | 'ready' | 'cpu') =>
    percentile(
      starts.map((start) => start[name]),
      0.5,
    );
  return [
    ...row(
      'cold start, empty data directory',
      [
        lower('first 200 of /api/status', median('answered'), 'ms'),
        lower('/readyz', median('ready'), 'ms'),
        note('fastest first 200', Math.min(...starts.map(({ answered }) => answered)), 'ms'),
        lower('processor until ready', median('cpu') * 1000, 'ms'),
      ],
      { 'first 200 of /api/status': 90 },
    ),
    ...row('executable', [lower('size', statSync(build.binary).size / 1e6, 'MB')], { size: 135 }),
  ];
}

async function measureStart(binary: string): Promise<Record<'answered' | 'ready' | 'cpu', number>> {
  const [dataDir, port] = [temporaryFolder(), await freePort()];
  const begun = performance.now();
  const child = Bun.spawn([binary, 'serve', '--json', '--port', String(port), '--data-dir', dataDir], {
    cwd: dataDir,
    env: { LOG_FORMAT: 'json' },
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
  });
  try {
    const deadline = begun + GIVE_UP_MS;
    await answersOk(`http://127.0.0.1:${port}/api/status`, deadline);
    const answered = performance.now() - begun;
    await answersOk(`http://127.0.0.1:${port}/readyz`, deadline);
    return { answered, ready: performance.now() - begun, cpu: cpuSeconds(child.pid) };
  } finally {
    child.kill('SIGTERM');
    await child.exited;
  }
}

/** Asks again and again until the answer is 200. */
export async function answersOk(url: string, deadline: number): Promise<void> {
  while (performance.now() < deadline) {
    const status = await fetch(url).then(
      async (response) => {
        await response.text();
        return response.status;
      },
      () => 0,
    );
    if (status === 200) return;
    await Bun.sleep(ASK_EVERY_MS);
  }
  throw new Error(`${url} was not answered with 200`);
}
