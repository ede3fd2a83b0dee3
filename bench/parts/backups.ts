import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../test/support/temporary-folder.ts';
import { type Figure, lower, row } from '../figures.ts';
import { fillStage } from '../fill-stage.ts';
import { measureBeside, runMeasured } from '../load/measure-beside.ts';
import type { Run } from '../part.ts';
import { startBuild } from '../stage.ts';

/**
 * A backup of many tasks beside a gateway that takes submissions, and its restore. The p99 of
 * submissions may double in the meantime.
 */
export async function benchBackups({ build, seconds, tasks }: Run): Promise<Figure[]> {
  const { dataDir, key, size, stop } = await fillStage(build, tasks);
  const place = join(temporaryFolder(), 'backups');
  const passphrase = join(temporaryFolder(), 'passphrase');
  writeFileSync(passphrase, 'a passphrase of the bench\n');
  const env = { BACKUP_PASSPHRASE_FILE: passphrase };
  const backup = (...words: string[]) => [build.binary, 'backup', ...words];
  const what = `${size.toLocaleString('en')} tasks, SQLite`;
  try {
    const gateway = await startBuild(build, { dataDir });
    try {
      const command = backup('create', '--to', place, '--data-dir', dataDir);
      const made = await measureBeside({ what: `backup of ${what}`, gateway, key, seconds, command, env });
      const into = join(temporaryFolder(), 'restored');
      const restored = await runMeasured(backup('restore', '--from', place, '--data-dir', into), env);
      return [
        ...made,
        ...row(`restore of ${what}, beside an idle gateway`, [
          lower('restore', restored.seconds, 's'),
          lower('memory of restore', restored.memoryMb, 'MB'),
        ]),
      ];
    } finally {
      await gateway.stop();
    }
  } finally {
    await stop();
  }
}
