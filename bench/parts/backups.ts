import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { type Figure, lower, note, percentile, row } from '../figures.ts';
import { fillWithBilledCopies } from '../fill-tasks.ts';
import { formatRequest, sendOverConnections } from '../load/http-client.ts';
import type { Run } from '../part.ts';
import { openStage, startBuild } from '../stage.ts';

const SUBMITTED = 200;
/** A busy gateway that still has time left: waiting for the processor is not what is measured. */
const CONNECTIONS = 2;
const BODY = JSON.stringify({ model: 'demo-video', prompt: 'a lighthouse in the fog' });
const MIB = 1024 * 1024;

/**
 * A back-up of many tasks beside a gateway that takes submissions, and its restore. The p99 of
 * submissions may double meanwhile.
 */
export async function benchBackups({ build, seconds, tasks }: Run): Promise<Figure[]> {
  const size = Math.max(SUBMITTED, tasks - (tasks % SUBMITTED));
  const stage = await openStage(build);
  const place = join(temporaryFolder(), 'backups');
  const passphrase = join(temporaryFolder(), 'passphrase');
  writeFileSync(passphrase, 'a passphrase of the bench\n');
  const backup = (...words: string[]) => measureProcess([build.binary, 'backup', ...words], passphrase);
  try {
    for (let i = 0; i < SUBMITTED; i += 1) await stage.submit('a lighthouse in the fog [file=1]');
    await stage.gateway.stop();
    const { dataDir } = stage.gateway;
    fillWithBilledCopies(dataDir, size);
    const gateway = await startBuild(build, { dataDir });
    try {
      const headers = { authorization: `Bearer ${stage.key}`, 'content-type': 'application/json' };
      const text = formatRequest('POST', '/v1/tasks/demo', { headers, body: BODY });
      const load = { port: gateway.port, connections: CONNECTIONS, next: () => text, take: () => {} };
      await sendOverConnections({ ...load, seconds: 2 });
      const alone = await sendOverConnections({ ...load, seconds });
      const making = backup('create', '--to', place, '--data-dir', dataDir);
      const times: number[] = [];
      let isMade = false;
      void making.finally(() => {
        isMade = true;
      });
      while (!isMade) times.push(...(await sendOverConnections({ ...load, seconds: 1 })).times);
      const made = await making;
      const restored = await backup('restore', '--from', place, '--data-dir', join(temporaryFolder(), 'restored'));
      const before = percentile([...alone.times], 0.99);
      const meanwhile = percentile(times, 0.99);
      const what = `${size.toLocaleString('en')} tasks, SQLite`;
      return [
        ...row(
          `back-up of ${what}, beside submissions`,
          [
            lower('create', made.seconds, 's'),
            lower('memory of create', made.memoryMb, 'MB'),
            note('p99 of submissions alone', before, 'ms'),
            note('p99 meanwhile', meanwhile, 'ms'),
            lower('times as long', meanwhile / before, '×'),
          ],
          { 'times as long': 2 },
        ),
        ...row(`restore of ${what}, beside an idle gateway`, [
          lower('restore', restored.seconds, 's'),
          lower('memory of restore', restored.memoryMb, 'MB'),
        ]),
      ];
    } finally {
      await gateway.stop();
    }
  } finally {
    await stage.stop();
  }
}

/** The scheduler's class of the bench is not inherited, since priorities count within one. */
async function measureProcess(command: readonly string[], passphrase: string) {
  const begun = performance.now();
  const prefix = Bun.which('chrt') ? ['chrt', '--other', '0'] : [];
  const child = Bun.spawn([...prefix, ...command], {
    env: { BACKUP_PASSPHRASE_FILE: passphrase },
    stdout: 'ignore',
    stderr: 'pipe',
  });
  const said = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')}: ${said}`);
  return {
    seconds: (performance.now() - begun) / 1000,
    memoryMb: (child.resourceUsage()?.maxRSS ?? 0) / MIB,
  };
}
